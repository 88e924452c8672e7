"""The length of a learner's weights."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.linear_algebra import LENGTHS, POWERS, Exponent, length
from engine.measures import Measure, MeasureNeeds, Probe


class Norm(Measure, frozen=True, tag="norm"):
    """The length ‖w‖_p of the weights, averaged over targets.

    The norms are ‖w‖₁ = Σ_i |w_i|, ‖w‖₂ = (Σ_i w_i²)^½ and ‖w‖_∞ = max_i |w_i|. For p = 2/3, the length (Σ_i
    |w_i|^(2/3))^(3/2) is not a norm. For p = "fourier", the length is Σ_f |c_f|, where the numbers c_f are
    the unitary discrete Fourier transform of w. Unit: that of a weight. Source:
    theory/implicit-bias#kernel-and-rich, theory/implicit-bias#optimisation-geometry.
    """

    label: ClassVar[str] = "norm of w"

    p: Annotated[Exponent, Meta(title="p", description=LENGTHS)] = "2"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return tuple(cls(p=p) for p in POWERS)

    @property
    def name(self) -> str:
        return f"norm-{self.p}"

    def value(self, probe: Probe) -> torch.Tensor:
        lengths = length(probe.drawn_weights, self.p)
        return probe.data.over_targets(lengths[None])[0]
