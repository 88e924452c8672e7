"""The expected number of linear pieces of an untrained net with one hidden layer."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.activations import BENT
from engine.core.parts import Finding
from engine.formulas.linear_pieces import pieces_of_one_layer
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, only_numbers
from engine.theory.layer_recursion import only_at_the_start, signals_at, signals_of, starts_anew


class PiecesOneLayer(Line, frozen=True, tag="pieces-one-layer"):
    """E pieces = 1 + n (arctan(b ρ) − arctan(a ρ))/π, ρ = √(C_w/C_b): mean number of pieces on [a, b].

    The net has a scalar input x and n hidden units in one layer. At the start, a unit computes σ(wx + β) with
    w ~ N(0, C_w) and β ~ N(0, C_b). The unit bends at −β/w, which is 1/ρ times a standard Cauchy number. The
    smallest instance is a, and the largest is b. The line is averaged over replicas. Source:
    theory/regions-and-random-matrices#regions.
    """

    title: ClassVar[str] = "expected pieces of one layer"
    measure: ClassVar[str] = "pieces"
    formula: ClassVar[str] = "1 + n (arctan(b ρ) − arctan(a ρ))/π, ρ = √(C_w/C_b)"
    source: ClassVar[str] = "theory/regions-and-random-matrices#regions"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return only_numbers(experiment) or Finding(
            True, "each instance is a single number, and the function of each unit has one kink"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        signals = signals_of(learner)
        if signals is None or len(signals.widths) != 1 or signals.activation not in BENT:
            reason = (
                f"the line requires one hidden layer of ReLU units with a Gaussian start, not {learner.name}"
            )
            return Finding(False, reason)
        if signals.cb[0] == 0:
            return Finding(
                False, f"the line requires biases; without them, all units of {learner.name} bend at 0"
            )
        return starts_anew(learner) or Finding(
            True, f"{learner.name} has one hidden layer, whose units bend where wx + b is 0"
        )

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        rows = at.drawn.data.instances.rows.double()[..., 0]
        ends = zip(rows.amin(1).tolist(), rows.amax(1).tolist(), strict=True)
        cw, cb = signals.cw[0], signals.cb[0]
        pieces = np.mean([pieces_of_one_layer(signals.widths[0], cw, cb, low, high) for low, high in ends])
        return only_at_the_start(at, float(pieces))
