"""Characters and dots of pictures as arrays: texts, lines, and series in braille.

A braille character has 2 × 4 dots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from rich.cells import cell_len, set_cell_size

from hadamard_tui.charts.drawing.coincidence import alike, coincident, repeated
from hadamard_tui.charts.drawing.marks import (
    EdgeMark,
    MarkAt,
    NameAt,
    curve_marks,
    edge_marks,
    line_names,
    zeros,
)
from hadamard_tui.charts.drawing.spans import lay, left_out, remark
from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import PATTERNS, is_line

if TYPE_CHECKING:
    from hadamard_tui.charts.drawing.spans import Spans
    from hadamard_tui.charts.series import Axes, LineStyle, Series


WIDE = 0
"""Code point that fills the second cell of a wide character."""


def elided(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


@lru_cache(maxsize=1024)
def code_points(text: str) -> np.ndarray:
    """Return the code points of a text, one per cell.

    A wide character is followed by WIDE, and characters without width are left out. Callers must not write to
    the array, because the array is cached for further redraws.
    """
    if text.isascii():
        return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    cells: list[int] = []
    for letter in text:
        if width := cell_len(letter):
            cells += [ord(letter), WIDE][:width]
    return np.array(cells, dtype=np.uint32)


def runs(glyphs: np.ndarray, inks: np.ndarray) -> Sequence[tuple[str, int]]:
    """Divide a row of cells into stretches of one ink (colour number). Return pairs of a text and its ink."""
    text = glyphs.astype("<u4").tobytes().decode("utf-32-le")
    starts = [0, *(np.flatnonzero(np.diff(inks)) + 1).tolist()]
    pieces = zip(starts, [*starts[1:], len(text)], inks[starts].tolist(), strict=True)
    if chr(WIDE) in text:
        return [(text[start:end].replace(chr(WIDE), ""), ink) for start, end, ink in pieces]
    return [(text[start:end], ink) for start, end, ink in pieces]


def write_text(glyphs: np.ndarray, row: int, column: int, text: str) -> slice | None:
    """Write text into a row of `glyphs` [height, width], and return the columns of the text.

    The text is cropped at both ends of the row. If `glyphs` has no such row, return None.
    """
    if not 0 <= row < glyphs.shape[0]:
        return None
    cells = code_points(text)[max(-column, 0) : max(glyphs.shape[1] - column, 0)]
    span = slice(max(column, 0), max(column, 0) + len(cells))
    glyphs[row, span] = cells
    return span


# Number of sample points per dot of a line. With a single point per dot, dots would be missing where samples
# fall on the borders of dots.
_PER_DOT = 2


def line_dots(across: np.ndarray, down: np.ndarray, style: LineStyle, wide: int, high: int) -> np.ndarray:
    """Return the dots of the line through a sequence of points, bool [high, wide].

    Args:
        across, down: coordinates of the points in dots. The centre of the first dot is 0, and rows count from
            the top. NaN interrupts the line.
        style: the dash pattern. Whether a dot is drawn depends on its column or, on steep segments, on its
            row.
    """
    plane = np.zeros((high, wide), dtype=bool)
    start = np.stack([across[:-1], down[:-1]])
    step = np.stack([across[1:], down[1:]]) - start
    begin, end = _visible_fractions(start, step, np.array([[wide], [high]]))
    is_inside = begin <= end  # False for NaN
    start, step, begin, end = start[:, is_inside], step[:, is_inside], begin[is_inside], end[is_inside]
    length = np.abs(step).max(axis=0) * (end - begin)
    counts = np.ceil(_PER_DOT * length).astype(np.int64) + 1
    segment = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(len(segment)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = begin[segment] + (end - begin)[segment] * (turn / np.maximum(counts - 1, 1)[segment])
    column, row = np.floor(start[:, segment] + step[:, segment] * share + 0.5).astype(np.int64)
    steep = (np.abs(step[1]) > np.abs(step[0]))[segment]
    pattern = np.array(PATTERNS.get(style, (True,)))
    on = pattern[np.where(steep, row, column) % len(pattern)]
    on &= (column >= 0) & (column < wide) & (row >= 0) & (row < high)
    plane[row[on], column[on]] = True
    return plane


def _visible_fractions(
    start: np.ndarray, step: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the part of each segment inside the picture begins and ends.

    Begin and end are fractions of the segment's length. The arrays `start` and `step` [2, segments] hold the
    starts of segments and the steps to their ends, in dots. `size` [2, 1] is the size of the picture. This is
    the algorithm of Liang and Barsky 1984.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        to_low, to_high = (-0.5 - start) / step, (size - 0.5 - start) / step
    outside = (start < -0.5) | (start >= size - 0.5)
    still = step == 0
    enter = np.where(still, np.where(outside, np.inf, -np.inf), np.minimum(to_low, to_high))
    leave = np.where(still, np.inf, np.maximum(to_low, to_high))
    return np.maximum(enter.max(axis=0), 0.0), np.minimum(leave.min(axis=0), 1.0)


DOTS_ACROSS, DOTS_DOWN = 2, 4
PLAYHEAD, POINT, ZERO = ord("┊"), ord("•"), ord("▾")
_TURN, _THROUGH = 4, 6  # cells after which series alternate; distance at which covered lines show
_APART = 4  # distance between the dots in a column of a band
BLANK, BRAILLE = ord(" "), 0x2800
# Bit of each dot in Unicode's braille patterns: _BITS[row][column].
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


class Raster(msgspec.Struct, frozen=True):
    """Painted plot area of a chart. All arrays have one entry per cell, [rows, columns]."""

    glyphs: np.ndarray  # uint32, code points
    colours: np.ndarray  # int16, index of the series that colours the cell, −1 for none
    faint: np.ndarray  # bool, whether the cell shows only a band or a faint series
    remark: str  # phrase about curves outside the plot area, and points that are not drawn
    groups: Sequence[tuple[int, ...]]  # indices of series that coincide and have close values
    shared: Sequence[tuple[int, ...]]  # indices of series that alternate along one line
    names: tuple[NameAt, ...]  # names near the ends of lines
    marks: tuple[MarkAt, ...]  # letters of series
    edges: tuple[EdgeMark, ...]  # letters with arrows where series leave the plot area
    left_out: frozenset[int]  # indices of lines outside the plot area

    @property
    def named(self) -> frozenset[int]:
        return frozenset(name_at.at for name_at in self.names)


def paint_series(
    series: Sequence[Series], axes: Axes, columns: int, rows: int, playhead: float | None = None
) -> Raster:
    """Paint all series onto columns × rows cells. Later series cover earlier ones, and lines cover bands.

    Series that coincide on the screen are drawn as one line with alternating colours. If a curve covers a
    theory line, the theory line stays visible at intervals.

    Args:
        playhead: x of a vertical line, in data units, or None; all series cover this line.
    """
    wide, high = columns * DOTS_ACROSS, rows * DOTS_DOWN
    lines, bands, hidden = lay(series, axes, wide, high)
    groups = coincident(series, lines)
    joined = np.array([curve.style != "points" for curve in series], dtype=bool)[:, None]
    on = lines.shown & joined & (_dash_patterns(series, wide) | lines.lone)
    for lead, *followers in groups:
        on[followers] &= ~lines.shown[lead]
    on &= ~repeated(series, lines, groups)

    band_owner = _cell_owners(bands, bands.shown, rows, columns)
    line_owner = _owners_by_turns(_cell_owners(lines, on, rows, columns), groups, lines.shown)
    line_owner = _owners_with_lines(line_owner, _cell_owners(lines, on & _are_lines(series), rows, columns))
    bits = braille(_covered_dots(lines, on, high) | _band_dots(series, bands, high))

    glyphs = np.where(bits > 0, bits.astype(np.uint32) + BRAILLE, BLANK).astype(np.uint32)
    colours = np.where(bits > 0, np.where(line_owner >= 0, line_owner, band_owner), -1).astype(np.int16)
    for index, row, column in _point_cells(series, lines):
        glyphs[row, column], colours[row, column] = POINT, index
        line_owner[row, column] = index
    for index, row, column in zeros(series, axes, rows, columns):
        if line_owner[row, column] < 0:
            glyphs[row, column], colours[row, column] = ZERO, index
            line_owner[row, column] = index
    marks = curve_marks(series, axes, lines, groups, (rows, columns), DOTS_ACROSS, DOTS_DOWN)
    for index, row, column in marks:
        glyphs[row, column], colours[row, column] = ord(series[index].mark or " "), index
        line_owner[row, column] = index
    edges = tuple(edge_marks(series, axes, (rows, columns), marks))
    for index, row, column, text in edges:
        if (span := write_text(glyphs, row, column, text)) is not None:
            colours[row, span] = line_owner[row, span] = index
    close = alike(series, axes, groups)
    names = line_names(series, lines, close, line_owner >= 0, DOTS_ACROSS, DOTS_DOWN)
    for index, row, column, line_name in names:
        span = write_text(glyphs, row, column, line_name)
        assert span is not None, "a name is put inside"
        colours[row, span] = line_owner[row, span] = index

    faint_lines = np.array([*(curve.faint for curve in series), True])  # index −1 (no line) selects the last
    if playhead is not None and (at := Scale(axes.x_limits, axes.x_log, wide).slot(playhead)) is not None:
        column = at // DOTS_ACROSS
        free = line_owner[:, column] < 0
        glyphs[free, column], colours[free, column] = PLAYHEAD, -1
    faint = (colours >= 0) & faint_lines[line_owner]
    return Raster(
        glyphs,
        colours,
        faint,
        remark(series, axes, hidden),
        close,
        groups,
        tuple(names),
        tuple(marks),
        edges,
        left_out(series, lines.shown),
    )


def _are_lines(series: Sequence[Series]) -> np.ndarray:
    return np.array([is_line(curve) for curve in series], dtype=bool)[:, None]


def _owners_by_turns(owner: np.ndarray, groups: Sequence[tuple[int, ...]], shown: np.ndarray) -> np.ndarray:
    """Let series that coincide take turns in colouring the line that they share.

    `owner` and the result hold the index of the series that colours each cell. A group contains the indices
    of series that coincide. In `owner`, the first series of a group colours all cells of the group.
    """
    columns = np.arange(owner.shape[1])
    is_shown = shown[:, ::DOTS_ACROSS] | shown[:, 1::DOTS_ACROSS]
    for group in groups:
        taking = np.array(group, owner.dtype)[columns // _TURN % len(group)]
        owner = np.where((owner == group[0]) & is_shown[taking, columns], taking, owner)
    return owner


def _owners_with_lines(owner: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Let covered theory lines show through curves: in every _THROUGH-th column, lines colour the cells.

    `owner` and the result hold the index of the series that colours each cell. `below` holds the index of the
    theory line in each cell, or −1.
    """
    through = (below >= 0) & (np.arange(owner.shape[1]) % _THROUGH == 0)
    return np.where(through, below, owner)


