"""The largest eigenvalues of Hessians."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.core.lazy import torch
from engine.hypotheses.curvature import Curvature

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

EXACT = 100
"""Hessians of at most so many parameters are computed whole; with 400 that takes longer than Lanczos."""

TOLERANCE = 1e-3
"""‖Hv − λv‖ relative to λ at which Lanczos stops; the error of λ itself is of the order of its square."""

KRYLOV = 12
"""Vectors that Lanczos keeps: few, for the largest eigenvalue alone is known after a dozen products."""


def largest(curvature: Curvature, tolerance: float = TOLERANCE) -> torch.Tensor:
    """λ_max of the Hessian of every member [B], in float64; NaN where there is none, or it is not found.

    Of up to EXACT parameters from the whole Hessian, of more by Lanczos, up to residuals of `tolerance` · λ.
    """
    if curvature.size <= EXACT:
        return _of_matrices(curvature.matrices().double())
    finite = curvature.gradient.isfinite().all(1).tolist()
    pairs = zip(curvature.operators(), finite, strict=True)
    tops = [_of_operator(operator, tolerance) if known else np.nan for operator, known in pairs]
    return torch.tensor(tops, dtype=torch.float64)


def _of_matrices(matrices: torch.Tensor) -> torch.Tensor:
    """The largest eigenvalue of symmetric matrices [B, P, P]; NaN where an entry is not finite."""
    finite = matrices.isfinite().all((1, 2))
    known = torch.where(finite[:, None, None], matrices, 0.0)
    return torch.where(finite, torch.linalg.eigvalsh((known + known.mT) / 2)[:, -1], torch.nan)


def _of_operator(operator: LinearOperator, tolerance: float) -> float:
    """The largest eigenvalue of an operator; NaN if none is finite, or if Lanczos does not find it."""
    from scipy.sparse.linalg import ArpackError, eigsh

    size = operator.shape[0]
    start = np.random.default_rng(0).standard_normal(size)  # the same always, so that a run can be repeated
    if not np.isfinite(image := operator @ start).all() or not image.any():
        return float(image.sum())
    try:
        (found,) = eigsh(
            operator, 1, which="LA", v0=start, ncv=KRYLOV, tol=tolerance, return_eigenvectors=False
        )
    except ArpackError:  # which says that it did not converge, too
        return float("nan")
    return float(found)
