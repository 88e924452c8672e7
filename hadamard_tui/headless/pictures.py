"""Pictures of an experiment as the command `run` prints them: charts, heat maps and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.core.expressions import number
from engine.pictures.view import CurveView, LineView, View, index_at, negligible
from engine.pictures.wording import curve_name, line_name
from engine.results import views
from engine.results.headlines import headline
from engine.results.outcomes import about
from engine.spec.experiment import drawn
from hadamard_tui.charts.drawing.chart_sheet import printed
from hadamard_tui.charts.drawing.heat_sheet import BLACK, GROUND, INKS, WHITE, compose
from hadamard_tui.charts.drawing.raster import runs
from hadamard_tui.charts.line_heads import DIRECTIONS
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.series_builder import colour_of, letter_of
from hadamard_tui.charts.plots.view_plot import different_lines, heat_map, plot
from hadamard_tui.charts.scales import x_ticks
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import legible
from hadamard_tui.colours.palette import colour_map
from hadamard_tui.running.progress import skipped

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.results.results import Results
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.colours.palette import ColourMap

WIDEST_CHART, CHART_HEIGHTS = 120, (18, 28)
"""Maximum width, and least and greatest height, of a printed chart in terminal cells."""

LINES_BESIDE_CHART = 4
"""Number of terminal rows that a chart leaves free for the prompt and the text around the chart."""

MOST_ROWS = 12
"""Maximum number of rows in a table. If there are more x values, an evenly spaced selection is shown."""

COLUMN, WIDEST_NAME = 14, 34
"""Width of a number with its standard error, and width of the name of a curve at the start of a row."""

GAP = 2
"""Number of blanks between two columns."""

NOTHING = "—"


_RESET = "\x1b[0m"


def pictures(results: Results, outcomes: Sequence[Outcome], console: Console) -> Iterator[ConsoleRenderable]:
    """Yield each picture of an experiment, with its headline, its table and the claims about it.

    If a picture is the background of another picture, its chart is printed only below that picture. Claims
    without a picture come last.

    Raises: BadInput for a picture that does not exist.
    """
    experiment, printed = results.sweep.experiment, set[int]()
    beneath = {picture.beneath for picture in experiment.pictures if picture.beneath is not None}
    for picture in drawn(experiment):
        view, picture_outcomes = views.view(picture, results), about(picture, experiment, outcomes)
        yield Text("")
        if picture.y is None and picture.name not in beneath:
            yield chart(view, console)
        if view.beneath is not None:
            yield chart(view.beneath, console)
        for heat in view.heats:
            colours = colour_map(palette.current().dark_is_more) if has_colours(console) else None
            text = printed_heat_map(
                heat_map(Look(view), heat), min(console.width, WIDEST_CHART), _chart_height(console), colours
            )
            yield Text.from_ansi(text, no_wrap=True, overflow="crop")
        yield said_of(view, experiment, outcomes, results)
        if picture.y is None:
            yield Padding(table(view, console.width), (1, 0, 0, 0))
        yield from claims([outcome for outcome in picture_outcomes if id(outcome) not in printed])
        printed.update(map(id, picture_outcomes))
    if words := skipped(results):
        yield Text(f"\n{words}", "dim")
    yield from claims(
        [outcome for outcome in outcomes if id(outcome) not in printed],
        "Other claims" if printed else "Claims",
    )


def said_of(
    view: View, experiment: Experiment, outcomes: Sequence[Outcome], results: Results | None = None
) -> Text:
    return Text(f"\n{headline(view, experiment, outcomes, results)}")


def claims(outcomes: Sequence[Outcome], heading: str = "Claims") -> Iterator[ConsoleRenderable]:
    if not outcomes:
        return
    yield Text(f"\n{heading}", "bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for outcome in outcomes:
        measured = outcome.detail if outcome.measured is None else f"measured: {outcome.detail}"
        grid.add_row(sign(outcome), Group(outcome.claim.text, Text(measured, "dim")))
    yield grid


def sign(outcome: Outcome) -> Text:
    mark, style = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("–", "yellow")}[outcome.holds]
    return Text(f"{mark} {outcome.word}", style)


def has_colours(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def _chart_height(console: Console) -> int:
    low, high = CHART_HEIGHTS
    return min(high, max(low, console.height - LINES_BESIDE_CHART)) if console.is_terminal else low + 4


def chart(view: View, console: Console) -> Text:
    shown = plot(Look(view))
    width, height = min(console.width, WIDEST_CHART), _chart_height(console)
    text = printed(shown.series, shown.axes, width, height, has_colours(console), shown.file_note)
    return Text.from_ansi(text, no_wrap=True, overflow="crop")


def table(view: View, width: int) -> Table:
    """Return a table with a row for each x, and a column for each curve and theory line.

    If there are too many columns for the width, each curve and theory line has a row instead.
    """
    lines = different_lines(view.lines)
    curves: list[CurveView | LineView] = [*view.curves, *lines]
    names = [
        Text(f"{letter_of(curve)} {curve_name(view, curve)}".strip(), legible(colour_of(curve)))
        for curve in view.curves
    ]
    names += [Text(f"{line_name(view, line)}\n{_direction_beside_name(line)}", "dim") for line in lines]
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    rows = [
        [view.axes.names.get(x) or _number_text(x), *(_value_cell(curve, x, view) for curve in curves)]
        for x in _table_x_values(view, MOST_ROWS)
    ]
    heads = [Text(view.axes.x_label), *names]
    widest = [
        max(cell_len(text) for text in (*str(head).split(), *column))
        for head, column in zip(heads, zip(*rows, strict=True) if rows else ((),) * len(heads), strict=True)
    ]
    if len(curves) * COLUMN <= width and sum(least + GAP for least in widest) - GAP <= width:
        spare = width - sum(least + GAP for least in widest) + GAP
        for head, least in zip(heads, widest, strict=True):
            grid.add_column(shown := _wrapped_heading(head, least + spare), justify="right")
            spare -= max(0, max(map(cell_len, str(shown).splitlines())) - least)
        for row in rows:
            grid.add_row(*row)
        return grid
    places = _table_x_values(view, max(2, (width - WIDEST_NAME) // COLUMN))
    grid.add_column(f"at {view.axes.x_label} =")
    for x in places:
        grid.add_column(view.axes.names.get(x) or _number_text(x), justify="right")
    for name, curve in zip(names, curves, strict=True):
        grid.add_row(Text(", ").join(name.split()), *(_value_cell(curve, x, view) for x in places))
    return grid


def _wrapped_heading(head: Text, room: int) -> Text:
    """Break the heading of a column between words, into lines of at most `room` cells.

    If a heading were too wide, rich would break the numbers in the columns.
    """
    lines = (line for part in str(head).splitlines() for line in textwrap.wrap(part, room))
    return Text("\n".join(lines), head.style)


def _direction_beside_name(line: LineView) -> str:
    """Return the direction of a theory line, such as "lower bound", without words of its name."""
    words = DIRECTIONS.get(line.direction, line.direction)
    if line.direction == "shape" and "shape" in line.called:
        return words.removeprefix("shape only, ")
    return words.removesuffix(" bound") if "bound" in line.called else words


def _table_x_values(view: View, most_places: int) -> list[float]:
    """Return at most `most_places` x values for a table, including the last.

    If x is a measured quantity, they are round numbers.
    """
    if any(curve.places.is_passed for curve in view.curves):
        axes = plot(Look(view)).axes
        return [x for x, _ in x_ticks(axes, most_places)]
    parts = [*(curve.x for curve in view.curves), *(line.x for line in view.lines)]
    all_x = np.unique(np.concatenate(parts or [np.empty(0)]))
    if len(all_x) > most_places:
        all_x = all_x[np.linspace(0, len(all_x) - 1, most_places).round().astype(int)]
    return [float(x) for x in all_x]


def _value_cell(curve: CurveView | LineView, x: float, view: View) -> str:
    """Return the value at x with its standard error, as text. A negligible value is shown as 0."""
    place = index_at(curve, x)
    if place is None or np.isnan(curve.y[place]):
        return NOTHING
    y = float(curve.y[place])
    stderr = curve.stderr if isinstance(curve, CurveView) else None
    if np.isinf(y):
        reading = view.picture.reading
        return "never" if y > 0 and reading is not None and reading.is_place else NOTHING
    if abs(y) <= negligible(view):
        return "0"
    error = (
        "" if stderr is None or not np.isfinite(stderr[place]) else f" ± {number(float(stderr[place]), 1)}"
    )
    return f"{_number_text(y)}{error}"


def _number_text(value: float) -> str:
    return f"{value:g}" if value == int(value) and abs(value) < 1e12 else f"{value:.4g}"


def printed_heat_map(heat: HeatMap, width: int, height: int, colours: ColourMap | None) -> str:
    """Return a heat map as `height` lines of `width` cells. Without colours, digits show the values."""
    cells = compose(heat, width, height, colours).cells
    rgb = {BLACK: (0, 0, 0), WHITE: (255, 255, 255)}
    if colours is not None:
        rgb |= {ink: (red, green, blue) for ink, (red, green, blue) in enumerate(colours.tints.tolist())}
    lines = []
    for glyphs, inks in zip(cells.glyphs, cells.fore.astype(np.int32) * INKS + cells.back, strict=True):
        line = ""
        for text, ink in runs(glyphs, inks):
            codes = _colour_codes(rgb, *divmod(ink, INKS))
            line += f"\x1b[{codes}m{text}{_RESET}" if codes else text
        lines.append(line.rstrip(" "))
    return "\n".join(lines)


def _colour_codes(rgb: dict[int, tuple[int, int, int]], fore: int, back: int) -> str:
    """Return the terminal's control codes for a text colour and a background colour.

    There is no code for a text colour that is not in `rgb`, and none for the background GROUND. The terminal
    then uses its default colours.
    """
    parts = [(38, fore)] if fore in rgb else []
    parts += [(48, back)] if back != GROUND else []
    return ";".join(f"{kind};2;{';'.join(map(str, rgb[ink]))}" for kind, ink in parts)
