"""Powers and eigenvectors of batches of symmetric matrices, where members may have diverged."""

from __future__ import annotations

from engine.core.lazy import torch


def eigh(matrices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues [..., d], the smallest first, and eigenvectors [..., d, d], of symmetric [..., d, d].

    NaN for those that are not finite, of which LAPACK would make an error for all.
    """
    finite = matrices.isfinite().all(-1).all(-1)
    sizes, axes = torch.linalg.eigh(matrices.where(finite[..., None, None], 0.0))
    return sizes.where(finite[..., None], torch.nan), axes


def power(matrices: torch.Tensor, exponent: float, least: float) -> torch.Tensor:
    """S^p of symmetric S of which no eigenvalue is below `least`, but for rounding."""
    sizes, axes = eigh(matrices)
    return (axes * (sizes.clamp(min=least) ** exponent)[..., None, :]) @ axes.mT
