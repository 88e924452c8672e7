"""The length of a learner's weights."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.lazy import torch
from engine.measures import Measure, Probe

Exponent = Literal["1", "2", "max"]

POWERS: dict[Exponent, float] = {"1": 1, "2": 2, "max": math.inf}


class Norm(Measure, frozen=True, tag="norm"):
    """The length ‖w‖_p of the weights, averaged over targets.

    ‖w‖₁ = Σ_i |w_i|, ‖w‖₂ = (Σ_i w_i²)^½, or ‖w‖_∞ = max_i |w_i|. Unit: that of a weight. Source:
    theory-bias.md §§34, 47.
    """

    label: ClassVar[str] = "norm of w"
    of_weights: ClassVar[bool] = True

    p: Annotated[Exponent, Meta(title="p", description="Σ|w_i|, the Euclidean length, or max |w_i|")] = "2"

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return tuple(cls(p=p) for p in POWERS)

    @property
    def name(self) -> str:
        return f"norm-{self.p}"

    def value(self, probe: Probe) -> torch.Tensor:
        lengths = torch.linalg.vector_norm(probe.drawn_weights.double(), POWERS[self.p], 1)
        return probe.data.over_targets(lengths[None])[0]
