"""The gradient summary G of automatic gradient descent, over all layers."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.core.params import unflat
from engine.measures import Measure, MeasureNeeds, Probe
from engine.updates.agd import ratio


class GradientSummary(Measure, frozen=True, tag="gradient-summary"):
    """G² for G = (1/L) Σ_l √(d_l/d_{l−1}) ‖∇_l‖_F, which determines the rate of automatic gradient descent.

    ∇_l is the gradient of the mean loss of an output over the rows seen so far (over the training rows with
    the protocol `steps`). It is taken with respect to the weights of layer l, which has d_{l−1} inputs and
    d_l outputs, and includes the gradient of an L2 penalty. The measure has no value before the first
    example. For half the mean square, the summary is G/2. Averaged over nets. Unit: that of a loss, squared.
    Source: Bernstein et al. 2023; theory/automatic-descent#majoriser.
    """

    label: ClassVar[str] = "G², the squared size of all gradients"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (2 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        gradients = unflat(probe.gradient.double(), probe.layers).values()
        sizes = [ratio(g) * torch.linalg.vector_norm(g.flatten(1), dim=1) for g in gradients]
        mean = torch.stack(sizes).mean(0) / probe.architecture.outputs  # [N]
        return probe.data.over_targets(mean.square()[None])[0]
