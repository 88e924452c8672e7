"""Products of matrices by the fastest library, and factorisations on the one thread that does them best."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from engine.core.lazy import torch

_lock = threading.Lock()
_limited = ExitStack()
_inside = 0


LARGE = 1 << 22
"""Products of numbers in a product of two matrices from which on a call of oneDNN is worth it."""


@cache
def _linear_algebra() -> Any:
    """What sets the threads of the libraries behind numpy and scipy, once both are loaded."""
    import scipy.linalg  # type: ignore[import-untyped]  # noqa: F401 - it brings a library of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


SMALL = 256
"""Rows of a matrix that is done before the library has been found whose threads are set, in 0.2 s."""


@contextmanager
def one_thread(rows: int = SMALL) -> Iterator[None]:
    """Have numpy and scipy compute with one thread, until the last of those that want it so is done.

    For matrices of fewer rows than SMALL, if somebody says how many, all stays as it is.

    Of matrices of a thousand rows, or smaller ones, several threads mostly wait for each other: where other
    programs run, too, that takes ten times as long.
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
    """a xᵀ, for a [R, k, d] and rows x [R, n, d]: [R, k, n].

    Behind torch's `@` is MKL, which on processors that are not Intel's takes a path for AVX2: 90 · 10⁹
    operations of float32 a second on a core of an AMD EPYC with AVX-512, where oneDNN, which comes with torch
    as well, makes 170 for k = 64 and 216 for k = 256.
    """
    if _by_onednn() and _is_large(several, rows):
        parts = zip(several.contiguous(), rows, strict=True)
        made = [torch.ops.mkldnn._linear_pointwise(a, x, None, "none", [], "") for a, x in parts]
        return made[0][None] if len(made) == 1 else torch.stack(made)
    return several @ rows.mT


def moment(rows: torch.Tensor) -> torch.Tensor:
    """xᵀx [R, d, d] of rows x [R, k, d]. numpy makes half of a symmetric matrix, and takes half as long."""
    if rows.device.type != "cpu":
        return rows.mT @ rows
    return torch.stack([torch.from_numpy(x.T @ x) for x in rows.numpy()])


def _is_large(several: torch.Tensor, rows: torch.Tensor) -> bool:
    """Whether these are matrices that oneDNN is worth calling for, and that it takes."""
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
    """Whether this processor has what MKL leaves idle, and this torch has oneDNN."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch._C._has_mkldnn:
        return False
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")
