"""Lists of stored runs, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from hadamard_tui.running.run_words import began, small_chart, state

if TYPE_CHECKING:
    from engine.runtime.stored_run import StoredRun

MB = 1 << 20

WIDE = 120
"""Minimum terminal width at which a list has all columns."""


def table(runs: Sequence[StoredRun], width: int) -> Table:
    """Return a table of runs. From width WIDE on, it also has the file size and a small chart of each run."""
    columns = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    is_wide = width >= WIDE
    for title in ("run", "began", "preset", "state", *(("MB", "curve") if is_wide else ())):
        columns.add_column(title, no_wrap=True, justify="right" if title == "MB" else "left")
    columns.add_column("finding", ratio=1)
    for run in runs:
        name = f" “{run.name}”" if run.name else ""
        marks = "".join((name, " pinned" if run.pinned else "", *(f" #{tag}" for tag in run.tags)))
        columns.add_row(
            run.id,
            began(run),
            "own" if run.preset is None else PurePath(run.preset).stem,
            state(run) + marks,
            *((f"{run.bytes / MB:.2f}", small_chart(run.chart)) if is_wide else ()),
            run.headline or run.title,
        )
    return columns


def left_out(shown: int, total: int) -> str:
    return f"The newest {shown:,} of {total:,} runs; --newest 0 lists all."


def as_json(runs: Sequence[StoredRun]) -> bytes:
    listed = []
    for run in runs:
        described: dict[str, Any] = {"fate": run.fate, **msgspec.to_builtins(run)}
        described.pop("document")
        listed.append(described)
    return msgspec.json.encode(listed) + b"\n"
