"""The largest relative change that a random linear map makes to distances between Gaussian points."""

from __future__ import annotations

import math
from typing import ClassVar

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure
from engine.theory.johnson_lindenstrauss import JohnsonLindenstrauss
from engine.theory.layer_recursion import only_at_the_start, signals_at


class DistortionLimit(JohnsonLindenstrauss, frozen=True, tag="distortion-limit"):
    """√(2 ln k/m): largest relative change of a distance if a Gaussian map takes k points to ℝ^m.

    The k points are Gaussian, too. For large m, the relative change of the distance of one pair of points is
    N(0, 1/(2m)). The changes of the k²/2 pairs are nearly independent, so the largest change is about √(2 ln
    k²)/√(2m). The convergence is slow. The limit requires a large k, and an m much larger than ln k. Source:
    theory/kernels-and-entropy#entropy.
    """

    title: ClassVar[str] = "many-point limit"
    formula: ClassVar[str] = "√(2 ln k/m)"
    source: ClassVar[str] = "theory/kernels-and-entropy#entropy"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="for many points",
            per_learner=True,
            needs_k_rows=False,
            of="the worst change of a distance",
        )

    def holds(self, experiment: Setup) -> Finding:
        if not experiment.problem.matrix.structure().isotropic:
            kind = experiment.problem.matrix.kind
            return Finding(False, f"requires independent Gaussian points, and the matrix is {kind}")
        finding = super().holds(experiment)
        return Finding(True, "instances are independent Gaussian points") if finding.holds else finding

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return super().binds(learner, experiment)

    def value(self, at: At) -> Floats:
        return only_at_the_start(at, math.sqrt(2 * math.log(at.experiment.n) / signals_at(at).widths[0]))
