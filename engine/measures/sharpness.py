"""Sharpness: the largest eigenvalue of the Hessian of the training loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.measures import Measure, Probe
from engine.runtime.curvature import GRAPH, TOGETHER

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

EXACT = 100
"""Hessians of at most so many parameters are computed whole; with 400 that takes longer than Lanczos."""

TOLERANCE = 1e-3
"""‖Hv − λv‖ relative to λ at which Lanczos stops; the error of λ itself is of the order of its square."""

KRYLOV = 12
"""Vectors that Lanczos keeps: few, for the largest eigenvalue alone is known after a dozen products."""


class Sharpness(Measure, frozen=True, tag="sharpness"):
    """The sharpness S = λ_max(∇²L), the largest eigenvalue of the Hessian of the training loss.

    L is the mean loss over the rows seen so far, of `steps` over the training rows, as the program defines
    it: square loss is (ŷ − y)², without a ½. Gradient descent at rate η is stable where S < 2/η, for every
    convention. With respect to all parameters of the architecture, averaged over targets, each of which has a
    net of its own; none before the first example. With up to 100 parameters by the eigenvalues of the whole
    Hessian, with more by ARPACK's Lanczos on products ∇²L v, up to residuals of 10⁻³ S. Unit: that of a loss
    over the square of that of a parameter.
    Source: Cohen et al. 2021; theory-nets.md §§0, 30.
    """

    experimental: ClassVar[bool] = True
    label: ClassVar[str] = "sharpness"
    expensive: ClassVar[bool] = True
    of_parameters: ClassVar[bool] = True

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        if parameters <= EXACT:
            return batch * (4 * parameters**2 + GRAPH * TOGETHER * signals)
        return batch * (2 * parameters + 3 * signals) + (KRYLOV + 10) * parameters + GRAPH * signals

    def value(self, probe: Probe) -> torch.Tensor:
        curvature = probe.curvature
        if curvature.size <= EXACT:
            found = _largest(curvature.matrices().double())
        else:
            finite = curvature.gradient.isfinite().all(1).tolist()
            pairs = zip(curvature.operators(), finite, strict=True)
            tops = [_top(operator) if known else np.nan for operator, known in pairs]
            found = torch.tensor(tops, dtype=torch.float64)
        return probe.data.over_targets(found[None])[0]


def _largest(matrices: torch.Tensor) -> torch.Tensor:
    """The largest eigenvalue of symmetric matrices [B, P, P]; NaN where an entry is not finite."""
    finite = matrices.isfinite().all((1, 2))
    known = torch.where(finite[:, None, None], matrices, 0.0)
    return torch.where(finite, torch.linalg.eigvalsh((known + known.mT) / 2)[:, -1], torch.nan)


def _top(operator: LinearOperator) -> float:
    """The largest eigenvalue of an operator; NaN if none is finite, or if Lanczos does not find it."""
    from scipy.sparse.linalg import ArpackError, eigsh

    size = operator.shape[0]
    start = np.random.default_rng(0).standard_normal(size)  # the same always, so that a run can be repeated
    if not np.isfinite(image := operator @ start).all() or not image.any():
        return float(image.sum())
    try:
        (found,) = eigsh(
            operator, 1, which="LA", v0=start, ncv=KRYLOV, tol=TOLERANCE, return_eigenvectors=False
        )
    except ArpackError:  # which says that it did not converge, too
        return float("nan")
    return float(found)
