"""The singular values of weights arranged as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.core.linear_algebra import singular_values
from engine.core.parts import Pair, no_pair, pair_of
from engine.measures import Index, Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class MatrixSpectrum(Measure, frozen=True, tag="matrix-spectrum"):
    """s_j(W)/s_1(W): singular values, relative to the largest, of the weights arranged as a matrix W.

    The weights fill W row by row. If W is nearly of low rank, all but the first few values are small. Values
    that can result from rounding alone are set to 0. For W = 0, all values are NaN. Averaged over targets.
    Source: WGL20; theory/implicit-bias#matrix-completion.
    """

    label: ClassVar[str] = "s_j/s_1"

    factors: Pair = None

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        count = min(pair_of(self.factors, problem.matrix.shape()[1]))
        return (Index("j", np.arange(1.0, count + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if no_pair(self.factors, problem.matrix.shape()[1]) is not None:
            return "the product of the measure's two `factors` is the number of features"
        return None

    def value(self, probe: Probe) -> torch.Tensor:
        weights = probe.drawn_weights
        spectrum = singular_values(
            weights.view(len(weights), *pair_of(self.factors, weights.shape[1]))
        )  # [B, j]
        return probe.data.over_targets((spectrum / spectrum[:, :1]).mT).movedim(0, -1)
