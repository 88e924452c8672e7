"""The length of the gradient of the training loss."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, Probe


class GradientNorm(Measure, frozen=True, tag="gradient-norm"):
    """The length ‖∇L‖₂ of the gradient of the training loss with respect to all parameters.

    L is the mean loss over the rows seen so far, or over all training rows in the protocol `steps`. L
    includes the L2 penalty of the net, if any. If a net has several outputs, L is the sum of their losses.
    The measure has no value before the first example. Averaged over nets. Unit: that of a loss over that of a
    parameter. Source: theory/wide-nets#conventions-of-the-lectures, theory/curvature#hessian.
    """

    label: ClassVar[str] = "length of the gradient"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (2 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        lengths = torch.linalg.vector_norm(probe.gradient.double(), dim=1)
        return probe.data.over_targets(lengths[None])[0]
