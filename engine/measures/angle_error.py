"""Angle error: the exact 0/1 error of a linear classifier on isotropic Gaussian instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, MeasureStructure, Probe, needs_teacher

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class AngleError(Measure, frozen=True, tag="angle-error"):
    """The probability arccos(cos(w, w*))/π that xᵀw and xᵀw* differ in sign, averaged over targets.

    The probability is over a new instance x. The formula is exact, because the matrix of the problem must
    draw isotropic Gaussian instances. The rows of the data are not used. For w = 0, the error is ½. Labels
    must depend on xᵀw*. If labels are noisy, the measure is the error on labels without noise. Source:
    theory/symmetry#half-spaces.
    """

    label: ClassVar[str] = "0/1 error (angle)"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True)

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if not problem.matrix.structure().isotropic:
            return "instances are isotropic Gaussian vectors, as with the matrix `gaussian`"
        return needs_teacher(problem)

    def value(self, probe: Probe) -> torch.Tensor:
        data, weights = probe.data, probe.drawn_weights.double()
        star = -data.from_teacher(torch.zeros_like(weights))
        units, unit_stars = (torch.nn.functional.normalize(vectors, dim=1) for vectors in (weights, star))
        # The angle follows from the sum and the difference, because arccos loses half of the digits near 0.
        apart, along = (units - unit_stars).norm(dim=1), (units + unit_stars).norm(dim=1)
        errors = 2 * torch.atan2(apart, along) / torch.pi
        return data.over_targets(errors[None])[0]
