"""Loops that numba compiles: kept on disk for other processes where that can be done."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher


def keep(loop: Any, *sources: Path) -> None:
    """Keep on disk what will be compiled of a loop; made anew when its file changes, and when others do.

    Nothing is kept where no folder may be written to, or numba is switched off.
    """
    if isinstance(loop, Dispatcher):
        with suppress(RuntimeError):  # which numba raises where no folder may be written to
            loop.enable_caching()
            index = loop._cache._cache_file  # type: ignore[attr-defined]
            index._source_stamp = index._source_stamp, *(file.stat().st_mtime for file in sources)


def kept_at(loop: Any) -> tuple[Path, ...]:
    """The file that says what of a loop is kept on disk; none where nothing can be."""
    kept = getattr(loop, "_cache", None)
    return (Path(kept._cache_file._index_path),) if isinstance(kept, FunctionCache) else ()
