"""The one lazy door to torch: the catalogue, the forms and the first paint never wait for it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as torch
else:

    class _Door:
        """Stands for the module `torch` and imports it when the first of its names is used."""

        def __getattr__(self, name: str) -> object:
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
