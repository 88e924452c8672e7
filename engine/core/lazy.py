"""Lazy import of torch: the catalogue, the forms and the first paint never wait for it."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

LARGE_PAGES = "THP_MEM_ALLOC_ENABLE"
"""Environment variable that makes torch request pages of 2 MB, if available.

Without such pages, new tensors of 64 MB cost more than the arithmetic on them, and a run on 4096 targets
takes twice as long.
"""

WAITING = "OMP_WAIT_POLICY"
"""Environment variable that makes waiting threads of torch sleep. On an idle machine, sleeping is a fifth
slower.

A thread that waits awake keeps a processor busy: beside one other program, a run on 2²⁰ features took ten
times as long.
"""

KEPT, LARGEST_KEPT = 1 << 28, 1 << 25
"""Bytes of freed memory that the process keeps, and the largest piece of it.

Otherwise, the C library returns the memory of every tensor above 128 kB to the system, and requests new
memory for the next tensor. Nets with a few MB of signals then spend half of their time on clearing pages.
"""

if TYPE_CHECKING:
    import torch as torch
else:

    class _Door:
        """Stand-in for the module `torch`, which imports it at the first use of a name."""

        def __getattr__(self, name: str) -> object:
            os.environ.setdefault(LARGE_PAGES, "1")
            os.environ.setdefault(WAITING, "passive")
            _keep_freed_memory()
            import torch

            value = getattr(torch, name)
            setattr(self, name, value)
            return value

    torch = _Door()


def load_torch(threads: int | None = None) -> None:
    """Import torch now, with at most `threads` threads, and exempt its objects from garbage collection.

    It also imports numpy.random, which every run needs and numpy defers. A full collection takes 130 ms once
    torch is loaded, which shows as a stutter in the app. Only the first call exempts objects: garbage of
    later runs must be collected.
    """
    import numpy.random  # noqa: F401 - for what its import does

    if threads is not None:
        torch.set_num_threads(threads)
    # TF32 has 10 bits of mantissa: on a GPU losses near 0 would be rounding.
    torch.set_float32_matmul_precision("highest")
    _exempt()


@cache
def _keep_freed_memory() -> None:
    """Make the C library keep KEPT bytes, if it has a setting for this, as glibc has."""
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(trim_threshold, KEPT)
        library.mallopt(mmap_threshold, LARGEST_KEPT)


@cache
def _exempt() -> None:
    """Exempt all present objects, at the first call only."""
    gc.freeze()
