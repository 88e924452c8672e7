"""The one lazy door to torch: the catalogue, the forms and the first paint never wait for it."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

LARGE_PAGES = "THP_MEM_ALLOC_ENABLE"
"""Has torch request pages of 2 MB, where there are such, when it is loaded.

New tensors of 64 MB cost more than the arithmetic on them otherwise, and a run on 4096 targets twice as much.
"""

WAITING = "OMP_WAIT_POLICY"
"""How torch's threads wait for one another: asleep, which costs a fifth where nothing else runs.

Awake, each keeps a processor busy: beside one other program a run on 2²⁰ features took ten times as long.
"""

KEPT, LARGEST_KEPT = 1 << 28, 1 << 25
"""Bytes of freed memory that stay with the process, and how large one piece of them may be.

Without it the C library gives the memory of every tensor above 128 kB back to the system and requests the
next one anew, and for nets of a few MB of signals half of the time goes into clearing pages.
"""

if TYPE_CHECKING:
    import torch as torch
else:

    class _Door:
        """Stands for the module `torch` and imports it when the first of its names is used."""

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

    With it comes numpy.random, which every run draws from and numpy leaves for later, too. A full collection
    takes 130 ms once torch is loaded, long enough to be seen as a stutter in the app. Only the first call
    exempts anything: what later runs leave behind is to be collected.
    """
    import numpy.random  # noqa: F401 - for what its import does

    if threads is not None:
        torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")
    _exempt()


@cache
def _keep_freed_memory() -> None:
    """Have the C library keep KEPT bytes, if it has a setting for that, as glibc."""
    trim_threshold, mmap_threshold = -1, -3
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(trim_threshold, KEPT)
        library.mallopt(mmap_threshold, LARGEST_KEPT)


@cache
def _exempt() -> None:
    """Exempt, at the first call only, all objects that there are."""
    gc.freeze()
