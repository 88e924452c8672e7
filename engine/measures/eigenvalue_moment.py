"""The mean of a power of the eigenvalues of the Gram matrix of the instances."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.measures.instance_spectrum import OfInstances


class EigenvalueMoment(OfInstances, frozen=True, tag="eigenvalue-moment"):
    """(1/m) Σ_j λ_j^p for the m = min(n, d) eigenvalues λ_j of XXᵀ/d.

    For p = −1, the measure is the mean of 1/λ, the factor by which least squares amplifies noise. Source:
    theory/regions-and-random-matrices#random-matrices.
    """

    label: ClassVar[str] = "mean of powers of eigenvalues"

    power: Annotated[
        float, Meta(ge=-8, le=8, title="power p", description="exponent; −1 gives the mean of 1/λ")
    ] = -1.0

    def of_eigenvalues(self, eigenvalues: torch.Tensor, ratio: float) -> torch.Tensor:
        return eigenvalues.pow(self.power).mean(1)
