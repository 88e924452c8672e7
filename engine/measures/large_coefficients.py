"""The number of weights, or of their Fourier coefficients, that are not negligible."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.linear_algebra import coefficients
from engine.measures import Measure, MeasureNeeds, Probe

LARGE = 0.05
"""Share of the largest coefficient above which a coefficient is large. Source:
theory/implicit-bias#optimisation-geometry."""


class LargeCoefficients(Measure, frozen=True, tag="large-coefficients"):
    """Number of coefficients |ŵ_i| above a twentieth of the largest, averaged over targets.

    ŵ_i are the weights, or the coefficients of their discrete Fourier transform. For w = 0, the number is 0.
    Unit: none. Source: GLSS18b; theory/implicit-bias#optimisation-geometry.
    """

    label: ClassVar[str] = "large coefficients"

    of: Annotated[
        Literal["1", "fourier"],
        Meta(title="of", description="1: the weights; fourier: the Fourier transform of the weights"),
    ] = "1"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def value(self, probe: Probe) -> torch.Tensor:
        counts = large(coefficients(probe.drawn_weights, self.of)).sum(1).double()
        return probe.data.over_targets(counts[None])[0]


def large(values: torch.Tensor) -> torch.Tensor:
    """Return whether the size of each value [B, d] exceeds a twentieth of the largest size in its row."""
    sizes = values.abs()
    return sizes > LARGE * sizes.amax(1, keepdim=True)
