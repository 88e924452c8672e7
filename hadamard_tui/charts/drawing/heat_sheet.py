"""Heat map in characters that show two cells each.

Around the map are the frame, a colour bar, the legend, and a line about one cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.drawing.frame import BORDER, Frame, frame
from hadamard_tui.charts.drawing.legend import SAMPLES, EntryPart, LegendEntry, Piece, whole_remarks, wrapped
from hadamard_tui.charts.drawing.raster import BRAILLE, DOTS_ACROSS, DOTS_DOWN, braille, line_dots, write_text
from hadamard_tui.charts.heat_map import cells_at
from hadamard_tui.charts.scales import Scale, Tick, ticks
from hadamard_tui.colours.palette import STEPS, ColourMap

if TYPE_CHECKING:
    from hadamard_tui.charts.heat_map import HeatMap, ValueScale


# An ink is the number of a colour. Inks 0 … STEPS − 1 are the colours of the map; the greys for grey rows
# follow.
TINTS = 2 * STEPS
GROUND, FRAME, TITLE, NOTE, BLACK, WHITE = range(TINTS, TINTS + 6)
INKS = TINTS + 6

HALVES = 2
"""Number of cells that one character shows, one above the other."""

DIGITS = 10
MISSING = ord("·")
CURSOR = "╋"
LINE_MARKS = "#x%=&@"
"""Characters that draw contour lines without colours. Each line uses one of them."""

_BLANK, _UPPER, _LOWER = ord(" "), ord("▀"), ord("▄")


class Inked(msgspec.Struct, frozen=True):
    """Characters with their foreground and background inks (colour numbers), all of shape [rows, columns]."""

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


def paint_cells(
    heat: HeatMap,
    scale: ValueScale,
    columns: int,
    rows: int,
    colours: ColourMap | None,
    cursor: tuple[int, int] | None = None,
) -> Inked:
    """Paint the cells of a heat map, and over them contour lines, points and the cursor.

    Args:
        colours: the colour map; None to paint digits, which count tenths of the scale.
        cursor: column index and row index of the cell under the cursor.
    """
    painted = Inked.blank(rows, columns)
    if not rows or not columns:
        return painted
    across, up = _axis_scales(heat, columns, rows)
    behind = (_paint_digits if colours is None else _paint_half_blocks)(heat, scale, painted, across, up)
    upon = np.full(INKS, TITLE, dtype=np.int16)
    if colours is not None:
        upon[:TINTS] = np.where(colours.light, BLACK, WHITE)

    def over(where: tuple[np.ndarray, ...] | tuple[int, int], glyphs: np.ndarray | int) -> None:
        painted.glyphs[where] = glyphs
        painted.back[where] = behind[where]
        painted.fore[where] = upon[behind[where]]

    for dots, mark in _contour_lines(heat, across, up, colours is None):
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
    """Return the column index and the row index of the map's cell that is nearest to a character's centre."""
    across, up = _axis_scales(heat, columns, rows)
    column, row = min(max(column, 0), columns - 1), min(max(row, 0), rows - 1)
    ix = cells_at(np.array([column]), across, heat.x)
    iy = cells_at(_character_centres(heat, rows)[[row]], up, heat.y)
    return int(ix[0]), int(iy[0])


def column_of(heat: HeatMap, x: float, columns: int) -> int | None:
    return Scale(heat.axes.x_limits, heat.x_log, columns).slot(x)


def _axis_scales(heat: HeatMap, columns: int, rows: int) -> tuple[Scale, Scale]:
    axes = heat.axes
    return Scale(axes.x_limits, axes.x_log, columns), Scale(axes.y_limits, axes.y_log, rows * HALVES)


def _slots_from_top(heat: HeatMap, size: int) -> np.ndarray:
    """Return the indices of `size` equal parts of the y-axis, in the order from top to bottom.

    Part 0 has the least y.
    """
    return np.arange(size) if heat.y_down else np.arange(size)[::-1]


def _character_centres(heat: HeatMap, rows: int) -> np.ndarray:
    """Return the positions of characters' centres on the y-axis, in half characters, from top to bottom."""
    firsts = _slots_from_top(heat, rows) * HALVES
    return firsts + (HALVES - 1) / 2


