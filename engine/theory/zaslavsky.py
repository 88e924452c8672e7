"""The number of cells into which straight lines cut a plane."""

from __future__ import annotations

from typing import ClassVar

from engine.core.activations import BENT
from engine.core.parts import Finding
from engine.formulas.linear_pieces import cells_of_one_layer
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_recursion import only_at_the_start, signals_at, signals_of


class Zaslavsky(Line, frozen=True, tag="zaslavsky"):
    """1 + n + n(n − 1)/2: number of cells into which n lines in general position cut a plane.

    The number equals Σ_{i ≤ 2} C(n, i). In a net with one hidden layer and biases (C_b > 0), each of the n
    units switches along a line. At a random start, these lines are in general position with probability 1.
    Source: Zaslavsky 1975; theory/regions-and-random-matrices#regions.
    """

    title: ClassVar[str] = "Zaslavsky count"
    measure: ClassVar[str] = "regions"
    formula: ClassVar[str] = "1 + n + n(n − 1)/2"
    source: ClassVar[str] = "Zaslavsky 1975; theory/regions-and-random-matrices#regions"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", in_expectation=False, per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        d = experiment.d
        if d < 2:
            return Finding(False, "requires instances of two entries or more, and these have one")
        return Finding(True, f"the first two of {d} entries of an instance are coordinates in a plane")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        signals = signals_of(learner)
        if signals is None or len(signals.widths) != 1 or signals.activation not in BENT:
            reason = (
                f"the line requires one hidden layer of ReLU units with a Gaussian start, not {learner.name}"
            )
            return Finding(False, reason)
        if signals.cb[0] == 0:
            return Finding(
                False, f"the line requires biases; without them, all lines of {learner.name} meet at 0"
            )
        return Finding(
            True, f"each hidden unit of {learner.name} switches on or off along a random line in the plane"
        )

    def value(self, at: At) -> Floats:
        return only_at_the_start(at, float(cells_of_one_layer(signals_at(at).widths[0])))
