"""Loops that numba compiles, and their storage on disk, so that other processes need not compile them.

No other file of the program uses private names of numba. `tests/engine/test_loops.py` fails if numba changes
one of these names.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher


def keep(loop: Any, *sources: Path) -> None:
    """Store the compiled versions of `loop`, a function that numba compiles, on disk.

    A change of the function's file or of `sources` makes the stored versions invalid. Nothing is stored if no
    folder is writable, or if numba is switched off.
    """
    if isinstance(loop, Dispatcher):
        with suppress(RuntimeError):  # numba raises it if no folder is writable
            loop.enable_caching()
        if (index := _cache_index(loop)) is not None:
            # By default, numba checks only the file of the loop itself, and has no option for other sources.
            index._source_stamp = index._source_stamp, *(source.stat().st_mtime for source in sources)
            try:
                index._load_index()
            except AttributeError:  # an earlier version stored the index with a class that was renamed since
                Path(index._index_path).unlink()


def kept_at(loop: Any) -> tuple[Path, ...]:
    """Return a tuple with the index file in which numba lists the stored versions of a loop.

    The tuple is empty if numba does not store this loop. The public `loop.stats` names only the folder, which
    also contains files of other loops.
    """
    index = _cache_index(loop)
    return () if index is None else (Path(index._index_path),)


def _cache_index(loop: Any) -> IndexDataCacheFile | None:
    """Return the object with which numba manages the stored versions of a loop.

    Return None if numba does not store this loop. The object is private, because numba has no public names
    for a loop's cache and the index of the cache.
    """
    cache = getattr(loop, "_cache", None)
    return cache._cache_file if isinstance(cache, FunctionCache) else None
