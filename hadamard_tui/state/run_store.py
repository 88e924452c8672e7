"""Access to the store of runs in the user's data folder."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from platformdirs import user_cache_path, user_data_path

from engine.core import files
from engine.core.parts import BadInput
from engine.runtime.store import MB, Store
from hadamard_tui import NAME
from hadamard_tui.serving import served
from hadamard_tui.state import config

if TYPE_CHECKING:
    from pathlib import Path

    from engine.runtime.stored_run import StoredRun


def folder() -> Path:
    return user_data_path(NAME) / "runs"


def store() -> Store | None:
    """Return the store of runs; None in a browser, or if the configuration turns the store off."""
    if served():
        return None
    configured, _ = config.read()
    max_bytes = configured.kept_points_mb * MB
    return Store(folder(), max_bytes) if max_bytes else None


def needed_store() -> Store:
    if (runs := store()) is None:
        raise BadInput(
            "kept_points_mb",
            "0 turns the store of runs off; write a larger number in the configuration file",
        )
    return runs


def drop_former_points() -> str:
    """Remove the results of sweep points that earlier versions of the program stored in the cache.

    This version cannot use these results, because their keys depend on the code that computed them.

    Returns: a sentence about the removed results, or "" if there were none.
    """
    former = user_cache_path(NAME) / "points"
    with suppress(OSError), files.faults(str(former)):
        size = sum(path.stat().st_size for path in former.glob("??/*.npz"))
        if former.is_dir():
            shutil.rmtree(former)
            return (
                f"Sweep points of an earlier version ({size / MB:.3g} MB) were removed from {former}; "
                "the program computes them again when they are needed."
            )
    return ""


def removed_in_words(removed: list[StoredRun]) -> str:
    count = f"{len(removed)} old runs" if len(removed) > 1 else "1 old run"
    size = sum(run.bytes for run in removed) / MB
    return (
        f"To make room in the store of runs, the program removed {count} ({size:.3g} MB). In the "
        "configuration file, `kept_points_mb` sets the size of the store. "
        "The command `runs pin` protects a run."
    )


def news() -> list[str]:
    """Return sentences about runs that were started or continued without a terminal.

    Each sentence says that the run is in progress, or that it has ended. The end of a run is announced only
    once.
    """
    if (runs := store()) is None:
        return []
    lines = []
    for run in runs.unannounced():
        title = run.title or run.id
        if run.fate == "running":
            lines.append(f"{title!r} goes on without a terminal: {NAME} watch @{run.id} shows it.")
            continue
        ending = f"{title!r}, which ran without a terminal, is {run.fate}"
        lines.append(f"{ending}: {NAME} watch @{run.id} opens it.")
        with suppress(BadInput):
            runs.mark(run, announced=True)
    return lines
