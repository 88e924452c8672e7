"""The headless chart: text for standard output, drawn by plotext as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.colour import triplet
from hadamard_tui.charts.frame import Layer, arrange, draw, uncoloured
from hadamard_tui.charts.layers import lay
from hadamard_tui.charts.legend import Piece, hidden_note, legend
from hadamard_tui.charts.series import Axes, LineStyle, Series
from hadamard_tui.charts.spans import Spans

_MARKERS = "ox+*#%@&$=~^"
_SPARSE_MARKER = "·"
# In these styles only one column in so many shows, mostly as a dot, at times as the curve's own marker.
_SPARSE: dict[LineStyle, int] = {"dashed": 2, "dotted": 4, "dash-dot": 3, "sparse": 6, "long": 5, "pairs": 8}
_OWN_MARKER_EVERY = 16
_LEGEND_LINES = 6


def printed(series: Sequence[Series], axes: Axes, width: int, height: int, colour: bool) -> str:
    """A chart of `height` lines of `width` cells, the legend at its foot; without bands.

    Every curve has its own marker (its `mark` where it has one) and so reads without colour. Curves are
    thinned to the columns of the chart before plotext sees them, which also keeps NaN and ±inf from it.
    """
    series = _marked(series)
    hidden = lay(series, axes, 1, 1)[2]
    names = legend(series, width, min(_LEGEND_LINES, height // 4), hidden_note(hidden))
    layout = arrange(axes, width, height - len(names), (1, 1))
    lines = lay(series, axes, layout.columns, layout.rows)[0] if layout.boxed else None
    layers = [_layer(one, index, lines, layout.rows) for index, one in enumerate(series)] if lines else []
    chart = draw(layout, layers)
    text = "\n".join([chart, *(_line(pieces, series) for pieces in names)])
    return text if colour else uncoloured(text)


def _marked(series: Sequence[Series]) -> list[Series]:
    """The series with a marker each."""
    taken = {one.mark for one in series}
    free = [marker for marker in _MARKERS if marker not in taken]
    return [
        one
        if one.mark
        else replace(one, mark=free[index % len(free)] if free else _MARKERS[index % len(_MARKERS)])
        for index, one in enumerate(series)
    ]


def _layer(one: Series, index: int, lines: Spans, rows: int) -> Layer:
    """Every cell of one curve, from the runs of its columns."""
    every = _SPARSE.get(one.style, 1)
    marker = one.mark or _MARKERS[0]
    shown = np.flatnonzero(lines.shown[index])
    cells: list[tuple[int, int, str]] = []
    for column in shown.tolist():
        own = every == 1 or column % _OWN_MARKER_EVERY == 0 or column == shown[-1]
        if own or column % every == 0:
            run = range(lines.top[index, column], lines.bottom[index, column] + 1)
            cells += [(column, rows - 1 - row, marker if own else _SPARSE_MARKER) for row in run]
    return Layer(
        [cell[0] for cell in cells],
        [cell[1] for cell in cells],
        [cell[2] for cell in cells],
        triplet(one.colour),
    )


def _line(pieces: Sequence[Piece], series: Sequence[Series]) -> str:
    line, reached = "", 0
    for piece in pieces:
        line += " " * (piece.column - reached) + _painted(piece, series)
        reached = piece.column + cell_len(piece.text)
    return line


def _painted(piece: Piece, series: Sequence[Series]) -> str:
    if piece.index < 0:
        return piece.text
    red, green, blue = triplet(series[piece.index].colour)
    return f"\x1b[38;2;{red};{green};{blue}m{piece.text}\x1b[0m"
