"""Export of curves, a chart or a preset to a file. The suffix of the file's name selects the format."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli_w

from engine.core import files
from engine.core.parts import BadInput
from engine.core.texts import escaped
from engine.results import tables
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.results import Results, of_one
from engine.results.views import view
from engine.spec.document_expressions import as_document
from engine.spec.experiment import drawn, of_run
from hadamard_tui.charts.plots.derived_plots import (
    difference,
    has_multiples,
    is_difference,
    multiples,
    stacked,
)
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.view_plot import heat_map
from hadamard_tui.colours import palette
from hadamard_tui.running.viewed import headline_of_look
from hadamard_tui.sharing.animation import asciicast, gif
from hadamard_tui.sharing.rendering import boxes, pdf, png
from hadamard_tui.sharing.svg import Chart, chart, charts, heat_map_page
from hadamard_tui.sharing.svg_page import Tiles

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.pictures.view import View
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.plots.series_builder import Plot
    from hadamard_tui.charts.series import Axes, Series
    from hadamard_tui.sharing.svg_page import SvgSheet

EMPTY: tuple[Any, ...] = (None, "", {})
"""Values that TOML files leave out, because they are the default of every field that accepts them."""


@dataclass(frozen=True)
class Pictures:
    """Results from which the pictures of an experiment are drawn, and the heat map on the screen.

    Args:
        heat: heat map on the screen; None if the screen shows no heat map.
    """

    results: Results
    heat: HeatMap | None = None

    @property
    def views(self) -> list[View]:
        return [view(picture, self.results) for picture in drawn(self.results.sweep.experiment)]


@dataclass(frozen=True)
class Shown:
    """Everything that an export may contain: the set-up, the run with its results, and the chart.

    The chart has colours for a light background.

    Args:
        set_up: the current set-up, which may have changed since the run.
        experiment: experiment of the run.
        trace: results of the run, which no longer grow; None before a run.
        document: experiment of the run as a preset document.
        pictures: results for tables and JSON; None if the experiment defines no pictures.
        outcomes: outcomes of the experiment's claims; empty until the claims are judged.
    """

    set_up: Experiment | Raw
    experiment: Experiment
    trace: Trace | None
    series: Sequence[Series] = ()
    axes: Axes | None = None
    document: Raw | None = None
    pictures: Pictures | None = None
    outcomes: Sequence[Outcome] = ()
    caption: str = ""
    note: str = ""
    """Remarks on the data, which the chart shows."""

    multiples: Sequence[Plot] = ()
    """Charts of single learners, if the screen shows a separate chart for each."""

    beneath: Plot | None = None
    """Chart below the first chart; None if the picture has only one chart."""

    unjudged: Mapping[int, str] = field(default_factory=dict)
    """Reasons why some claims are not judged, by the index of the claim."""

    preset: str | None = None
    """Name of the preset that the run was made from, possibly with changes, or None."""


def finished(
    experiment: Experiment, trace: Trace, document: Raw | None = None, outcomes: Sequence[Outcome] = ()
) -> Shown:
    """Return the content for an export of a finished run, with the chart of its losses.

    Args:
        document: the experiment as a preset document, in which expressions such as 1/d are kept.
    """
    look = Look(view(of_run(experiment), of_one(experiment, trace)))
    unjudged = {number: outcome.detail for number, outcome in enumerate(outcomes) if outcome.holds is None}
    shown = Shown(
        document or experiment,
        experiment,
        trace,
        document=document,
        outcomes=outcomes,
        unjudged=unjudged,
    )
    return with_look(shown, look)


def first_picture(document: Raw, results: Results, outcomes: Sequence[Outcome] = ()) -> Shown:
    experiment, trace = results.sweep.experiment, next(iter(results.traces.values()))
    shown = Shown(
        document, experiment, trace, document=document, pictures=Pictures(results), outcomes=outcomes
    )
    return with_picture(shown, 0)


def with_picture(shown: Shown, number: int, learner_name: str | None = None) -> Shown:
    """Return an export's content with picture `number` as its chart. Pictures are counted from 0.

    There is no chart if the results do not have this picture.
    """
    assert shown.pictures is not None, "an experiment without pictures has none to choose"
    results = shown.pictures.results
    try:
        return with_look(shown, Look(view(drawn(results.sweep.experiment)[number], results)), learner_name)
    except BadInput:
        return replace(shown, series=(), axes=None, note="", pictures=replace(shown.pictures, heat=None))


def with_look(shown: Shown, look: Look, learner_name: str | None = None) -> Shown:
    """Return an export's content with the picture `look` as its chart.

    Args:
        learner_name: learner whose heat map is the chart, if the picture has several heat maps. If the
            learner has no heat map, the chart is the first heat map.
    """
    results = None if shown.pictures is None else shown.pictures.results
    shown = replace(shown, caption=headline_of_look(look, shown.experiment, shown.outcomes, results))
    with palette.on_paper():
        if look.view.heats:
            assert shown.pictures is not None, "a heat map is a picture"
            heats = look.view.heats
            chosen = next((heat for heat in heats if heat.learner == learner_name), heats[0])
            heat = heat_map(look, chosen)
            return replace(shown, axes=None, note="", pictures=replace(shown.pictures, heat=heat))
        drawing, *lower = [difference(look)] if is_difference(look) else stacked(look)
        is_split = look.resolved.multiples and has_multiples(look) and not is_difference(look)
        apart = multiples(look, len(look.view.curves), learner_name or "")[0] if is_split else ()
    beneath = next(iter(lower), None)
    if shown.pictures is not None:
        shown = replace(shown, pictures=replace(shown.pictures, heat=None))
    return replace(
        shown,
        series=drawing.series,
        axes=drawing.axes,
        note=drawing.file_note,
        multiples=apart,
        beneath=beneath,
    )


Progress = Callable[[float], None]
"""Function that is called with the finished share of a file, from 0 to 1."""


class FileKind(NamedTuple):
    """Format of exported files.

    Args:
        about: description of the content, for users.
        make: function that returns the content of a file.
        library: optional library that `make` needs; None if it needs none.
    """

    about: str
    make: Callable[[Shown, Progress], bytes]
    library: str | None = None

    @property
    def remedy(self) -> str:
        """Command that installs the library of this format; empty if no library is missing."""
        is_available = self.library is None or find_spec(self.library) is not None
        return "" if is_available else self.installation

    @property
    def installation(self) -> str:
        return f"{shlex.quote(sys.executable)} -m pip install {self.library}"


KINDS: dict[str, FileKind] = {
    ".svg": FileKind(
        "the chart with its caption, for a paper or the web", lambda shown, _: page_of(shown).written()
    ),
    ".pdf": FileKind(
        "the chart with its caption, as a page", lambda shown, _: pdf(page_of(shown)), "matplotlib"
    ),
    ".png": FileKind(
        "the chart with its caption, in pixels", lambda shown, _: png(page_of(shown)), "resvg_py"
    ),
    ".gif": FileKind(
        "an animation of the chart, in which the curves grow",
        lambda shown, progress: gif(*_charts_and_caption(shown), progress),
        "resvg_py",
    ),
    ".cast": FileKind(
        "the animation as a recording of a terminal, for asciinema",
        lambda shown, progress: asciicast(*_charts_and_caption(shown), progress),
    ),
    ".html": FileKind(
        "a web page to send, as the command share writes it", lambda shown, _: _shared_page(shown)
    ),
    ".csv": FileKind(
        "curves and bounds, one row per point", lambda shown, _: tables.as_csv(_curve_table(shown))
    ),
    ".parquet": FileKind(
        "curves and bounds, one row per point",
        lambda shown, _: tables.as_parquet(_curve_table(shown)),
        "pyarrow",
    ),
    ".json": FileKind("all results, as run --json prints them", lambda shown, _: _json_report(shown)),
    ".toml": FileKind("the set-up as a preset", lambda shown, _: as_toml(shown.set_up).encode()),
}

DRAWN = ".pdf", ".png", ".gif"
"""Suffixes of the formats for which this program chooses the fonts. These fonts may lack characters."""

LONGEST_NAME = 200
"""Maximum length of a download's name in bytes.

