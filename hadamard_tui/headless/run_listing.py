"""Lists of stored runs, and the differences between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from engine.results.outcomes import judge, unexpected_divergence
from engine.runtime.run_reader import opened
from engine.spec import documents, presets
from hadamard_tui.editing.differences import differences
from hadamard_tui.headless.compute import Done
from hadamard_tui.state.run_choice import began

if TYPE_CHECKING:
    from pathlib import Path

    from engine.runtime.store import StoredRun

BARS = " ▁▂▃▄▅▆▇█"
MB = 1 << 20

WIDE = 120
"""Width from which a list has all columns."""


def table(runs: Sequence[StoredRun], width: int) -> Table:
    """Return a row per run: name, time, preset, fate and finding; with room also its size and small chart."""
    columns = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    is_wide = width >= WIDE
    for title in ("run", "began", "preset", "state", *(("MB", "curve") if is_wide else ())):
        columns.add_column(title, no_wrap=True, justify="right" if title == "MB" else "left")
    columns.add_column("finding", ratio=1)
    for run in runs:
        marks = "".join((" pinned" if run.pinned else "", *(f" #{tag}" for tag in run.tags)))
        columns.add_row(
            run.id,
            began(run),
            "own" if run.preset is None else presets.name_of(run.preset),
            state(run) + marks,
            *((f"{run.bytes / MB:.2f}", small_chart(run.chart)) if is_wide else ()),
            run.headline or run.title,
        )
    return columns


def state(run: StoredRun) -> str:
    """Return the fate of a run, with its finished points if it has several."""
    return run.fate if run.points == 1 else f"{run.fate} {run.finished}/{run.points}"


def small_chart(heights: Sequence[float | None]) -> str:
    """Return a line of bars, from the lowest height to the highest."""
    numbers = [height for height in heights if height is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    scale = (len(BARS) - 2) / (high - low) if high > low else 0.0
    return "".join(" " if height is None else BARS[1 + round((height - low) * scale)] for height in heights)


def as_json(runs: Sequence[StoredRun]) -> bytes:
    """Return runs as JSON, without their documents."""
    listed = []
    for run in runs:
        described: dict[str, Any] = {"fate": run.fate, **msgspec.to_builtins(run)}
        described.pop("document")
        listed.append(described)
    return msgspec.json.encode(listed) + b"\n"


def done(path: Path) -> tuple[StoredRun, Done]:
    """Return a run from its file as if it had just ended. Raises: BadInput."""
    run, traces = opened(path)
    is_whole = 0 in traces.traces and traces.traces[0].ended and not traces.sweep.axes
    strayed = unexpected_divergence(traces.sweep.experiment, traces.traces[0]) if is_whole else []
    return run, Done(run.document, traces, judge(traces), strayed)


def difference(before: StoredRun, after: StoredRun) -> Iterator[Text | Table]:
    """Yield what differs between two runs: the experiments, the findings, and the numbers of the claims."""
    full_documents = [
        documents.in_full(run.document, documents.first(run.document)) for run in (before, after)
    ]
    changes = differences(*full_documents)
    yield Text("Experiment", style="bold")
    yield Text("\n".join(f"  {change}" for change in changes) or "  the same")
    if before.version != after.version or before.code != after.code:
        yield Text(f"  computed by other code: version {before.version} → {after.version}")
    yield Text("Finding", style="bold")
    for run in (before, after):
        yield Text(f"  {run.id}: {run.headline or run.fate}")
    texts = list(dict.fromkeys(claim["text"] for run in (before, after) for claim in run.claims))
    if texts:
        yield Text("Claims", style="bold")
        columns = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for title in ("claim", before.id, after.id):
            columns.add_column(title, ratio=1 if title == "claim" else None)
        for text in texts:
            columns.add_row(text, _measured(before, text), _measured(after, text))
        yield columns


def _measured(run: StoredRun, text: str) -> str:
    """Return the number that a run measured for a claim, with its standard error and its verdict."""
    claim = next((claim for claim in run.claims if claim["text"] == text), None)
    if claim is None:
        return "no such claim"
    verdict = {True: "holds", False: "fails", None: "not judged"}[claim["holds"]]
    if claim["measured"] is None:
        return verdict
    error = f" ± {claim['stderr']:.2g}" if claim["stderr"] else ""
    return f"{claim['measured']:.4g}{error}, {verdict}"
