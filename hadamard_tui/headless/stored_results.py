"""Results of stored runs, and comparison of two stored runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from engine.results.outcomes import judge, unexpected_divergence
from engine.runtime.run_reader import opened
from engine.spec import documents
from engine.spec.differences import differences
from hadamard_tui.headless.compute import Done

if TYPE_CHECKING:
    from pathlib import Path

    from engine.runtime.stored_run import StoredRun


def done(path: Path) -> tuple[StoredRun, Done]:
    """Read a stored run. Return its entry in the store, and its results. Raises: BadInput."""
    run, traces = opened(path)
    is_whole = 0 in traces.traces and traces.traces[0].ended and not traces.sweep.axes
    strayed = unexpected_divergence(traces.sweep.experiment, traces.traces[0]) if is_whole else []
    return run, Done(run.document, traces, judge(traces), strayed)


def difference(before: StoredRun, after: StoredRun) -> Iterator[Text | Table]:
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
            columns.add_row(text, _claim_outcome(before, text), _claim_outcome(after, text))
        yield columns


def _claim_outcome(run: StoredRun, text: str) -> str:
    claim = next((claim for claim in run.claims if claim["text"] == text), None)
    if claim is None:
        return "no such claim"
    verdict = {True: "holds", False: "fails", None: "not judged"}[claim["holds"]]
    if claim["measured"] is None:
        return verdict
    error = f" ± {claim['stderr']:.2g}" if claim["stderr"] else ""
    return f"{claim['measured']:.4g}{error}, {verdict}"
