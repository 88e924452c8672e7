"""Lazy import of torch, so that the catalogue, the forms and the first screen do not wait for it."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

LARGE_PAGES = "THP_MEM_ALLOC_ENABLE"
"""Environment variable that makes torch request pages of 2 MB, if available.

Without such pages, allocating a tensor of 64 MB takes longer than the arithmetic on it, and a run on 4096
targets takes twice as long.
"""

WAITING = "OMP_WAIT_POLICY"
"""Environment variable that makes torch's threads sleep while they wait for work.

On an idle machine, sleeping makes runs a fifth slower. But a thread that waits without sleeping keeps a
processor busy: with one other program running, a run on 2²⁰ features took ten times as long.
"""

KEPT, LARGEST_KEPT = 1 << 28, 1 << 25
"""Bytes of freed memory that the process keeps for reuse, and the largest size of one freed piece.

Without this setting, the C library returns the memory of every tensor above 128 kB to the system, and
requests new memory for the next tensor. Nets with a few MB of signals then spend half of their time on
clearing pages.
"""

if TYPE_CHECKING:
    import torch as torch
else:

    class _Door:
        """Stand-in for the module `torch`, which imports torch when an attribute is first used."""

        def __getattr__(self, name: str) -> object:
            os.environ.setdefault(LARGE_PAGES, "1")
            os.environ.setdefault(WAITING, "passive")
            _keep_freed_memory()
            if "torch" not in sys.modules:
                _load_library()
            import torch

            value = getattr(torch, name)
            setattr(self, name, value)
            return value

    torch = _Door()


def load_torch(threads: int | None = None) -> None:
    """Import torch now, let it use `threads` threads, and exempt its objects from garbage collection.

    Also import numpy.random, which every run needs and numpy imports late. Once torch is loaded, a full
    garbage collection takes 130 ms, which shows as a stutter in the app. Only the first call exempts objects,
    because the garbage of later runs must be collected.
    """
    import numpy.random  # noqa: F401 - imported now, so that no run waits for it

    if threads is not None:
        torch.set_num_threads(threads)
    # TF32 has 10 bits of mantissa: on a GPU, losses near 0 would consist of rounding errors.
    torch.set_float32_matmul_precision("highest")
    _freeze_present_objects()


LIBRARY = Path("lib", "libtorch_cpu.so")
"""Largest library of torch, in its package. It contains no code of Python."""


def _load_library() -> None:
    """Load LIBRARY, if this build of torch has it, so that `import torch` finds it loaded.

    The import would hold the interpreter for half a second, in which the app could neither draw nor answer
    a key. A foreign call releases the interpreter. If it fails, the import loads the library or reports why.
    """
    spec = find_spec("torch")
    folders = () if spec is None else spec.submodule_search_locations or ()
    for library in (Path(folder) / LIBRARY for folder in folders):
        if library.is_file():
            with suppress(AttributeError, OSError, TypeError):
                ctypes.CDLL(None).dlopen(os.fsencode(library), os.RTLD_LAZY)


@cache
def _keep_freed_memory() -> None:
    """Make the C library keep up to KEPT bytes of freed memory.

    Only some libraries, such as glibc, can do so.
    """
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(trim_threshold, KEPT)
        library.mallopt(mmap_threshold, LARGEST_KEPT)


@cache
def _freeze_present_objects() -> None:
    """Exempt all present objects from garbage collection, at the first call only."""
    gc.freeze()
