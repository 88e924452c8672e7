"""Loops compiled by numba, and stored on disk for other processes if possible.

No other file of the program uses private names of numba. `tests/engine/test_loops.py` fails when numba
changes one of them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher


def keep(loop: Any, *sources: Path) -> None:
    """Store the compiled versions of a loop on disk; a change of its file or of `sources` invalidates them.

    Nothing is stored without a writable folder, or if numba is switched off.
    """
    if isinstance(loop, Dispatcher):
        with suppress(RuntimeError):  # which numba raises where no folder may be written to
            loop.enable_caching()
        if (index := _index_of(loop)) is not None:
            # Without it numba would go by the loop's own file alone: no option names other sources.
            index._source_stamp = index._source_stamp, *(file.stat().st_mtime for file in sources)
            try:
                index._load_index()
            except AttributeError:  # an earlier version kept it, with a class that has another name now
                Path(index._index_path).unlink()


def kept_at(loop: Any) -> tuple[Path, ...]:
    """Return the index file of a loop on disk; empty if nothing is stored.

    The public `loop.stats` names only the folder, which contains other loops as well.
    """
    index = _index_of(loop)
    return () if index is None else (Path(index._index_path),)


def _index_of(loop: Any) -> IndexDataCacheFile | None:
    """Return the index of the compiled versions of a loop on disk; None if nothing is stored.

    No public name leads from a loop to its cache, or from the cache to this index.
    """
    cache = getattr(loop, "_cache", None)
    return cache._cache_file if isinstance(cache, FunctionCache) else None
