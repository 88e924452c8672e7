"""Composes charts in characters from frame, picture and legend, for the screen and for standard output."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.drawing.coincidence import alike, coincident, repeated
from hadamard_tui.charts.drawing.frame import Frame, FrameLayout, Layer, arrange, draw, frame, uncoloured
from hadamard_tui.charts.drawing.legend import Piece, legend
from hadamard_tui.charts.drawing.marks import edge_marks
from hadamard_tui.charts.drawing.raster import DOTS_ACROSS, DOTS_DOWN, Raster, paint_series
from hadamard_tui.charts.drawing.spans import lay, left_out, remark
from hadamard_tui.charts.series import BOUND_STYLE
from hadamard_tui.colours.contrast import faded, legible, triplet

if TYPE_CHECKING:
    from hadamard_tui.charts.drawing.spans import Spans
    from hadamard_tui.charts.series import Axes, LineStyle, Series


# Minimum height of a chart with a legend. The legend has two lines, or one line per 12 rows, whichever is
# more.
_LEGEND_FROM, _ROWS_PER_LEGEND_LINE = 8, 12
# If names would be hidden, the legend may grow to one line per 3 rows, if 11 rows remain for the chart.
_LEAST_ROWS_PER_LEGEND_LINE, _LEAST_CHART = 3, 11


class ChartSheet(NamedTuple):
    """A chart in characters: its frame, picture and legend.

    The legend takes the last `legend_lines` lines.
    """

    surround: Frame
    picture: Raster
    names: tuple[tuple[Piece, ...], ...]
    legend_lines: int


def compose(
    series: Sequence[Series],
    axes: Axes,
    width: int,
    height: int,
    note: str = "",
    playhead: float | None = None,
    legend_lines: int = 1,
    most_legend_lines: int | None = None,
    legend_margin: int = 0,
) -> ChartSheet:
    """Lay out a chart in width × height characters.

    The legend depends on the picture, and the height of the picture depends on the number of legend lines. So
    if the legend needs more or fewer lines than assumed, the picture is painted again.

    Args:
        legend_lines: the number of legend lines that is tried first.
        most_legend_lines: the maximum number of legend lines, for charts beside a table that also names the
            curves. By default, the legend takes as many lines as it needs and the chart allows.
        legend_margin: the number of blank columns at the right end of the legend.
    """
    tried: set[int] = set()
    while True:
        tried.add(legend_lines)
        surround = frame(axes, width, height - legend_lines)
        picture = paint_series(series, axes, surround.columns, surround.rows, playhead)
        names = _chart_legend(series, axes, picture, width - legend_margin, height, note, most_legend_lines)
        needed = len(names)
        if needed == legend_lines or (needed in tried and legend_lines == max(tried)):
            return ChartSheet(surround, picture, names, legend_lines)
        legend_lines = max(tried) if needed in tried else needed


def _chart_legend(
    series: Sequence[Series],
    axes: Axes,
    picture: Raster,
    width: int,
    height: int,
    note: str,
    most_lines: int | None,
) -> tuple[tuple[Piece, ...], ...]:
    lines = max(2, height // _ROWS_PER_LEGEND_LINE) if height >= _LEGEND_FROM else 0
    line_limit = min(height // _LEAST_ROWS_PER_LEGEND_LINE, max(lines, height - _LEAST_CHART))
    if most_lines is not None:
        lines, line_limit = min(lines, most_lines), min(line_limit, most_lines)
    return legend(
        series,
        width,
        lines,
        " · ".join(filter(None, (note, picture.remark))),
        line_limit,
        picture.groups,
        picture.named,
        left_out=picture.left_out,
        y_log=axes.y_log,
    )


_MARKERS = "ox+*#%@&$=~^"
_SPARSE_MARKER = "·"
# Distance in columns between the characters of a line in each style. Most of these characters are dots, some
# are the marker of the curve.
_SPARSE: dict[LineStyle, int] = {"dashed": 2, "dotted": 4, "dash-dot": 3, "sparse": 6, "long": 5, "pairs": 8}
_OWN_MARKER_EVERY = 16
_GAP_EVERY = 8  # columns from gap to gap in a curve with a letter in `BOUND_STYLE`
_LEGEND_LINES = 6
_TURN = 2  # curves that coincide alternate after so many columns
_SHADE = 4, 2  # distances in columns and rows between the cells that show a region


def printed(
    series: Sequence[Series], axes: Axes, width: int, height: int, colour: bool, note: str = ""
) -> str:
    """Return a chart with its legend, `height` lines of `width` cells in all, without error bars.

    Every curve is drawn with a different character, so that curves differ without colour. A curve with a
    letter is drawn with this letter. Where curves coincide, their characters alternate along the line.
    """
    markers = _series_markers(series)
    lines, _, hidden = lay(series, axes, width * DOTS_ACROSS, height * DOTS_DOWN)
    groups = coincident(series, lines)
    legend_rows = legend(
        series,
        width,
        min(_LEGEND_LINES, height // 4),
        " · ".join(filter(None, (note, remark(series, axes, hidden)))),
        height // 3,
        alike(series, axes, groups),
        marks=markers,
        left_out=left_out(series, lines.shown),
        y_log=axes.y_log,
    )
    layout = arrange(axes, width, height - len(legend_rows), (1, 1))
    layers = _plotext_layers(series, markers, axes, layout, groups) if layout.boxed else []
    chart = draw(layout, layers)
    text = "\n".join([chart, *(_legend_line(legend_row, series) for legend_row in legend_rows)])
    return text if colour else uncoloured(text)


def _plotext_layers(
    series: Sequence[Series],
    markers: Sequence[str],
    axes: Axes,
    layout: FrameLayout,
    groups: Sequence[tuple[int, ...]],
) -> list[Layer]:
    """Return the cells that plotext draws: regions, curves, and arrows where curves leave the chart."""
    lines, bands, _ = lay(series, axes, layout.columns, layout.rows)
    seen = lines.shown & ~repeated(series, lines, groups)
    for group in groups:
        turn = np.arange(layout.columns) // _TURN % len(group)
        for place, index in enumerate(group):
            seen[index] &= (turn == place) | ~lines.shown[list(group)].all(0)
    regions = [
        _region_layer(curve, index, bands, layout.rows)
        for index, curve in enumerate(series)
        if curve.is_region
    ]
    curves = [
        _curve_layer(curve, markers[at], lines.top[at], lines.bottom[at], seen[at], layout.rows)
        for at, curve in enumerate(series)
    ]
    edges = [
        Layer([column, column + 1], [layout.rows - 1 - row] * 2, list(text), triplet(series[at].colour))
        for at, row, column, text in edge_marks(series, axes, (layout.rows, layout.columns))
    ]
    return [*regions, *curves, *edges]


def _region_layer(region: Series, index: int, bands: Spans, rows: int) -> Layer:
    inside = [
        (column, rows - 1 - row)
        for column in np.flatnonzero(bands.shown[index]).tolist()
        if column % _SHADE[0] == 0
        for row in range(bands.top[index, column], bands.bottom[index, column] + 1)
        if row % _SHADE[1] == column // _SHADE[0] % _SHADE[1]
    ]
    columns, places = [column for column, _ in inside], [row for _, row in inside]
    return Layer(columns, places, [_SPARSE_MARKER] * len(inside), triplet(faded(region.colour)))


def _series_markers(series: Sequence[Series]) -> list[str]:
    """Return a character for each series: its letter, or else, if possible, an unused character."""
    used_markers = {curve.mark for curve in series}
    free = cycle([marker for marker in _MARKERS if marker not in used_markers] or _MARKERS)
    marker_by_index = {
        index: next(free)
        for index in sorted(range(len(series)), key=lambda at: not series[at].name)
        if not series[index].mark
    }
    return [curve.mark or marker_by_index[index] for index, curve in enumerate(series)]


def _curve_layer(
    curve: Series, marker: str, top: np.ndarray, bottom: np.ndarray, seen: np.ndarray, rows: int
) -> Layer:
    shown, period = np.flatnonzero(seen), _SPARSE.get(curve.style, 1)
    if curve.mark and curve.style == BOUND_STYLE:
        shown, period = shown[shown % _GAP_EVERY > 0], 1
    cells: list[tuple[int, int, str]] = []
    for column in shown.tolist():
        is_marked = period == 1 or column % _OWN_MARKER_EVERY == 0 or column == shown[-1]
        if is_marked or column % period == 0:
            run = range(top[column], bottom[column] + 1)
            if curve.style == "points":  # only both ends, because no line joins points
                run = run[:: max(len(run) - 1, 1)]
            cells += [(column, rows - 1 - row, marker if is_marked else _SPARSE_MARKER) for row in run]
    return Layer(
        [cell[0] for cell in cells],
        [cell[1] for cell in cells],
        [cell[2] for cell in cells],
        triplet(curve.colour),
    )


def _legend_line(pieces: Sequence[Piece], series: Sequence[Series]) -> str:
    line, reached = "", 0
    for piece in pieces:
        line += " " * (piece.column - reached) + _coloured_text(piece, series)
        reached = piece.column + cell_len(piece.text)
    return line


def _coloured_text(piece: Piece, series: Sequence[Series]) -> str:
    if piece.index < 0:
        return piece.text
    red, green, blue = triplet(legible(series[piece.index].colour))
    return f"\x1b[38;2;{red};{green};{blue}m{piece.text}\x1b[0m"
