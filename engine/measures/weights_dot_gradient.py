"""The inner product of the parameters with the gradient."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.core.params import flat
from engine.measures import Measure, MeasureNeeds, Probe


class WeightsDotGradient(Measure, frozen=True, tag="weights-dot-gradient"):
    """θ·∇L: the inner product of all parameters with the gradient of the training loss.

    L is the mean loss over the rows seen so far, or over all training rows in the protocol `steps`. L
    includes the L2 penalty of the net, if any. The measure has no value before the first example. On average,
    a step changes ‖θ‖² by −2η θ·∇L plus η² times the mean squared length of mini-batch gradients. Averaged
    over nets. Unit: that of a loss. Source: Yaida 2019; theory/noise-of-sgd#steady-state.
    """

    label: ClassVar[str] = "θ·∇L"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (3 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        parameters = flat(probe.layers.values()).double()
        return probe.data.over_targets((parameters * probe.gradient.double()).sum(1)[None])[0]
