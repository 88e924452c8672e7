"""The one lazy door to torch: the catalogue, the forms and the first paint never wait for it."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

LARGE_PAGES = ("THP_MEM_ALLOC_ENABLE", "1")
"""Read by torch when it is loaded: tensors of 2 MB and more are aligned to pages of 2 MB.

Vectors of a million weights are then half as scattered in memory: 160 MB instead of 350 for a run.
"""

if TYPE_CHECKING:
    import torch as torch
else:

    class _Door:
        """Stands for the module `torch` and imports it when the first of its names is used."""

        def __getattr__(self, name: str) -> object:
            os.environ.setdefault(*LARGE_PAGES)
            import torch

            value = getattr(torch, name)
            setattr(self, name, value)
            return value

    torch = _Door()


def load_torch(threads: int | None = None) -> None:
    """Import torch now, with at most `threads` threads, and exempt its objects from garbage collection.

    A full collection takes 130 ms once torch is loaded, long enough to be seen as a stutter in the app.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")
    gc.freeze()
