"""The angle between the parameters and a stationary point of the margin problem."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.core.params import flat
from engine.measures import Measure, MeasureNeeds, Probe


class KKTAngle(Measure, frozen=True, tag="kkt-angle"):
    """1 − cos(θ, −∇L) for all parameters θ: 0 if θ is a stationary point of the margin problem.

    The margin problem is min ‖θ‖² with y_j f(θ, x_j) ≥ 1. Suppose that the loss has an exponential tail, that
    f is homogeneous in θ, and that training has reached a small loss. Then gradient flow turns θ towards the
    directions of stationary points. At a stationary point, θ is a combination of the gradients of the
    smallest margins y_j f(θ, x_j), with coefficients ≥ 0. L is the mean loss over the rows seen. The
    direction of ∇L is computed from ∇ ln L = ∇L/L. If the net has an L2 penalty, its gradient is added to ∇
    ln L, and the measure does not have this meaning. The measure has no value if the gradient is 0. Averaged
    over nets. Unit: none. Source: LL20; theory/implicit-bias#optimisation-geometry.
    """

    label: ClassVar[str] = "1 − cos(θ, −∇L)"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (3 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        parameters = flat(probe.layers.values()).double()
        against = -probe.gradient_of_logarithm.double()
        lengths = torch.linalg.vector_norm(parameters, dim=1) * torch.linalg.vector_norm(against, dim=1)
        cosine = (parameters * against).sum(1) / lengths
        return probe.data.over_targets(torch.where(lengths > 0, 1 - cosine, torch.nan)[None])[0]
