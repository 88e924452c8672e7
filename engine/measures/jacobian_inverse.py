"""The length of the step of the first layer that fits the labels along a Jacobian's leading directions."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import MeasureSchedule, Probe
from engine.measures.jacobian_share import LeftSingular, OfJacobian, SeenLabels


class JacobianInverse(OfJacobian, frozen=True, tag="jacobian-inverse"):
    """‖J_I† y‖/‖y‖: length of the shortest step of W₁ that fits the projected labels Π_I y, relative to ‖y‖.

    J = ∂(predictions of the rows seen)/∂W₁ is the current Jacobian. Π_I projects onto the information space,
    the span of the left singular vectors with the m largest singular values of J. J_I† is the pseudo-inverse
    of J, restricted to these singular values. To first order, the step adds Π_I y to the predictions.
    Measured at the start and at the end. Averaged over nets. Unit: that of a weight over that of a
    prediction. Source: OFLS19; theory/parities-and-noise#nuisance-space.
    """

    label: ClassVar[str] = "length of the step that fits the labels"

    def schedule(self) -> MeasureSchedule:
        return super().schedule()._replace(ends_only=True)

    def value(self, probe: Probe) -> torch.Tensor:
        singular, labels = probe.value(LeftSingular(self.directions)), probe.value(SeenLabels())
        singular_values, vectors = singular[:, 0], singular[:, 1:]
        along = (vectors.mT @ labels[..., None])[..., 0]
        parts = torch.where(singular_values > 0, along / singular_values, 0.0)
        return self.over_nets(parts.norm(dim=1) / labels.norm(dim=1), probe)
