"""The gradient summary G of automatic gradient descent, over all layers."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.core.params import unflat
from engine.measures import Measure, MeasureNeeds, Probe
from engine.updates.agd import ratio


class GradientSummary(Measure, frozen=True, tag="gradient-summary"):
    """G² for G = (1/L) Σ_l √(d_l/d_{l−1}) ‖∇_l‖_F, where L is the number of layers.

    G determines the rate of automatic gradient descent, the update rule `agd`. ∇_l is the gradient with
    respect to the weights of layer l, which has d_{l−1} inputs and d_l outputs. The loss is a mean over the
    net's outputs and the rows seen so far. In the protocol `steps`, the mean is over all training rows. The
    loss includes an L2 penalty, if any. The measure has no value before the first example. A factor ½ in the
    loss halves G. Averaged over nets. Unit: that of a loss, squared. Source: Bernstein et al. 2023;
    theory/automatic-descent#majoriser.
    """

    label: ClassVar[str] = "G², squared mean norm of layer gradients"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (2 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        gradients = unflat(probe.gradient.double(), probe.layers).values()
        sizes = [
            ratio(gradient) * torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients
        ]
        mean = torch.stack(sizes).mean(0) / probe.architecture.outputs  # [N]
        return probe.data.over_targets(mean.square()[None])[0]
