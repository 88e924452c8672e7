"""Linear algebra of matrices that are not large, which one thread does best."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_limited = ExitStack()
_inside = 0


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
