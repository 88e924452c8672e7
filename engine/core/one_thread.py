"""Linear algebra of small matrices, which one thread does best."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _linear_algebra() -> Any:
    """What sets the threads of the libraries behind numpy and scipy, once both are loaded."""
    import scipy.linalg  # type: ignore[import-untyped]  # noqa: F401 - it brings a library of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Have numpy and scipy compute with one thread for a while.

    Of matrices as small as those of one member several threads mostly wait for each other: where other
    programs run, too, that takes ten times as long.
    """
    manager: AbstractContextManager[Any] = _linear_algebra().limit(limits=1, user_api="blas")
    return manager
