"""How fast the engine is on this machine, beside the reference machine of docs/performance.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from engine.core.lazy import torch
from hadamard_tui.headless import jobs

if TYPE_CHECKING:
    from hadamard_tui.headless.jobs import Job, Measured

QUICK = ("J1", "J2 GD", "J3 EGU±")


class Timed(NamedTuple):
    """A job that was run, after a first run that is not counted unless there is only one."""

    job: Job
    measured: Measured


def timed(quick: bool, errors: Console) -> Iterator[Timed]:
    """Run the jobs one after the other on one thread; of the short ones a second run counts."""
    for job in jobs.jobs():
        if quick and job.name not in QUICK:
            continue
        with errors.status(f"{job.name}: {job.text}"):
            measured = jobs.measure(job.experiment)
            if measured.wall < 1:
                measured = jobs.measure(job.experiment)
        yield Timed(job, measured)


def table(found: list[Timed]) -> Table:
    """Seconds of every job, beside those of the reference machine."""
    columns = "job", "what", "backend", "seconds", "CPU", "reference", "ratio"
    shown = Table(*columns, box=SIMPLE_HEAD, title="One thread, float32")
    for job, measured in found:
        reference, ratio = "", ""
        if job.reference is not None:
            reference, ratio = f"{job.reference:.3g}", f"{measured.cpu / job.reference:.2f}"
        backend = max(curve.backend for curve in measured.trace.curves)
        seconds = f"{measured.wall:.3g}", f"{measured.cpu:.3g}"
        shown.add_row(job.name, job.text, backend, *seconds, reference, ratio)
    versions = f"torch {torch.__version__}, numba {version('numba')}"
    shown.caption = (
        f"here: {platform.machine()}, {os.cpu_count()} cores, {versions}\n"
        "ratio: CPU seconds here over those of the reference machine in docs/performance.md"
    )
    return shown


def as_json(found: list[Timed]) -> dict[str, Any]:
    """The same as data, and the environment of the runs."""
    return {
        "schema": 1,
        "environment": found[0].measured.trace.environment if found else {},
        "jobs": [
            {
                "job": job.name,
                "what": job.text,
                "wall": measured.wall,
                "cpu": measured.cpu,
                "peak_mib": measured.peak,
                "reference_cpu": job.reference,
            }
            for job, measured in found
        ],
    }
