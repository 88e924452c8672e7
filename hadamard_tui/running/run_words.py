"""Texts about a stored run for lists: its time, its state and a one-row chart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.runtime.stored_run import StoredRun

BARS = " ▁▂▃▄▅▆▇█"


def began(run: StoredRun) -> str:
    return datetime.fromtimestamp(run.began).strftime("%Y-%m-%d %H:%M")


def state(run: StoredRun) -> str:
    return run.fate if run.points == 1 else f"{run.fate} {run.finished}/{run.points}"


def small_chart(heights: Sequence[float | None]) -> str:
    """Return a one-row chart with a bar for each height, scaled to their range, and a blank for None."""
    numbers = [height for height in heights if height is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    scale = (len(BARS) - 2) / (high - low) if high > low else 0.0
    return "".join(" " if height is None else BARS[1 + round((height - low) * scale)] for height in heights)
