"""The singular values of a learner's weight matrix across targets: how far it has left the span."""

from __future__ import annotations

from functools import lru_cache

from engine.core.lazy import torch

DENSE = 6
"""Every record is looked at up to 2^DENSE of them, then 2^DENSE / 2 at equal distances per octave."""


@lru_cache(1 << 14)
def looked_at(record: int, dense: int = DENSE) -> bool:
    """Whether the spectrum, or another expensive measurement, is made at a record, counted from 0."""
    return record % (1 << max(0, record.bit_length() - dense)) == 0


def singular_values(weights: torch.Tensor) -> torch.Tensor:
    """The singular values of matrices W [V, T, d], largest first: [V, min(T, d)] float64.

    Those that rounding alone could have made, σ ≤ σ₁ max(T, d) ε with ε of the weights' own dtype, are 0, so
    that the numerical rank is the number of the others. NaN where a weight is not finite.
    """
    rounding = max(weights.shape[1:]) * torch.finfo(weights.dtype).eps
    finite = weights.isfinite().all((1, 2))
    matrices = torch.where(finite[:, None, None], weights, 0.0).double()
    values = torch.linalg.svdvals(matrices)
    values = torch.where(values > rounding * values[:, :1], values, 0.0)
    return torch.where(finite[:, None], values, torch.nan)
