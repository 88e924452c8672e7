"""Products of matrices by the fastest library, factorisations on one thread, singular values, and norms."""

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
"""Least number of multiplications in a matrix product for which a call of oneDNN pays."""


@cache
def _linear_algebra() -> Any:
    """Return the controller of the threads in the libraries of numpy and scipy."""
    import scipy.linalg  # type: ignore[import-untyped]  # noqa: F401 - it brings a library of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


SMALL = 256
"""Number of rows below which a matrix takes less time than the 0.2 s to find the library of the threads."""


@contextmanager
def one_thread(rows: int = SMALL) -> Iterator[None]:
    """Make numpy and scipy compute with one thread inside the block, until the last such block ends.

    Matrices of fewer rows than SMALL leave the threads as they are. For matrices of up to a thousand rows,
    several threads mostly wait for each other. If other programs run, several threads take ten times as long.
    """
    global _inside
    if rows < SMALL:
        yield
        return
    with _lock:
        if _inside == 0:
            _limited.enter_context(_linear_algebra().limit(limits=1, user_api="blas"))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limited.close()


def with_rows(several: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return a xᵀ [R, k, n], for a [R, k, d] and rows x [R, n, d].

    torch's `@` uses MKL, which runs its AVX2 code on processors of makers other than Intel. On a core of
    an AMD EPYC with AVX-512, it makes 90 · 10⁹ float32 operations a second. oneDNN, which torch includes as
    well, makes 170 for k = 64 and 216 for k = 256.
    """
    if _by_onednn() and _is_large(several, rows):
        parts = zip(several.contiguous(), rows, strict=True)
        products = [torch.ops.mkldnn._linear_pointwise(a, x, None, "none", [], "") for a, x in parts]
        return products[0][None] if len(products) == 1 else torch.stack(products)
    return several @ rows.mT


def moment(rows: torch.Tensor) -> torch.Tensor:
    """Return xᵀx [R, d, d] of rows x [R, k, d]; numpy computes only half of it, in half the time."""
    if rows.device.type != "cpu":
        return rows.mT @ rows
    return torch.stack([torch.from_numpy(x.T @ x) for x in rows.numpy()])


def _is_large(several: torch.Tensor, rows: torch.Tensor) -> bool:
    """Return whether oneDNN accepts these matrices and a call pays."""
    (_, k, d), n = several.shape, rows.shape[1]
    of_cpu = several.device.type == rows.device.type == "cpu"
    return (
        several.dtype == rows.dtype == torch.float32
        and of_cpu
        and rows.is_contiguous()
        and k * n * d >= LARGE
    )


@cache
def _by_onednn() -> bool:
    """Return whether this processor has AVX-512, which MKL may leave idle, and this torch has oneDNN."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch._C._has_mkldnn:
        return False
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")


DENSE_RECORDS = 6
"""Exponent of the number of records with expensive measures: all of the first 2^DENSE_RECORDS, then half as
many per octave, equally spaced."""


@lru_cache(1 << 14)
def looked_at(record: int, dense: int = DENSE_RECORDS) -> bool:
    """Return whether expensive measures, such as spectra, are computed at a record, counted from 0."""
    return record % (1 << max(0, record.bit_length() - dense)) == 0


def singular_values(weights: torch.Tensor) -> torch.Tensor:
    """Return the singular values of matrices W [V, T, d], largest first: [V, min(T, d)] float64.

    Values within rounding, σ ≤ σ₁ max(T, d) ε with ε of the weights' dtype, are set to 0. So the number of
    nonzero values is the numerical rank. NaN where a weight is not finite.
    """
    rounding = max(weights.shape[1:]) * torch.finfo(weights.dtype).eps
    finite = weights.isfinite().all((1, 2))
    matrices = torch.where(finite[:, None, None], weights, 0.0).double()
    sigmas = torch.linalg.svdvals(matrices)
    sigmas = torch.where(sigmas > rounding * sigmas[:, :1], sigmas, 0.0)
    return torch.where(finite[:, None], sigmas, torch.nan)


Exponent = Literal["1", "2", "max", "2/3", "fourier", "fourier-2/3"]
"""‖w‖_p, or ‖c‖_p for the coefficients c of the unitary discrete Fourier transform of w, p = 1 or ⅔."""

POWERS: dict[Exponent, float] = {
    "1": 1,
    "2": 2,
    "max": math.inf,
    "2/3": 2 / 3,
    "fourier": 1,
    "fourier-2/3": 2 / 3,
}

LENGTHS = "Σ|w_i|, the Euclidean length, max|w_i|, (Σ|w_i|^⅔)^1½, or Σ|c_f|, (Σ|c_f|^⅔)^1½ in frequencies"


def length(w: torch.Tensor, exponent: Exponent) -> torch.Tensor:
    """Return the length [B] of vectors [B, d], in float64."""
    lengths: torch.Tensor = torch.linalg.vector_norm(coefficients(w, exponent), POWERS[exponent], 1)
    return lengths


def coefficients(w: torch.Tensor, exponent: Exponent) -> torch.Tensor:
    """Return the entries of w, or its Fourier coefficients, [B, d] in float64: a norm is taken of them."""
    if not exponent.startswith("fourier"):
        return w.double()
    transformed: torch.Tensor = torch.fft.fft(w.double(), norm="ortho")
    return transformed