File systems allow 255 bytes, and browsers may append a number.
"""


def check(path: Path, option: str) -> None:
    check_kind(path, option)
    files.check(path, option)


def export(path: Path, shown: Shown, option: str, progress: Progress = lambda share: None) -> None:
    files.write(path, content(path, shown, option, progress), option)


def content(path: Path, shown: Shown, option: str, progress: Progress = lambda share: None) -> bytes:
    """Return the bytes of a file, in the format of its suffix. Raises: BadInput."""
    check(path, option)
    return _file_content(path, shown, f"{option} {path}".strip(), progress)


def missing_letters(path: Path, shown: Shown) -> str:
    """Return a sentence about the characters of the chart that no font has, or "" if fonts have all of them.

    The sentence is also "" for formats in which the reader's program chooses the font.
    """
    if path.suffix.lower() not in DRAWN:
        return ""
    sentence = boxes(page_of(shown).text)
    return f"{escaped(path.name)} {sentence}" if sentence else ""


def check_download(name: str) -> None:
    """Raise BadInput if `name` is not valid for a file that a browser downloads."""
    if (
        not name.isprintable()
        or any(mark in name for mark in '/\\:*?"<>|')
        or len(name.encode()) > LONGEST_NAME
    ):
        raise BadInput(name, "give a short file name of plain characters, without a folder")
    check_kind(Path(name), "")


def download(name: str, shown: Shown, progress: Progress = lambda share: None) -> BytesIO:
    check_download(name)
    return BytesIO(_file_content(Path(name), shown, name, progress))


def check_kind(path: Path, option: str) -> None:
    """Raise BadInput if the suffix of a file is unknown, or if its library is not installed."""
    where, kind = f"{option} {path}".strip(), KINDS.get(path.suffix.lower())
    if kind is None:
        raise BadInput(where, f"the suffix of the file name selects the format; use {', '.join(KINDS)}")
    if kind.remedy:
        raise BadInput(where, f"{kind.library} is not installed; install it with {kind.remedy}")


def _file_content(path: Path, shown: Shown, where: str, progress: Progress) -> bytes:
    kind = KINDS[path.suffix.lower()]
    try:
        return kind.make(shown, progress)
    except BadInput as error:
        raise BadInput(where, error.fault) from error
    except ImportError as error:
        library = kind.library or error.name or "a library"
        remedy = f"; reinstall it with {kind.installation}" if kind.library else ""
        raise BadInput(where, f"{library} cannot be loaded: {error}{remedy}") from error


def _computed_trace(shown: Shown) -> Trace:
    if shown.trace is None:
        raise BadInput("", "nothing has been computed yet; run the set-up first")
    return shown.trace


def _curve_table(shown: Shown) -> tables.CurveTable:
    return tables.table_of(_shown_results(shown), shown.outcomes)


def _json_report(shown: Shown) -> bytes:
    results = _shown_results(shown)
    return encode(_shown_document(shown), results, judge(results))


def _shared_page(shown: Shown) -> bytes:
    from hadamard_tui.sharing.web_page import web_page

    results = _shown_results(shown)
    return web_page(results, judge(results), shown.preset, _shown_document(shown))


def _shown_results(shown: Shown) -> Results:
    if shown.pictures is None:
        return of_one(shown.experiment, _computed_trace(shown), shown.unjudged)
    return shown.pictures.results


def _shown_document(shown: Shown) -> Raw:
    return as_document(shown.experiment) if shown.document is None else shown.document


def page_of(shown: Shown) -> SvgSheet:
    if (heat := _heat_map(shown)) is not None:
        return heat_map_page(heat, shown.caption)
    if shown.multiples:
        pages = [chart(multiple.series, multiple.axes, multiple.file_note) for multiple in shown.multiples]
        return Tiles(pages, shown.caption)
    return charts(charts_of(shown), shown.caption)


def _charts_and_caption(shown: Shown) -> tuple[Sequence[Chart], str]:
    if _heat_map(shown) is not None:
        raise BadInput("", "a heat map has no curves that grow; take .svg, or a picture of curves")
    return charts_of(shown), shown.caption


def charts_of(shown: Shown) -> list[Chart]:
    first = Chart(shown.series, _shown_axes(shown), shown.note)
    if (lower := shown.beneath) is None:
        return [first]
    return [first, Chart(lower.series, lower.axes, lower.file_note)]


def _heat_map(shown: Shown) -> HeatMap | None:
    return None if shown.pictures is None else shown.pictures.heat


def _shown_axes(shown: Shown) -> Axes:
    if shown.axes is None:
        raise BadInput("", "nothing is drawn yet; run the set-up first")
    return shown.axes


def as_toml(described: Experiment | Raw) -> str:
    """Return an experiment as a TOML preset that also contains default values.

    Another version of the program may have other defaults. Expressions such as 1/d are kept. Paths of data
    files become absolute, so that the preset can be moved.
    """
    return tomli_w.dumps(_without_empty(as_document(described)))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(item) for key, item in value.items() if item not in EMPTY}
    return [_without_empty(item) for item in value] if isinstance(value, list | tuple) else value