def _band_dots(series: Sequence[Series], bands: Spans, high: int) -> np.ndarray:
    """Return the dots that shade the bands, bool [high, wide].

    The dots of an error band are denser than the dots of a region that a theory line excludes.
    """
    is_region = np.array([curve.is_region for curve in series], dtype=bool)
    dots = np.zeros((high, bands.shown.shape[1]), dtype=bool)
    for which, apart in ((~is_region, _APART), (is_region, 2 * _APART)):
        dots |= _covered_dots(bands, bands.shown & which[:, None], high) & _stipple_pattern(
            *dots.shape, apart
        )
    return dots


def _dash_patterns(series: Sequence[Series], wide: int) -> np.ndarray:
    on = np.ones((len(series), wide), dtype=bool)
    for index, curve in enumerate(series):
        if curve.style in PATTERNS:
            on[index] = np.resize(PATTERNS[curve.style], wide)
    return on


def _stipple_pattern(high: int, wide: int, apart: int) -> np.ndarray:
    """Return the sparse pattern of dots with which shaded bands are filled, bool [high, wide].

    If the index of a column is a multiple of `apart` // 2, every `apart`-th dot of the column is set. The
    other columns are empty.
    """
    row, column = np.arange(high)[:, None], np.arange(wide)
    pattern: np.ndarray = (column % (apart // 2) == 0) & (row % apart == column % apart)
    return pattern


def _covered_dots(spans: Spans, on: np.ndarray, high: int) -> np.ndarray:
    """Return the dots of the picture that at least one series covers, bool [high, wide].

    In each column, a series covers a vertical run of dots. For each dot, count the runs that start at or
    above it, and subtract the runs that end above it. The difference is the number of runs that cover the
    dot. Cumulative sums compute it without a loop over runs.
    """
    wide = on.shape[1]
    column = np.nonzero(on)[1]
    if not column.size:
        return np.zeros((high, wide), dtype=bool)
    size = (high + 1) * wide
    begin = np.bincount(spans.top[on] * wide + column, minlength=size)
    end = np.bincount((spans.bottom[on] + 1) * wide + column, minlength=size)
    return (
        np.cumsum((begin - end).astype(np.int32).reshape(high + 1, wide)[:high], axis=0, dtype=np.int32) > 0
    )


def braille(dots: np.ndarray) -> np.ndarray:
    """Return the braille bit patterns of dots [4 · rows, 2 · columns], uint8 [rows, columns]."""
    plane = dots.view(np.uint8)
    bits = np.zeros((dots.shape[0] // DOTS_DOWN, dots.shape[1] // DOTS_ACROSS), dtype=np.uint8)
    for row, row_bits in enumerate(_BITS):
        for column, bit in enumerate(row_bits):
            bits |= plane[row::DOTS_DOWN, column::DOTS_ACROSS] * np.uint8(bit)
    return bits


def _cell_owners(spans: Spans, on: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return the index of the last series that has a dot in each cell, or −1, int32 [rows, columns]."""
    owner = np.full(rows * columns, -1, dtype=np.int32)
    index, column = np.nonzero(on)  # in the order of series, so that the last assignment to a cell wins
    first, last = spans.top[on] // DOTS_DOWN, spans.bottom[on] // DOTS_DOWN
    reach = last - first + 1
    run = np.repeat(np.arange(len(reach)), reach)
    row = np.arange(len(run)) - np.repeat(np.cumsum(reach) - reach, reach) + first[run]
    owner[row * columns + column[run] // DOTS_ACROSS] = index[run]
    return owner.reshape(rows, columns)


def _point_cells(series: Sequence[Series], lines: Spans) -> Iterator[tuple[int, int, int]]:
    """Yield the points that are drawn as characters, as (index of the series, row, column).

    These are all points of series with the style "points", and isolated points of lines that no letter marks,
    such as theory lines. A single dot would be easy to overlook.
    """
    for index, curve in enumerate(series):
        alone = lines.shown[index] if curve.style == "points" else lines.lone[index] & is_line(curve)
        for column in np.flatnonzero(lines.shown[index] & alone).tolist():
            for row in {lines.top[index, column] // DOTS_DOWN, lines.bottom[index, column] // DOTS_DOWN}:
                yield index, row, column // DOTS_ACROSS