def _paint_half_blocks(
    heat: HeatMap, scale: ValueScale, painted: Inked, across: Scale, up: Scale
) -> np.ndarray:
    """Paint the values of a heat map as half blocks, and return the background ink for marks on them.

    A character shows two values, each in half of the character. If both have colours or both have greys, the
    background ink is the mean of the two ink numbers. Otherwise, it is the larger ink number.
    """
    ix = cells_at(np.arange(across.size), across, heat.x)
    iy = cells_at(_slots_from_top(heat, up.size), up, heat.y)
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


def _paint_digits(heat: HeatMap, scale: ValueScale, painted: Inked, across: Scale, up: Scale) -> np.ndarray:
    ix = cells_at(np.arange(across.size), across, heat.x)
    iy = cells_at(_character_centres(heat, up.size // HALVES), up, heat.y)
    steps = scale.steps(heat.z[np.ix_(iy, ix)], DIGITS)
    shown = steps >= 0 if heat.unlit is None else (steps >= 0) & ~heat.unlit[iy, None]
    painted.glyphs[:] = np.where(shown, steps + ord("0"), MISSING)
    return painted.back


def _contour_lines(heat: HeatMap, across: Scale, up: Scale, plain: bool) -> list[tuple[np.ndarray, str]]:
    """Return the contour lines to paint: pairs of a line's dots and the character that draws them.

    An empty character means braille. All lines in braille share one pair, so that crossing lines are both
    visible.
    """
    wide, high = across.size * DOTS_ACROSS, up.size // HALVES * DOTS_DOWN
    planes = []
    for number, contour in enumerate(heat.contours):
        right = (across.place(contour.path[:, 0]) + 0.5) * DOTS_ACROSS - 0.5
        height = up.place(contour.path[:, 1])
        from_top = height if heat.y_down else up.size - 1 - height
        down = (from_top + 0.5) * (DOTS_DOWN // HALVES) - 0.5
        dots = line_dots(right, down, "solid" if plain else contour.style, wide, high)
        if not plain:  # two dots thick, because one is hard to see on colours
            dots[1:] |= dots[:-1]
            dots[:, 1:] |= dots[:, :-1]
        planes.append((dots, LINE_MARKS[number % len(LINE_MARKS)] if plain else ""))
    if plain or not planes:
        return planes
    return [(np.logical_or.reduce([dots for dots, _ in planes]), "")]


# Minimum sizes of the sheet in cells at which each part is drawn.
_BAR_WIDTH, _BAR_HEIGHT, _LEGEND_HEIGHT, _TOP_LABEL_HEIGHT = 44, 9, 8, 14
_ROWS_PER_LEGEND_LINE, _LEAST_ROWS_PER_LEGEND_LINE = 12, 4
_DOTS = (1, HALVES)
_TRIES = 2


_ROWS_PER_TICK, _MOST_TICKS = 3, 9
_THICK = 2
_UPPER_HALF, _FULL = ord("▀"), ord("█")


class HeatSheet(msgspec.Struct, frozen=True):
    """Characters of a heat map with everything around it, and the position of its plot area.

    `shown` is the visible part of the map. `first` holds the column index and row index of its first cell.
    """

    cells: Inked
    shown: HeatMap
    first: tuple[int, int]
    left: int
    top: int
    columns: int
    rows: int


def compose(
    heat: HeatMap,
    width: int,
    height: int,
    colours: ColourMap | None,
    cursor: tuple[int, int] | None = None,
    foot: str | None = None,
    place: tuple[float, float] | None = None,
) -> HeatSheet:
    """Lay out a heat map in width × height characters.

    Args:
        colours: the colour map; None to draw digits.
        cursor: column index and row index of the cell under the cursor.
        foot: the text of the last line, which may be empty; None to leave out this line.
        place: the centre (x, y) of the visible part, if not all cells fit; by default, the focus of the map.
    """
    scale = heat.scale
    plain = colours is None
    cells = Inked.blank(height, width)
    spoken = int(foot is not None and height >= _LEGEND_HEIGHT)
    barred = height >= _BAR_HEIGHT
    beside = barred and width >= _BAR_WIDTH
    framed = width - upright(scale, height, plain).glyphs.shape[1] if beside else width
    below = spoken + (barred and not beside)
    on_top = (
        not plain
        and beside
        and height >= _TOP_LABEL_HEIGHT
        and 0 < cell_len(heat.z_label) <= upright(scale, height, plain).glyphs.shape[1]
    )
    legend_rows = _heat_map_legend(heat, scale, width, height, plain, on_top)

    tall = height - below - len(legend_rows)
    if beside:  # the height of the colour bar determines which numbers it shows, and so its width
        bar = upright(scale, frame(heat.axes, width, tall, _DOTS).rows, plain)
        framed = width - bar.glyphs.shape[1]
    all_cells, surround = heat, frame(heat.axes, framed, tall, _DOTS)
    across, up = slice(0), slice(0)
    for _ in range(_TRIES):  # the axis of the visible part may have wider numbers, which leave less space
        if all_cells.focus is None:
            break
        across, up = all_cells.around(place or all_cells.focus, surround.columns, surround.rows * HALVES)
        heat = all_cells.part(across, up)
        surround = frame(heat.axes, framed, tall, _DOTS)
    first = across.start or 0, up.start or 0
    inside = None if cursor is None else _cell_inside(heat, (cursor[0] - first[0], cursor[1] - first[1]))
    _put_frame(cells, surround)
    _put_columns(cells, heat, surround)
    area = surround.top, surround.left
    _put_part(cells, paint_cells(heat, scale, surround.columns, surround.rows, colours, inside), *area)
    if beside:
        _put_part(cells, bar, surround.top, framed)
        if on_top:
            _write_text(cells, 0, width - cell_len(heat.z_label), heat.z_label, FRAME)
    elif barred:
        _put_part(cells, flat(scale, width, plain), tall, 0)
    for row, legend_row in enumerate(legend_rows, start=height - spoken - len(legend_rows)):
        for piece in legend_row:
            _write_text(cells, row, piece.column, piece.text, NOTE if piece.index < 0 else FRAME)
    if spoken:
        parts = (in_sight(heat), foot) if cursor is None else (foot, in_sight(heat))
        words = " · ".join(filter(None, parts))
        _write_text(cells, height - 1, 0, whole_remarks(words, width), FRAME if cursor is None else TITLE)
    return HeatSheet(cells, heat, first, surround.left, surround.top, surround.columns, surround.rows)


def _heat_map_legend(
    heat: HeatMap, scale: ValueScale, width: int, height: int, plain: bool, on_top: bool
) -> tuple[tuple[Piece, ...], ...]:
    entries = []
    if plain:
        entries.append(cell_in_words(scale, heat.z_label))
    elif heat.z_label and not on_top:
        entries.append(f"colour: {heat.z_label}")
    if np.isnan(heat.z).any():
        entries.append(f"··· {heat.missing}")
    if heat.unlit is not None and heat.unlit.any():
        entries.append(f"{'···' if plain else 'grey:'} {heat.unlit_words}")
    entries += [f"{column.MARK} {column.name}" for column in heat.columns]
    for number, contour in enumerate(heat.contours):
        if contour.name:
            sample = LINE_MARKS[number % len(LINE_MARKS)] if plain else SAMPLES[contour.style]
            entries.append(f"{sample} {contour.name}")
    entries += [f"{point.mark} {point.name}" for point in heat.points if point.name]
    if height < _LEGEND_HEIGHT or not (entries or scale.hidden):
        return ()
    lines = max(2, height // _ROWS_PER_LEGEND_LINE)
    listed = tuple(LegendEntry((EntryPart(entry, place),)) for place, entry in enumerate(entries))
    return wrapped(listed, width, lines, max(lines, height // _LEAST_ROWS_PER_LEGEND_LINE), scale.hidden)


def _put_frame(cells: Inked, surround: Frame) -> None:
    for row, line in enumerate(surround.lines):
        _write_text(cells, row, 0, line, FRAME)
    title = surround.title
    if title:
        cells.fore[0, title.start : title.stop] = TITLE


def _cell_inside(heat: HeatMap, cell: tuple[int, int]) -> tuple[int, int] | None:
    return cell if 0 <= cell[0] < len(heat.x) and 0 <= cell[1] < len(heat.y) else None


def in_sight(heat: HeatMap) -> str:
    if heat.full_size is None or heat.full_size == (len(heat.x), len(heat.y)):
        return ""
    axes = (heat.x_label, heat.x, heat.full_size[0]), (heat.y_label, heat.y, heat.full_size[1])
    parts = [
        f"{axis_label} {places[0]:g} to {places[-1]:g} of {count}"
        for axis_label, places, count in axes
        if len(places) < count
    ]
    return f"in sight: {', '.join(parts)}"


def _put_columns(cells: Inked, heat: HeatMap, surround: Frame) -> None:
    for marked in heat.columns:
        column = column_of(heat, marked.x, surround.columns)
        if column is None or surround.top == 0:
            continue
        for row, mark in ((surround.top - 1, marked.MARK), (surround.top + surround.rows, marked.FOOT)):
            if cells.glyphs[row, surround.left + column] == ord(
                BORDER
            ):  # texts on the border are not covered by a mark
                _write_text(cells, row, surround.left + column, mark, TITLE)


def _put_part(cells: Inked, part: Inked, row: int, column: int) -> None:
    rows, columns = part.glyphs.shape
    area = np.s_[row : row + rows, column : column + columns]
    height, width = cells.glyphs[area].shape
    for sheet_plane, part_plane in (
        (cells.glyphs, part.glyphs),
        (cells.fore, part.fore),
        (cells.back, part.back),
    ):
        sheet_plane[area] = part_plane[:height, :width]


def _write_text(cells: Inked, row: int, column: int, text: str, ink: int) -> None:
    if (span := write_text(cells.glyphs, row, column, text)) is not None:
        cells.fore[row, span] = ink


def upright(scale: ValueScale, rows: int, plain: bool) -> Inked:
    """Return a vertical colour bar of `rows` rows, with high values at the top and numbers at the right."""
    marked = bar_ticks(scale, rows)
    bar = Inked.blank(rows, 1 + _THICK + 1 + max((cell_len(label) for _, label in marked), default=0))
    colours = slice(1, 1 + _THICK)
    if plain:
        steps = (np.arange(rows)[::-1] + 0.5) / max(rows, 1) * DIGITS
        bar.glyphs[:, colours] = (steps.astype(np.uint32) + ord("0"))[:, None]
    else:
        halves = rows * HALVES
        shares = ((np.arange(halves)[::-1] + 0.5) / max(halves, 1) * STEPS).astype(np.int16)
        bar.glyphs[:, colours] = _UPPER_HALF
        bar.fore[:, colours], bar.back[:, colours] = shares[::2, None], shares[1::2, None]
    for value, label in marked:
        row = rows - 1 - min(max(int(scale.share(value) * rows), 0), rows - 1)
        write_text(bar.glyphs, row, 1 + _THICK + 1, label)
    return bar


def flat(scale: ValueScale, width: int, plain: bool) -> Inked:
    """Return a horizontal colour bar between its lowest and its highest number; blank if it does not fit."""
    low, high = (f"{limit:.3g}" for limit in scale.limits)
    bar = Inked.blank(1, width)
    room = width - len(low) - len(high) - 2
    if room < DIGITS:
        return bar
    write_text(bar.glyphs, 0, 0, low)
    write_text(bar.glyphs, 0, width - len(high), high)
    colours = slice(len(low) + 1, len(low) + 1 + room)
    share = (np.arange(room) + 0.5) / room
    if plain:
        bar.glyphs[0, colours] = (share * DIGITS).astype(np.uint32) + ord("0")
    else:
        bar.glyphs[0, colours], bar.fore[0, colours] = _FULL, (share * STEPS).astype(np.int16)
    return bar


def cell_in_words(scale: ValueScale, label: str) -> str:
    low, high = (f"{limit:.3g}" for limit in scale.limits)
    quantity = f"{label} " if label else ""
    return f"digits 0 to 9: {quantity}from {low} to {high}, {'logarithmic' if scale.log else 'linear'}"


def bar_ticks(scale: ValueScale, rows: int) -> tuple[Tick, ...]:
    return ticks(scale.limits, scale.log, min(_MOST_TICKS, max(2, rows // _ROWS_PER_TICK)))
