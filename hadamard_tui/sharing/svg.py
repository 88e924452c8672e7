"""The chart as SVG, from the series and axes that the screen shows, on white; no library draws it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import numpy as np

from hadamard_tui.charts.coincidence import drawn_once
from hadamard_tui.charts.curve_marks import zeros_of
from hadamard_tui.charts.layers import drawable, drawable_band, lay
from hadamard_tui.charts.left_out import left_out, remark
from hadamard_tui.charts.raster import paint
from hadamard_tui.charts.series_builder import SMALL_LETTERS, number_of
from hadamard_tui.sharing.svg_page import (
    AREA_HEIGHT,
    DASHES,
    GROUND,
    SAMPLE,
    SMALL,
    WIDTH,
    WORDS,
    Entry,
    Page,
    length,
    path_of,
    put,
    write,
)
from hadamard_tui.sharing.svg_page import LETTER as LETTER_WIDTH

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Series

SHAPES = (
    "M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0z",
    "M-.9,-.9h1.8v1.8h-1.8z",
    "M0,-1.2L1.1,.8H-1.1z",
    "M0,-1.3L1.1,0L0,1.3L-1.1,0z",
    "M0,1.2L1.1,-.8H-1.1z",
    "M-1.2,-.4H-.4V-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2z",
    "M0,-1.2L1.1,-.4L.7,.9H-.7L-1.1,-.4z",
    "M-1.2,0L0,-1.2L1.2,0L.6,1H-.6z",
)
"""What stands on the curve of every learner besides its colour: paths around 0, about 2 wide."""

POINT = 3
"""Pixels of the radius of points that no line joins."""

SHAPE = 4.0
APART, MOST_SHAPES, FEW_POINTS = 110.0, 12, 16
"""Shapes stand so many pixels apart, at most so many on a curve; each of so few points has its own."""

BAND, REGION = 0.18, 0.06
"""How opaque the error of a curve is, and a region of the theory."""

UNDER = 3.6
"""Lines of the theory are so wide that they are seen under a curve that runs along them."""

LINE_HEIGHT = 1.3
"""That of a name in the area, in the size of its letters."""

LETTER, NEAR = 11.0, 11.0
"""Pixels of a letter at the end of a curve; letters nearer to one another than this stand in one row."""

MOST_LETTERS = 6
"""At the right of the area there is room for so many in a row."""

CELL = 7.0
"""Pixels; marks of zeros stand as far apart as on a screen with columns of this width."""

ZERO = "M0,-9V-1M-3,-4L0,-1L3,-4"
"""An arrow to the foot, above 0."""


def svg(series: Sequence[Series], axes: Axes, caption: str = "", within: float = 0.0) -> bytes:
    """The chart as a file: every curve with its letter and a shape, a legend, and the caption below.

    Args:
        within: so many pixels curves may be off, so that the file is smaller.
    """
    lines, _, hidden = lay(series, axes, round(WIDTH), round(AREA_HEIGHT))
    marks = {one.mark for one in series if one.mark}
    page = Page(axes, LETTER * (1 + min(len(marks), MOST_LETTERS)) if marks else 0.0)
    ends = []
    for one in drawn_once(series, axes, lines):
        across, down = _pixels(page, axes, one)
        if (band := drawable_band(one, axes)) is not None:
            _band(page, axes, one, band, within)
        _line(page.area, one, *outline(across, down, within))
        if one.mark is not None:
            shapes = _shapes(page.area, one)
            for x, y in _places_of_shapes(across, down, number_of(one.mark)):
                _shape(shapes, one, x, y)
            ends += _end(page, one, across, down)
            _zeros(page, axes, one)
    over = page.over()
    _names(over, page, series, axes, _letters(over, ends))
    elsewhere = left_out(series, lines.shown)
    named = [one for at, one in enumerate(series) if one.name and at not in elsewhere]
    page.legend(_entries(named, remark(series, axes, hidden)))
    page.caption(caption)
    return page.written()


def _pixels(page: Page, axes: Axes, one: Series) -> tuple[np.ndarray, np.ndarray]:
    """Where the points of a curve are; NaN where they cannot be drawn, as 0 on a logarithmic axis."""
    return _across(page, axes, one), page.down(axes, drawable(one.y, axes))


def _across(page: Page, axes: Axes, one: Series) -> np.ndarray:
    there = np.isfinite(one.x) & (one.x > 0) if axes.x_log else np.isfinite(one.x)
    return page.across(axes, np.where(there, one.x, np.nan))


def _band(page: Page, axes: Axes, one: Series, band: tuple[np.ndarray, np.ndarray], within: float) -> None:
    """The region between the borders of a band; on a logarithmic axis what is below 0 is below the axis."""
    across = _across(page, axes, one)
    low, high = (page.down(axes, border) for border in band)
    there = ~(np.isnan(across) | np.isnan(low) | np.isnan(high))
    for stretch in np.split(np.arange(len(there)), np.flatnonzero(np.diff(there)) + 1):
        if len(stretch) > 1 and there[stretch[0]]:
            forth, below = outline(across[stretch], low[stretch], within)
            back, above = outline(across[stretch], high[stretch], within)
            around, down = np.concatenate([forth, back[::-1]]), np.concatenate([below, above[::-1]])
            shade = {"fill": one.colour, "fill_opacity": REGION if one.is_region else BAND}
            put(page.area, "path", d=f"{path_of(around, down)}z", **shade)


def _line(into: Element, one: Series, across: np.ndarray, down: np.ndarray) -> None:
    there = ~np.isnan(across + down)
    joined = np.zeros(len(there) + 1, dtype=bool)
    joined[1:-1] = there[1:] & there[:-1]
    alone = there if one.style == "points" else there & ~(joined[1:] | joined[:-1])
    for x, y in zip(across[alone].tolist(), down[alone].tolist(), strict=True):
        put(into, "circle", cx=f"{x:.2f}", cy=f"{y:.2f}", r=POINT, fill=one.colour)
    across = np.where(alone, np.nan, across)
    if path := path_of(across, down):
        wide = 1 if one.faint else 2 if one.mark else UNDER
        how: dict[str, object] = {"stroke": one.colour, "stroke_width": wide, "stroke_linejoin": "round"}
        if one.faint:
            how["stroke_opacity"] = 0.45
        if one.style in DASHES:
            how["stroke_dasharray"] = DASHES[one.style]
        put(into, "path", d=path, fill="none", **how)


def _shapes(into: Element, one: Series) -> Element:
    """A group for the shapes of a curve."""
    return put(into, "g", fill=one.colour, stroke=GROUND, stroke_width=0.2)


def _shape(into: Element, one: Series, x: float, y: float) -> None:
    assert one.mark is not None, "only curves with a letter have shapes"
    where = f"translate({x:.2f} {y:.2f}) scale({SHAPE:g})"
    put(into, "path", d=SHAPES[number_of(one.mark) % len(SHAPES)], transform=where)


def _places_of_shapes(across: np.ndarray, down: np.ndarray, number: int) -> list[tuple[float, float]]:
    """Evenly along the curve, not where others with the same course have theirs."""
    there = ~(np.isnan(across) | np.isnan(down))
    x, y = across[there], down[there].clip(-AREA_HEIGHT, 3 * AREA_HEIGHT)
    if len(x) <= FEW_POINTS:
        return list(zip(x.tolist(), y.tolist(), strict=True))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    step = max(APART, along[-1] / MOST_SHAPES)
    places = np.arange(step * (0.2 + (0.37 * number) % 1), along[-1], step)
    found = np.interp(places, along, x), np.interp(places, along, y)
    return list(zip(*(one.tolist() for one in found), strict=True))


def _end(page: Page, one: Series, across: np.ndarray, down: np.ndarray) -> list[tuple[float, float, Series]]:
    """Where a curve was last inside the area; nothing for one that never is."""
    inside = (across >= page.left - 1) & (across <= page.right + 1)
    inside &= (down >= page.top - 1) & (down <= page.bottom + 1)
    last = np.flatnonzero(inside)
    return [(float(across[last[-1]]), float(down[last[-1]]), one)] if len(last) else []


def _zeros(page: Page, axes: Axes, one: Series) -> None:
    """Arrows to the foot of a logarithmic axis where a curve whose points stand apart is 0 up to rounding."""
    for x in page.across(axes, zeros_of(one, axes, round(WIDTH / CELL))).tolist():
        how = {"stroke": one.colour, "stroke_width": 1.5, "fill": "none"}
        put(page.area, "path", d=ZERO, transform=f"translate({x:.2f} {page.bottom:.2f})", **how)


def _names(
    into: Element, page: Page, series: Sequence[Series], axes: Axes, taken: Sequence[tuple[float, float]]
) -> None:
    """The names of lines of the theory beside them, where a screen of as many letters would have them, and no
    letter of a curve is: these are where `taken` says."""
    wide, high = LETTER_WIDTH * SMALL, LINE_HEIGHT * SMALL
    picture = paint(series, axes, int((page.right - page.left) / wide), int(AREA_HEIGHT / high))
    for at, row, column, name in picture.names:
        halo = {"stroke": GROUND, "stroke_width": "3", "paint_order": "stroke"}
        x, y = page.left + wide * column, page.top + high * (row + 0.75)
        end = x + length(name, SMALL)
        if not any(x - LETTER < left < end and abs(foot - y) < high for left, foot in taken):
            write(into, x, y, name, SMALL, "start", fill=series[at].colour, **halo)


def _letters(into: Element, ends: Sequence[tuple[float, float, Series]]) -> list[tuple[float, float]]:
    """A letter at the end of every curve; those of curves that end together stand side by side, and where
    that would lead off the page in several lines. Where the letters stand."""
    places: list[tuple[float, float]] = []
    rows: list[list[tuple[float, float, Series]]] = []
    for x, y, one in sorted(ends, key=lambda end: end[1]):
        for row in rows:
            if abs(row[0][1] - y) < NEAR and abs(row[0][0] - x) < NEAR * len(row):
                row.append((x, y, one))
                break
        else:
            rows.append([(x, y, one)])
    for row in rows:
        left, foot = max(x for x, _, _ in row) + 7, row[0][1] + 0.35 * SMALL
        abreast = max(1, int((WIDTH - left) / LETTER))
        foot -= NEAR * ((len(row) - 1) // abreast)
        for place, (_, _, one) in enumerate(sorted(row, key=lambda end: end[2].mark or "")):
            halo = {"stroke": GROUND, "stroke_width": "3", "paint_order": "stroke"}
            words = {"fill": one.colour, "weight": "bold", **halo}
            line, column = divmod(place, abreast)
            x, y = left + LETTER * column, foot + NEAR * line
            places.append((x, y))
            write(into, x, y, one.mark or "", SMALL, **words)
    return places


def _entries(named: Sequence[Series], note: str) -> list[Entry]:
    """Those with a letter first, then the note."""
    named = sorted(named, key=lambda one: not one.mark)
    entries = [
        Entry(f"{one.name.removesuffix(SMALL_LETTERS)} {one.formula}".rstrip(), partial(_sample, one))
        for one in named
    ]
    return [*entries, *([Entry(note, lambda into, x, y: None)] if note else [])]


def _sample(one: Series, into: Element, x: float, y: float) -> None:
    """A piece of the line with its shape and its letter."""
    room = SAMPLE - (length("M", WORDS) + 6 if one.mark else 0)
    _line(into, one, np.array([x, x + room]), np.array([y, y]))
    if one.mark:
        _shape(_shapes(into, one), one, x + room / 2, y)
        letter = {"fill": one.colour, "weight": "bold"}
        write(into, x + room + 5, y + 0.35 * WORDS, one.mark, WORDS, **letter)


def outline(across: np.ndarray, down: np.ndarray, within: float) -> tuple[np.ndarray, np.ndarray]:
    """Those of some points through which a line passes all others `within` so many pixels; all within 0.

    The ends of every stretch without NaN are among them, and a NaN between two stretches.
    Source: Ramer 1972; Douglas, Peucker 1973.
    """
    if not within:
        return across, down
    there = ~(np.isnan(across) | np.isnan(down))
    keep = np.zeros(len(there), dtype=bool)
    starts = np.flatnonzero(there & ~np.concatenate([[False], there[:-1]]))
    ends = np.flatnonzero(there & ~np.concatenate([there[1:], [False]]))
    keep[ends[:-1] + 1] = True
    stretches = list(zip(starts.tolist(), ends.tolist(), strict=True))
    while stretches:
        first, last = stretches.pop()
        keep[[first, last]] = True
        if last - first < 2:
            continue
        far = _distances(across[first : last + 1], down[first : last + 1])
        place = int(far.argmax())
        if far[place] > within:
            stretches += [(first, first + place), (first + place, last)]
    return across[keep], down[keep]


def _distances(across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """How far points are from the straight piece between the first and the last of them."""
    x, y = across - across[0], down - down[0]
    square = x[-1] ** 2 + y[-1] ** 2
    along = np.clip((x * x[-1] + y * y[-1]) / square, 0, 1) if square else np.zeros_like(x)
    distances: np.ndarray = np.hypot(x - along * x[-1], y - along * y[-1])
    return distances
