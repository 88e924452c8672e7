"""The expected number of linear pieces of an untrained wide net, over all real inputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, only_numbers
from engine.theory.layer_recursion import only_at_the_start, signals_at, signals_of


class PiecesWide(Line, frozen=True, tag="pieces-wide"):
    """E pieces = N + 1 + o(N): mean number of linear pieces on ℝ for N hidden units, as layers grow wide.

    The net has a scalar input, ReLU units with biases, and random weights in the scaling of He et al., C_w =
    2. For the same N, depth adds no pieces on average. The tent map composed L times has 2^L pieces with 3L
    units, but it is far from a random start. Source: Kogan, Jananthan, Kepner 2025;
    theory/regions-and-random-matrices#regions.
    """

    title: ClassVar[str] = "expected pieces of wide nets"
    measure: ClassVar[str] = "pieces-of-line"
    formula: ClassVar[str] = "N + 1 + o(N), N hidden units"
    source: ClassVar[str] = "Kogan, Jananthan, Kepner 2025"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic", limit="for wide nets", per_learner=True, needs_k_rows=False
        )

    def holds(self, experiment: Setup) -> Finding:
        return only_numbers(experiment) or Finding(
            True, "instances are numbers, so the input of a net is a number"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        signals = signals_of(learner)
        if signals is None or signals.activation != "relu":
            return Finding(
                False, f"the line requires a dense ReLU net with a Gaussian start, unlike {learner.name}"
            )
        hidden = len(signals.widths)
        if not np.allclose(signals.cw[:hidden], 2) or min(signals.cb[:hidden]) == 0:
            return Finding(
                False,
                f"the line requires hidden layers with C_w = 2 and C_b > 0, unlike those of {learner.name}",
            )
        return Finding(True, f"{learner.name} has hidden layers with C_w = 2 and biases")

    def value(self, at: At) -> Floats:
        return only_at_the_start(at, 1.0 + sum(signals_at(at).widths))
