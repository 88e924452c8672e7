"""The Johnson–Lindenstrauss bound on how much a random linear map changes distances."""

from __future__ import annotations

import math
from typing import ClassVar

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_recursion import only_at_the_start, signals_at, signals_of, starts_anew


class JohnsonLindenstrauss(Line, frozen=True, tag="johnson-lindenstrauss"):
    """√(8 ln k/m): bound on the largest relative change of a distance by a Gaussian map to ℝ^m.

    k is the number of points, and the bound holds in expectation. The ratio of a pair of points is the
    distance of their images, divided by the distance of the points. This ratio is a Lipschitz function of
    independent Gaussians, with the constant 1/√m. The mean of the ratio is within 1/m of 1. A union bound
    over the k(k − 1)/2 pairs bounds the expected largest change by √(2 ln(k(k − 1))/m) + 1/m. The last
    expression is less than √(8 ln k/m) for all k ≥ 2. The bound holds for every set of points. Source:
    Johnson, Lindenstrauss 1984; theory/kernels-and-entropy#entropy.
    """

    title: ClassVar[str] = "Johnson–Lindenstrauss bound"
    measure: ClassVar[str] = "distance-distortion"
    formula: ClassVar[str] = "√(8 ln k/m)"
    source: ClassVar[str] = "Johnson, Lindenstrauss 1984; theory/kernels-and-entropy#entropy"

    def structure(self) -> LineStructure:
        return LineStructure(direction="upper", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        if experiment.n < 2:
            return Finding(False, "requires two points or more, and there is one row")
        return Finding(True, "a random map keeps distances approximately, for every set of points")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        signals = signals_of(learner)
        if signals is None or signals.joint_inputs is not None:
            reason = f"the line requires a first layer with Gaussian weights, not {learner.name}"
            return Finding(False, reason)
        if (same := starts_anew(learner)) is not None:
            return same
        return Finding(True, f"the first layer of {learner.name} starts with independent Gaussian weights")

    def value(self, at: At) -> Floats:
        return only_at_the_start(at, math.sqrt(8 * math.log(at.experiment.n) / signals_at(at).widths[0]))
