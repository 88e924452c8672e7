"""The square root of the stable rank of the gradient of every layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.core.params import unflat
from engine.measures import Index, Measure, MeasureNeeds, Probe
from engine.measures.layer_norms import LayerNorms, spectral_norm

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class GradientRank(Measure, frozen=True, tag="gradient-rank"):
    """‖∇_l‖_F/‖∇_l‖₂: the square root of the stable rank of the gradient of layer l.

    For a gradient of rank 1, the measure is 1. ∇_l is the gradient of the mean loss over the rows seen so
    far, or over all training rows in the protocol `steps`. The loss includes an L2 penalty, if any. The
    measure has no value before the first example, or if the gradient is 0. Averaged over nets. Source:
    Bernstein et al. 2023; theory/automatic-descent#majoriser.
    """

    label: ClassVar[str] = "‖∇_l‖_F/‖∇_l‖₂"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return LayerNorms().index(learner, problem)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (5 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        ranks = []
        for gradient in unflat(probe.gradient, probe.layers).values():
            lengths = torch.linalg.vector_norm(gradient.flatten(1).double(), dim=1)
            ranks.append(lengths / spectral_norm(gradient.nan_to_num()))  # 0/0 is NaN
        return probe.data.over_targets(torch.stack(ranks)).movedim(0, -1)
