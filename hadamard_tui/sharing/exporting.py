"""Files by their suffix: curves as CSV, JSON or Parquet, the chart as SVG, PDF or PNG, the set-up as TOML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from engine.core import atomic_write
from engine.core.parts import BadInput
from engine.results.report import encode
from engine.results.trace import Trace
from engine.spec.experiment import Experiment
from engine.spec.reading import Raw
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.charts.series_builder import loss_axes, loss_series
from hadamard_tui.looks import palette
from hadamard_tui.sharing import preset_file, tables
from hadamard_tui.sharing.figure import figure


@dataclass(frozen=True)
class Shown:
    """What there is to export: the set-up, and what was run with its trace and its chart, coloured for paper.

    The set-up may have been changed since the run. The trace does not grow.
    """

    set_up: Experiment | Raw
    experiment: Experiment
    trace: Trace | None
    series: Sequence[Series]
    axes: Axes | None


def finished(experiment: Experiment, trace: Trace, document: Raw | None = None) -> Shown:
    """A run that came to its end, as the app would show it; `document` has the expressions of its preset."""
    with palette.on_paper():
        series = loss_series(trace, trace.last)
    return Shown(document or experiment, experiment, trace, series, loss_axes(trace, series))


KINDS: dict[str, tuple[str, Callable[[Shown], bytes]]] = {
    ".csv": ("curves and bounds, one row per point", lambda shown: tables.as_csv(_trace(shown))),
    ".json": ("all that was computed, as run --json prints it", lambda shown: _report(shown)),
    ".parquet": ("curves and bounds, one row per point", lambda shown: tables.as_parquet(_trace(shown))),
    ".svg": ("the chart for a paper or the web", lambda shown: _figure(shown, "svg")),
    ".pdf": ("the chart for a paper", lambda shown: _figure(shown, "pdf")),
    ".png": ("the chart in pixels", lambda shown: _figure(shown, "png")),
    ".toml": ("the set-up as a preset", lambda shown: preset_file.as_toml(shown.set_up).encode()),
}
"""By suffix: what is in the file, and how it is made."""

LONGEST_NAME = 200
"""Bytes of the name of a download; file systems take 255, and browsers number what is there already."""


def check(path: Path, option: str) -> None:
    """See before a run that a file can be written. Raises: BadInput."""
    check_kind(path, option)
    atomic_write.check(path, option)


def export(path: Path, shown: Shown, option: str) -> None:
    """Write a file of the kind that its suffix says. Raises: BadInput."""
    atomic_write.write(path, content(path, shown, option), option)


def content(path: Path, shown: Shown, option: str) -> bytes:
    """What is to be in a file that can be written, by its suffix. Raises: BadInput."""
    check(path, option)
    try:
        return KINDS[path.suffix.lower()][1](shown)
    except BadInput as error:
        raise BadInput(f"{option} {path}".strip(), error.what) from error


def check_download(name: str) -> None:
    """See that a file for a browser can have this name. Raises: BadInput."""
    if (
        not name.isprintable()
        or any(mark in name for mark in '/\\:*?"<>|')
        or len(name.encode()) > LONGEST_NAME
    ):
        raise BadInput(name, "a file for your browser has a plain name of moderate length, without a folder")
    check_kind(Path(name), "")


def download(name: str, shown: Shown) -> BytesIO:
    """A file for a browser to save under this name, where its user wants it. Raises: BadInput."""
    check_download(name)
    return BytesIO(KINDS[Path(name).suffix.lower()][1](shown))


def check_kind(path: Path, option: str) -> None:
    """See that a name says what is in its file. Raises: BadInput."""
    if path.suffix.lower() not in KINDS:
        raise BadInput(f"{option} {path}", f"the end of its name says what it is; take {', '.join(KINDS)}")


def _trace(shown: Shown) -> Trace:
    if shown.trace is None:
        raise BadInput("", "nothing has been computed yet; run the set-up first")
    return shown.trace


def _report(shown: Shown) -> bytes:
    return encode(shown.experiment, _trace(shown))


def _figure(shown: Shown, kind: str) -> bytes:
    if shown.axes is None:
        raise BadInput("", "nothing is drawn yet; run the set-up first")
    return figure(shown.series, shown.axes, kind)
