"""Files by their suffix: curves as CSV, JSON or Parquet, the chart as SVG, PDF or PNG, the set-up as TOML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from engine.core import atomic_write
from engine.core.parts import BadInput
from engine.results.outcomes import judge
from engine.results.picture_report import encode_pictures
from engine.results.report import encode
from engine.results.results import Results, of_one
from engine.results.trace import Trace
from engine.results.view import View
from engine.results.views import view
from engine.spec.experiment import Experiment
from engine.spec.pictures import drawn, of_run
from engine.spec.reading import Raw
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.charts.view_plot import heat_map, plot
from hadamard_tui.looks import palette
from hadamard_tui.sharing import preset_file, tables
from hadamard_tui.sharing.figure import figure, heat_map_figure


@dataclass(frozen=True)
class Pictures:
    """What pictures are drawn of, and the heat map that is shown, if one is."""

    document: Raw
    """The set-up that was run, as a preset would say it."""

    results: Results
    heat: HeatMap | None = None

    @property
    def views(self) -> list[View]:
        """Every picture, filled with what there is. Raises: BadInput for one that there is not."""
        return [view(picture, self.results) for picture in drawn(self.results.plan.experiment)]


@dataclass(frozen=True)
class Shown:
    """What there is to export: the set-up, and what was run with its trace and its chart, coloured for paper.

    The set-up may have been changed since the run. The trace does not grow. Where an experiment has pictures,
    these are what tables and JSON are of.
    """

    set_up: Experiment | Raw
    experiment: Experiment
    trace: Trace | None
    series: Sequence[Series] = ()
    axes: Axes | None = None
    pictures: Pictures | None = None


def finished(experiment: Experiment, trace: Trace, document: Raw | None = None) -> Shown:
    """A run that came to its end, as the app would show it; `document` has the expressions of its preset."""
    look = Look(view(of_run(experiment), of_one(experiment, trace)))
    return with_look(Shown(document or experiment, experiment, trace), look)


def first_picture(document: Raw, results: Results) -> Shown:
    """Runs that came to their end, with the first of their pictures."""
    experiment, trace = results.plan.experiment, next(iter(results.traces.values()))
    return with_picture(Shown(document, experiment, trace, pictures=Pictures(document, results)), 0)


def with_picture(shown: Shown, number: int, learner: str | None = None) -> Shown:
    """The same with one of its pictures as the chart; a picture that there is not is none."""
    assert shown.pictures is not None, "an experiment without pictures has none to choose"
    results = shown.pictures.results
    try:
        return with_look(shown, Look(view(drawn(results.plan.experiment)[number], results)), learner)
    except BadInput:
        return replace(shown, series=(), axes=None)


def with_look(shown: Shown, look: Look, learner: str | None = None) -> Shown:
    """The same with what is looked at as the chart; of a heat map that of a learner, or of the first."""
    with palette.on_paper():
        if look.view.heats:
            assert shown.pictures is not None, "a heat map is a picture"
            heats = look.view.heats
            heat = heat_map(look, next((one for one in heats if one.learner == learner), heats[0]))
            return replace(shown, axes=None, pictures=replace(shown.pictures, heat=heat))
        drawing = plot(look)
    return replace(shown, series=drawing.series, axes=drawing.axes)


KINDS: dict[str, tuple[str, Callable[[Shown], bytes]]] = {
    ".csv": ("curves and bounds, one row per point", lambda shown: tables.as_csv(_table(shown))),
    ".json": ("all that was computed, as run --json prints it", lambda shown: _report(shown)),
    ".parquet": ("curves and bounds, one row per point", lambda shown: tables.as_parquet(_table(shown))),
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


def _table(shown: Shown) -> tables.Table:
    if shown.pictures is None:
        results = of_one(shown.experiment, _trace(shown))
        losses, errors = (view(of_run(shown.experiment, measure), results) for measure in ("loss", "error"))
        return tables.of_run(losses, errors)
    return tables.of_views(shown.pictures.views)


def _report(shown: Shown) -> bytes:
    if shown.pictures is None:
        return encode(shown.experiment, _trace(shown))
    results = shown.pictures.results
    return encode_pictures(shown.pictures.document, results, judge(results))


def _figure(shown: Shown, kind: str) -> bytes:
    if shown.pictures is not None and shown.pictures.heat is not None:
        return heat_map_figure(shown.pictures.heat, kind)
    if shown.axes is None:
        raise BadInput("", "nothing is drawn yet; run the set-up first")
    return figure(shown.series, shown.axes, kind)
