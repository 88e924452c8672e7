"""Plot area of a heat map: two cells per character, or a digit if there is no colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hadamard_tui.charts.colour_map import STEPS, ColourMap
from hadamard_tui.charts.grid import cells_at
from hadamard_tui.charts.polylines import line_dots
from hadamard_tui.charts.raster import BRAILLE, DOTS_ACROSS, DOTS_DOWN, braille
from hadamard_tui.charts.scale import Scale

if TYPE_CHECKING:
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.value_scale import ValueScale

# Inks: the colours of the map are 0 … STEPS − 1, and the greys of unlit rows follow them.
TINTS = 2 * STEPS
GROUND, FRAME, TITLE, NOTE, BLACK, WHITE = range(TINTS, TINTS + 6)
INKS = TINTS + 6

HALVES = 2
"""Cells of the picture above each other in a character."""

DIGITS = 10
MISSING = ord("·")
CURSOR = "╋"
LINE_MARKS = "#x%=&@"
"""Characters of contour lines without colour, one per line."""

_BLANK, _UPPER, _LOWER = ord(" "), ord("▀"), ord("▄")


class Inked(msgspec.Struct, frozen=True):
    """Characters with the inks before and behind them, all of shape [rows, columns]."""

    glyphs: np.ndarray  # uint32, code points
    fore: np.ndarray  # int16
    back: np.ndarray  # int16

    @classmethod
    def blank(cls, rows: int, columns: int) -> Inked:
        shape = rows, columns
        return cls(
            np.full(shape, _BLANK, dtype=np.uint32),
            np.full(shape, FRAME, dtype=np.int16),
            np.full(shape, GROUND, dtype=np.int16),
        )


def paint(
    heat: HeatMap,
    scale: ValueScale,
    columns: int,
    rows: int,
    colours: ColourMap | None,
    cursor: tuple[int, int] | None = None,
) -> Inked:
    """Paint cells, then contour lines, points and the cursor over them.

    Args:
        colours: none for digits, that is tenths of the scale.
        cursor: the positions of a cell among x and y.
    """
    painted = Inked.blank(rows, columns)
    if not rows or not columns:
        return painted
    across, up = _scales(heat, columns, rows)
    behind = (_digits if colours is None else _blocks)(heat, scale, painted, across, up)
    upon = np.full(INKS, TITLE, dtype=np.int16)
    if colours is not None:
        upon[:TINTS] = np.where(colours.light, BLACK, WHITE)

    def over(where: tuple[np.ndarray, ...] | tuple[int, int], glyphs: np.ndarray | int) -> None:
        painted.glyphs[where] = glyphs
        painted.back[where] = behind[where]
        painted.fore[where] = upon[behind[where]]

    for dots, mark in _lines(heat, across, up, colours is None):
        bits = braille(dots)
        on = np.nonzero(bits)
        over(on, ord(mark) if mark else bits[on].astype(np.uint32) + BRAILLE)
    marked = [(point.x, point.y, point.mark) for point in heat.points]
    if cursor is not None:
        marked.append((float(heat.x[cursor[0]]), float(heat.y[cursor[1]]), CURSOR))
    for x, y, mark in marked:
        column, slot = across.slot(x), up.slot(y)
        if column is not None and slot is not None:
            from_top = slot if heat.y_down else up.size - 1 - slot
            over((from_top // HALVES, column), ord(mark))
    return painted


def cell_under(heat: HeatMap, columns: int, rows: int, column: int, row: int) -> tuple[int, int]:
    """Return the cell at the centre of a character, as positions in x and y; outside, the nearest cell."""
    across, up = _scales(heat, columns, rows)
    column, row = min(max(column, 0), columns - 1), min(max(row, 0), rows - 1)
    ix = cells_at(np.array([column]), across, heat.x)
    iy = cells_at(_centres(heat, rows)[[row]], up, heat.y)
    return int(ix[0]), int(iy[0])


def column_of(heat: HeatMap, x: float, columns: int) -> int | None:
    """Return the column of the area that holds x; None outside it."""
    return Scale(heat.axes.x_limits, heat.x_log, columns).slot(x)


def _scales(heat: HeatMap, columns: int, rows: int) -> tuple[Scale, Scale]:
    axes = heat.axes
    return Scale(axes.x_limits, axes.x_log, columns), Scale(axes.y_limits, axes.y_log, rows * HALVES)


def _slots(heat: HeatMap, size: int) -> np.ndarray:
    """The slots of the y axis from the top."""
    return np.arange(size) if heat.y_down else np.arange(size)[::-1]


def _centres(heat: HeatMap, rows: int) -> np.ndarray:
    """The slots of the y axis at the centres of the characters, from the top."""
    firsts = _slots(heat, rows) * HALVES
    return firsts + (HALVES - 1) / 2


def _blocks(heat: HeatMap, scale: ValueScale, painted: Inked, across: Scale, up: Scale) -> np.ndarray:
    """Paint half blocks; returns the ink behind what is drawn over them: the mean of the halves."""
    ix = cells_at(np.arange(across.size), across, heat.x)
    iy = cells_at(_slots(heat, up.size), up, heat.y)
    steps = scale.steps(heat.z[np.ix_(iy, ix)], STEPS)
    if heat.unlit is not None:
        steps = np.where(heat.unlit[iy, None] & (steps >= 0), steps + STEPS, steps).astype(np.int16)
    upper, lower = steps[::2], steps[1::2]
    above, below = upper >= 0, lower >= 0
    painted.glyphs[:] = np.where(above, _UPPER, np.where(below, _LOWER, MISSING))
    painted.fore[:] = np.where(above, upper, np.where(below, lower, FRAME))
    painted.back[:] = np.where(above & below, lower, GROUND)
    alike = above & below & (upper // STEPS == lower // STEPS)
    return np.where(alike, (upper + lower) // 2, np.where(above | below, np.maximum(upper, lower), GROUND))


def _digits(heat: HeatMap, scale: ValueScale, painted: Inked, across: Scale, up: Scale) -> np.ndarray:
    """Paint digits; returns the ground, which is behind everything."""
    ix = cells_at(np.arange(across.size), across, heat.x)
    iy = cells_at(_centres(heat, up.size // HALVES), up, heat.y)
    steps = scale.steps(heat.z[np.ix_(iy, ix)], DIGITS)
    shown = steps >= 0 if heat.unlit is None else (steps >= 0) & ~heat.unlit[iy, None]
    painted.glyphs[:] = np.where(shown, steps + ord("0"), MISSING)
    return painted.back


def _lines(heat: HeatMap, across: Scale, up: Scale, plain: bool) -> list[tuple[np.ndarray, str]]:
    """The dots of the contour lines with the character that they are drawn with; none for braille.

    In braille all are one plane, so that where two cross both are seen.
    """
    wide, high = across.size * DOTS_ACROSS, up.size // HALVES * DOTS_DOWN
    planes = []
    for number, contour in enumerate(heat.contours):
        right = (across.place(contour.path[:, 0]) + 0.5) * DOTS_ACROSS - 0.5
        height = up.place(contour.path[:, 1])
        from_top = height if heat.y_down else up.size - 1 - height
        down = (from_top + 0.5) * (DOTS_DOWN // HALVES) - 0.5
        dots = line_dots(right, down, "solid" if plain else contour.style, wide, high)
        if not plain:  # two dots thick: on colours one is hard to see
            dots[1:] |= dots[:-1]
            dots[:, 1:] |= dots[:, :-1]
        planes.append((dots, LINE_MARKS[number % len(LINE_MARKS)] if plain else ""))
    if plain or not planes:
        return planes
    return [(np.logical_or.reduce([dots for dots, _ in planes]), "")]
