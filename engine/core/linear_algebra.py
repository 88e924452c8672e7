"""Matrix products by the fastest library, a limit to one thread, singular values, and norms."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache
from typing import Any, Literal

from engine.core.lazy import torch

_lock = threading.Lock()
_limited = ExitStack()
_inside = 0


LARGE = 1 << 22
"""Least number of multiplications for which a matrix product by oneDNN is faster than one by MKL."""


@cache
def _threadpool_controller() -> Any:
    import scipy.linalg  # type: ignore[import-untyped]  # noqa: F401 - it loads a BLAS library of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


SMALL = 256
"""Number of rows below which a thread limit does not pay: setting the first limit takes 0.2 s."""


@contextmanager
def one_thread(rows: int = SMALL) -> Iterator[None]:
    """Limit numpy's and scipy's linear algebra to one thread inside the block.

    If blocks overlap, the limit ends with the last block. If `rows`, the number of rows of the matrices, is
    less than SMALL, the number of threads is not limited. For matrices of up to a thousand rows, several
    threads mostly wait for each other. They wait even longer if other programs run.
    """
    global _inside
    if rows < SMALL:
        yield
        return
    with _lock:
        if _inside == 0:
            _limited.enter_context(_threadpool_controller().limit(limits=1, user_api="blas"))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limited.close()


def with_rows(several: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return the products a xᵀ [R, k, n] of vectors a [R, k, d] with rows x [R, n, d].

    torch's `@` uses MKL. On processors that Intel did not make, MKL runs its slower AVX2 code. On a core of
    an AMD EPYC with AVX-512, MKL makes 90 · 10⁹ float32 operations a second. oneDNN, which torch also
    includes, makes 170 · 10⁹ for k = 64 and 216 · 10⁹ for k = 256.
    """
    if _has_onednn_product() and _is_large(several, rows):
        parts = zip(several.contiguous(), rows, strict=True)
        products = [torch.ops.mkldnn._linear_pointwise(a, x, None, "none", [], "") for a, x in parts]
        return products[0][None] if len(products) == 1 else torch.stack(products)
    return several @ rows.mT


def moment(rows: torch.Tensor) -> torch.Tensor:
    """Return the second moments xᵀx [R, d, d] of rows x [R, k, d].

    numpy computes only one half of this symmetric matrix, which takes half the time.
    """
    if rows.device.type != "cpu":
        return rows.mT @ rows
    return torch.stack([torch.from_numpy(x.T @ x) for x in rows.numpy()])


def _is_large(several: torch.Tensor, rows: torch.Tensor) -> bool:
    (_, k, d), n = several.shape, rows.shape[1]
    of_cpu = several.device.type == rows.device.type == "cpu"
    return (
        several.dtype == rows.dtype == torch.float32
        and of_cpu
        and rows.is_contiguous()
        and k * n * d >= LARGE
    )


@cache
def _has_onednn_product() -> bool:
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch._C._has_mkldnn:
        return False
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")


DENSE_RECORDS = 6
"""Expensive measures are computed at all of the first 2^DENSE_RECORDS records.

Later, the distance between records with expensive measures doubles whenever the record number doubles.
"""


@lru_cache(1 << 14)
def looked_at(record: int, dense: int = DENSE_RECORDS) -> bool:
    """Return whether expensive measures, such as spectra, are computed at an evaluation point.

    `record` is the index of the evaluation point. These measures are computed at all evaluation points with
    indices below D = 2^`dense`. They are computed at every second evaluation point from index D to 2D, at
    every fourth from 2D to 4D, and so on.
    """
    return record % (1 << max(0, record.bit_length() - dense)) == 0


def singular_values(weights: torch.Tensor) -> torch.Tensor:
    """Return the singular values of matrices W [V, T, d], largest first: [V, min(T, d)] float64.

    Values within rounding, σ ≤ σ₁ max(T, d) ε with ε of the weights' dtype, are set to 0. So the number of
    nonzero values is the numerical rank. If a weight of a matrix is not finite, all singular values of the
    matrix are NaN.
    """
    rounding = max(weights.shape[1:]) * torch.finfo(weights.dtype).eps
    finite = weights.isfinite().all((1, 2))
    matrices = torch.where(finite[:, None, None], weights, 0.0).double()
    sigmas = torch.linalg.svdvals(matrices)
    sigmas = torch.where(sigmas > rounding * sigmas[:, :1], sigmas, 0.0)
    return torch.where(finite[:, None], sigmas, torch.nan)


Exponent = Literal["1", "2", "max", "2/3", "fourier", "fourier-2/3"]
"""Exponent p of a norm ‖w‖_p.

"fourier" and "fourier-2/3" mean ‖c‖_1 and ‖c‖_⅔, where c is the unitary discrete Fourier transform of w.
"""

POWERS: dict[Exponent, float] = {
    "1": 1,
    "2": 2,
    "max": math.inf,
    "2/3": 2 / 3,
    "fourier": 1,
    "fourier-2/3": 2 / 3,
}

LENGTHS = (
    "Σ|w_i|, the Euclidean length, max|w_i|, (Σ|w_i|^(2/3))^(3/2), "
    "or Σ|c_f|, (Σ|c_f|^(2/3))^(3/2) of the Fourier coefficients c_f"
)


def length(w: torch.Tensor, exponent: Exponent) -> torch.Tensor:
    """Return the norm [B] of each vector in `w` [B, d], in float64. `exponent` names the norm."""
    lengths: torch.Tensor = torch.linalg.vector_norm(coefficients(w, exponent), POWERS[exponent], 1)
    return lengths


def coefficients(w: torch.Tensor, exponent: Exponent) -> torch.Tensor:
    """Return the float64 numbers [B, d] from which the norm with this `exponent` is computed.

    The numbers are the entries of `w` [B, d], or the Fourier coefficients of `w` if `exponent` starts with
    "fourier".
    """
    if not exponent.startswith("fourier"):
        return w.double()
    transformed: torch.Tensor = torch.fft.fft(w.double(), norm="ortho")
    return transformed
