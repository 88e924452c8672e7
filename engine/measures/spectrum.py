"""The singular values of the matrix of a learner's weights for all targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.core.linear_algebra import singular_values
from engine.measures import Index, Measure, MeasureNeeds, MeasureSchedule, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class SingularValues(Measure, frozen=True, tag="spectrum"):
    """Singular values of the matrix of all targets' weights, largest first.

    Values that can result from rounding alone are set to 0. Only the first replica is measured. Source: WKA21
    Thm 9; theory/hadamard#all-targets, theory/conventions#diagnostics.
    """

    label: ClassVar[str] = "singular value"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a singular value decomposition of the weights of all targets")

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        matrix = problem.matrix
        count = min(problem.target.columns(matrix), matrix.shape()[1])
        return (Index("j", np.arange(1.0, count + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if problem.target.columns(problem.matrix) == 1:
            return "there are several targets, as with the targets `all` and `doubled`"
        return None

    def value(self, probe: Probe) -> torch.Tensor:
        data, weights = probe.data, probe.weights
        assert weights is not None, "a measure of weights needs weights"
        first = weights[: data.variants * data.targets]
        return singular_values(first.view(data.variants, data.targets, data.instances.d))[None]
