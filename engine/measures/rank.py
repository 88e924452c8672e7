"""The numerical rank of the matrix of a learner's weights for all targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, MeasureStructure, Probe
from engine.measures.spectrum import SingularValues

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Rank(Measure, frozen=True, tag="rank"):
    """Numerical rank of the matrix of all targets' weights: number of singular values above rounding error.

    Only the first replica is measured. Source: WKA21 Thm 9; theory/hadamard#all-targets,
    theory/conventions#diagnostics.
    """

    label: ClassVar[str] = "rank"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_integer=True)

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a singular value decomposition of the weights of all targets")

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return SingularValues().refuses(learner, problem)

    def value(self, probe: Probe) -> torch.Tensor:
        singular_values = probe.value(SingularValues())
        return torch.where(singular_values.isnan().any(-1), torch.nan, (singular_values > 0).sum(-1).double())
