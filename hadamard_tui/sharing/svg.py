"""Charts and heat maps as SVG on a white page, with the layout of the screen. No library is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from hadamard_tui.charts.drawing.coincidence import drawn_once
from hadamard_tui.charts.drawing.heat_sheet import bar_ticks
from hadamard_tui.charts.drawing.legend import BETWEEN, legend_entries
from hadamard_tui.charts.drawing.marks import zeros_of
from hadamard_tui.charts.drawing.raster import DOTS_ACROSS, DOTS_DOWN, Raster, paint_series
from hadamard_tui.charts.drawing.spans import drawable, drawable_band, lay
from hadamard_tui.charts.heat_map import ValueScale, cell_borders, cells_at, value_scale
from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import Axes, Limits, is_line
from hadamard_tui.colours.palette import STEPS, colour_map, hex_colour
from hadamard_tui.sharing.svg_page import (
    AREA_HEIGHT,
    CELL_HEIGHT,
    CELL_WIDTH,
    GROUND,
    INK,
    MUTED,
    SAMPLE,
    SMALL,
    WORDS,
    SvgEntry,
    SvgPage,
    SvgSheet,
    Tiles,
    dashes,
    left_margin,
    length,
    path_of,
    put,
    write,
    write_upwards,
)

if TYPE_CHECKING:
    from hadamard_tui.charts.heat_map import ContourLine, HeatMap
    from hadamard_tui.charts.scales import Tick
    from hadamard_tui.charts.series import Series


POINT = 3
"""Radius in pixels of a data point that is drawn as a separate dot."""

BAND, REGION = 0.18, 0.06
"""Opacity of error bands, and of regions that theory lines exclude."""

THIN, CURVE, LINE = 1.0, 2.0, 2.6
"""Line widths in pixels: of faint series, of curves with letters, and of theory lines."""

HALO = {"stroke": GROUND, "stroke_width": "3", "stroke_linejoin": "round", "paint_order": "stroke"}
"""Attributes for a white outline around characters, which keeps them legible on curves."""

ASCENT, DESCENT, CLEAR = 0.75 * SMALL, 0.35 * SMALL, 3.5
"""Height of letters above and below their baseline, and room between a name and its line, in pixels."""

NAME_POINTS = 5
"""Number of places along a name at which its distance to its line is measured."""

ZERO = "M0,-9V-1M-3,-4L0,-1L3,-4"
"""Path of an arrow that points down to the x-axis. It marks values of 0 on a log axis."""


class Turn(NamedTuple):
    """Place of a series among series that coincide on the screen and therefore share one line.

    Args:
        lead: the first of the coinciding series, whose points determine the shared line.
        turn: index of this series among the coinciding series.
        turns: number of coinciding series.
    """

    lead: Series
    turn: int
    turns: int


def chart(
    series: Sequence[Series],
    axes: Axes,
    note: str = "",
    caption: str = "",
    within: float = 0.0,
    growing: bool = False,
    least_left: float = 0.0,
) -> SvgPage:
    """Return an SVG page with a chart, a legend and a caption. For the other arguments, see `draw`.

    Args:
        note: remarks on the data, which are shown at the end of the legend.
    """
    page, picture = draw(series, axes, within, growing, least_left)
    page.legend(list(entries(series, picture, axes)), remarks(note, picture))
    page.caption(caption)
    return page


class Chart(NamedTuple):
    """Series, axes, and remarks on the data, of a chart in a file."""

    series: Sequence[Series]
    axes: Axes
    note: str = ""


def charts(contents: Sequence[Chart], caption: str = "", within: float = 0.0) -> SvgSheet:
    """Return an SVG page with one or more charts, one above the other. For `within`, see `draw`."""
    if len(contents) == 1:
        return chart(*contents[0], caption=caption, within=within)
    least_left = widest_left_margin(contents)
    return Tiles([chart(*content, within=within, least_left=least_left) for content in contents], caption, 1)


def widest_left_margin(contents: Sequence[Chart]) -> float:
    """Return the left margin that charts one above the other share, so that equal x are at equal places."""
    return max(left_margin(content.axes) for content in contents)


class Drawing(NamedTuple):
    """Chart without legend and caption, as an SVG page and as painted in the cells of a screen."""

    page: SvgPage
    picture: Raster


def draw(
    series: Sequence[Series],
    axes: Axes,
    within: float = 0.0,
    growing: bool = False,
    least_left: float = 0.0,
) -> Drawing:
    """Draw a chart, with ticks, letters and names where they would be on a screen.

    Args:
        within: largest distance in pixels between a curve and its simplified path.
        growing: whether an animation will make the curves grow. Theory lines are then complete from the
            start.
        least_left: minimum distance of the plot area from the left edge of the page, in pixels.
    """
    page = SvgPage(axes, least_left=least_left)
    picture = paint_series(series, axes, page.columns, page.rows)
    lines, _, _ = lay(series, axes, page.columns * DOTS_ACROSS, page.rows * DOTS_DOWN)
    turns = {
        at: Turn(series[group[0]], turn, len(group))
        for group in picture.shared
        if len(group) > 1
        for turn, at in enumerate(group)
    }
    curves = drawn_once(series, axes, lines, picture.shared)
    for at in sorted(range(len(curves)), key=lambda at: at in turns and turns[at].turn > 0):
        curve = curves[at]
        into = page.grown if curve.mark or at in turns else page.area
        across, down = _points_in_pixels(page, axes, curve)
        if (band := drawable_band(curve, axes)) is not None:
            _draw_band(into, page, axes, curve, band, within)
        if at in turns and turns[at].turn:
            if growing and is_line(curve):
                _draw_line(page.ahead, curve, *outline(across, down, within))
            lead = _points_in_pixels(page, axes, turns[at].lead)
            _draw_shared_line(into, curve, turns[at], lead, (across, down), within)
        else:
            _draw_line(into, curve, *outline(across, down, within))
        if curve.mark is not None:
            _draw_zeros(into, page, axes, curve)
    _draw_letters(page, picture, series, axes)
    _draw_line_names(page, picture, series, axes)
    return Drawing(page, picture)


def _points_in_pixels(page: SvgPage, axes: Axes, curve: Series) -> tuple[np.ndarray, np.ndarray]:
    return _x_in_pixels(page, axes, curve), page.down(axes, drawable(curve.y, axes))


def _x_in_pixels(page: SvgPage, axes: Axes, curve: Series) -> np.ndarray:
    is_drawn = np.isfinite(curve.x) & (curve.x > 0) if axes.x_log else np.isfinite(curve.x)
    return page.across(axes, np.where(is_drawn, curve.x, np.nan))


def _draw_band(
    into: Element,
    page: SvgPage,
    axes: Axes,
    curve: Series,
    band: tuple[np.ndarray, np.ndarray],
    within: float,
) -> None:
    """Draw the region between the two borders of a band. On a log axis, values ≤ 0 are below the axis."""
    across = _x_in_pixels(page, axes, curve)
    low, high = (page.down(axes, border) for border in band)
    is_drawn = ~(np.isnan(across) | np.isnan(low) | np.isnan(high))
    for stretch in np.split(np.arange(len(is_drawn)), np.flatnonzero(np.diff(is_drawn)) + 1):
        if len(stretch) > 1 and is_drawn[stretch[0]]:
            forth, below = outline(across[stretch], low[stretch], within)
            back, above = outline(across[stretch], high[stretch], within)
            around, down = np.concatenate([forth, back[::-1]]), np.concatenate([below, above[::-1]])
            shade = {"fill": curve.colour, "fill_opacity": REGION if curve.is_region else BAND}
            put(into, "path", d=f"{path_of(around, down)}z", **shade)


def _draw_line(into: Element, curve: Series, across: np.ndarray, down: np.ndarray) -> None:
    is_drawn = ~np.isnan(across + down)
    joined = np.zeros(len(is_drawn) + 1, dtype=bool)
    joined[1:-1] = is_drawn[1:] & is_drawn[:-1]
    alone = is_drawn if curve.style == "points" else is_drawn & ~(joined[1:] | joined[:-1])
    for x, y in zip(across[alone].tolist(), down[alone].tolist(), strict=True):
        put(into, "circle", cx=f"{x:.2f}", cy=f"{y:.2f}", r=POINT, fill=curve.colour)
    across = np.where(alone, np.nan, across)
    if path := path_of(across, down):
        width = THIN if curve.faint else CURVE if curve.mark else LINE
        _draw_stroke(into, curve, path, width, dashes(curve.style))


def _draw_stroke(into: Element, curve: Series, path: str, width: float, how: dict[str, object]) -> None:
    fixed = {"fill": "none", "stroke": curve.colour, "stroke_linejoin": "round"}
    faint = {"stroke_opacity": 0.45} if curve.faint else {}
    put(into, "path", d=path, stroke_width=f"{width:g}", **fixed, **how, **faint)


def _draw_shared_line(
    into: Element,
    curve: Series,
    turn: Turn,
    lead: tuple[np.ndarray, np.ndarray],
    points: tuple[np.ndarray, np.ndarray],
    within: float,
) -> None:
    """Draw the dashes of a series along the line that it shares with other series.

    Beyond the ends of the shared line, the series has a separate line.

    Args:
        lead: points of the shared line in pixels.
        points: points of the series in pixels.
    """
    (across, down), (x, y) = lead, points
    if not (np.isfinite(y).any() and np.isfinite(down).any()):
        return
    shared = _is_within(across, x[np.isfinite(y)])
    path = path_of(*outline(np.where(shared, across, np.nan), down, within))
    _draw_stroke(into, curve, path, CURVE, dashes(turn.lead.style, turn.turn, turn.turns))
    beyond = ~_is_within(x, across[np.isfinite(down)])
    joined = beyond.copy()  # one more point on each side, so that the two lines meet
    joined[:-1] |= beyond[1:]
    joined[1:] |= beyond[:-1]
    if beyond.any():
        _draw_line(into, curve, *outline(np.where(joined, x, np.nan), y, within))


def _is_within(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return whether values are between the minimum and the maximum of `limits`, up to one pixel."""
    inside: np.ndarray = (values >= limits.min() - 1) & (values <= limits.max() + 1)
    return inside


def _draw_zeros(into: Element, page: SvgPage, axes: Axes, curve: Series) -> None:
    for x in page.across(axes, zeros_of(curve, axes, page.columns)).tolist():
        how = {"stroke": curve.colour, "stroke_width": 1.5, "fill": "none"}
        put(into, "path", d=ZERO, transform=f"translate({x:.2f} {page.bottom:.2f})", **how)


def _draw_letters(page: SvgPage, picture: Raster, series: Sequence[Series], axes: Axes) -> None:
    """Draw the letters of curves where a screen shows them, and arrows where curves leave the chart."""
    curves = {at: _points_in_pixels(page, axes, series[at]) for at in {mark.at for mark in picture.marks}}
    for at, row, column in picture.marks:
        cell = page.left + (column + 0.5) * CELL_WIDTH, page.top + (row + 0.5) * CELL_HEIGHT
        x, y = nearest(*curves[at], *cell)
        letter = {"fill": series[at].colour, "weight": "bold", "anchor": "middle"} | HALO
        write(page.letters, x, y + 0.35 * SMALL, series[at].mark or "", SMALL, **letter)
    for edge in picture.edges:
        x, y = page.left + edge.column * CELL_WIDTH, page.top + (edge.row + 0.5) * CELL_HEIGHT
        letter = {"fill": series[edge.at].colour, "weight": "bold"} | HALO
        write(page.letters, x, y + 0.35 * SMALL, edge.text, SMALL, **letter)


def nearest(across: np.ndarray, down: np.ndarray, x: float, y: float) -> tuple[float, float]:
    """Return the point nearest to (x, y) on the line through given points. NaN makes a gap in the line."""
    start = np.stack([across, down], 1)
    start = np.concatenate([start, start[-1:]])
    step = np.diff(start, axis=0)
    start, step = start[:-1], np.where(np.isnan(step), 0.0, step)
    length = (step**2).sum(1)
    along = ((np.array([x, y]) - start) * step).sum(1) / np.where(length > 0, length, 1.0)
    places = start + np.clip(along, 0, 1)[:, None] * step
    far = ((places - np.array([x, y])) ** 2).sum(1)
    column, row = places[np.nanargmin(far)].tolist()
    return column, row


def _draw_line_names(page: SvgPage, picture: Raster, series: Sequence[Series], axes: Axes) -> None:
    for at, row, column, line_name in picture.names:
        x, y = page.left + CELL_WIDTH * column, page.top + CELL_HEIGHT * (row + 0.75)
        y = _beside_line(*_points_in_pixels(page, axes, series[at]), x, y, length(line_name, SMALL))
        write(page.over, x, y, line_name, SMALL, fill=series[at].colour, **HALO)


def _beside_line(across: np.ndarray, down: np.ndarray, x: float, y: float, width: float) -> float:
    """Return the baseline of a name that starts at (x, y), moved off the line through given points.

    Cells of the virtual screen are coarse: a line can pass through the edge of the cells above or below it.
    """
    middle = y - 0.5 * ASCENT
    places = (nearest(across, down, place, middle) for place in np.linspace(x, x + width, NAME_POINTS))
    heights = [height for place, height in places if x - 1 <= place <= x + width + 1]
    if heights and min(heights) > middle:
        return min(y, min(heights) - DESCENT)
    if heights and max(heights) < middle:
        return max(y, max(heights) + CLEAR + ASCENT)
    return y


def entries(series: Sequence[Series], picture: Raster, axes: Axes) -> Iterator[SvgEntry]:
    for entry in legend_entries(series, picture.groups, left_out=picture.left_out, y_log=axes.y_log):
        for number, part in enumerate(entry.parts):
            curve = series[part.at]
            yield SvgEntry(
                f"{part.name} {part.formula}".rstrip(),
                partial(_draw_curve_sample, curve),
                f"{part.relation}{part.mark}".strip(),
                curve.colour,
                number > 0,
                part.at,
            )


def remarks(note: str, picture: Raster) -> str:
    """Return the remarks on the data of a chart: those of its note, and those on points not drawn."""
    return BETWEEN.join(filter(None, (note, picture.remark)))


def _draw_curve_sample(curve: Series, into: Element, x: float, y: float) -> None:
    _draw_line(into, curve, np.array([x, x + SAMPLE]), np.array([y, y]))


def outline(across: np.ndarray, down: np.ndarray, within: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a simplified line. Omitted points are at most `within` pixels from the simplified line.

    If `within` is 0, all points stay. NaN divides a line into parts. Each part keeps both ends, and NaN still
    separates the parts. Source: Ramer 1972; Douglas, Peucker 1973.
    """
    if not within:
        return across, down
    is_drawn = ~(np.isnan(across) | np.isnan(down))
    keep = np.zeros(len(is_drawn), dtype=bool)
    starts = np.flatnonzero(is_drawn & ~np.concatenate([[False], is_drawn[:-1]]))
    ends = np.flatnonzero(is_drawn & ~np.concatenate([is_drawn[1:], [False]]))
    keep[ends[:-1] + 1] = True
    stretches = list(zip(starts.tolist(), ends.tolist(), strict=True))
    while stretches:
        first, last = stretches.pop()
        keep[[first, last]] = True
        if last - first < 2:
            continue
        far = _distances_from_segment(across[first : last + 1], down[first : last + 1])
        place = int(far.argmax())
        if far[place] > within:
            stretches += [(first, first + place), (first + place, last)]
    return across[keep], down[keep]


def _distances_from_segment(across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return the distances of points from the straight segment between the first and the last point."""
    x, y = across - across[0], down - down[0]
    square = x[-1] ** 2 + y[-1] ** 2
    along = np.clip((x * x[-1] + y * y[-1]) / square, 0, 1) if square else np.zeros_like(x)
    distances: np.ndarray = np.hypot(x - along * x[-1], y - along * y[-1])
    return distances


FROM_AREA, BAR = 18.0, 16.0
"""Distance of the colour bar from the plot area, and width of the bar, in pixels."""

MISSING = "missing"
"""Id of the SVG pattern that marks missing values."""


def heat_map_page(heat: HeatMap, caption: str = "", has_legend: bool = True) -> SvgPage:
    """Return a page with the heat map in the colours of the light theme, where dark means large.

    Cells without a value are dotted. If there are more cells than pixels, each pixel shows the cell at its
    centre.

    Args:
        has_legend: whether the page has a legend. False if the document lists `heat_map_entries` itself.
    """
    scale = value_scale(heat.z, heat.z_log)
    marked = bar_ticks(scale, int(AREA_HEIGHT / CELL_HEIGHT))
    widest = max((length(label, SMALL) for _, label in marked), default=0.0)
    page = SvgPage(heat.axes, FROM_AREA + BAR + 8 + widest + 2 * WORDS)
    _draw_cells(page, heat, scale)
    for contour in heat.contours:
        across, down = page.across(heat.axes, contour.path[:, 0]), page.down(heat.axes, contour.path[:, 1])
        _draw_contour(page.area, contour, across, down)
    for point in heat.points:
        x, y = page.across(heat.axes, np.array([point.x])), page.down(heat.axes, np.array([point.y]))
        _draw_point(point.mark, page.over, float(x[0]), float(y[0]))
    _draw_colour_bar(page.over, page, scale, heat.z_label, marked, widest)
    page.legend(heat_map_entries(heat) if has_legend else ())
    page.caption(caption)
    return page


def _draw_cells(page: SvgPage, heat: HeatMap, scale: ValueScale) -> None:
    """Draw the cells of a heat map: one path for each colour, with a box for each row of equal neighbours."""
    wide, high = page.right - page.left, AREA_HEIGHT
    columns, starts, ends = _cells_along_axis(heat.x, heat.axes.x_limits, heat.x_log, wide)
    rows, lower, upper = _cells_along_axis(heat.y, heat.axes.y_limits, heat.y_log, high)
    steps = scale.steps(heat.z[np.ix_(rows, columns)], STEPS)
    boxes_by_step: dict[int, list[str]] = {}
    for row in range(len(rows)):
        top, height = page.bottom - upper[row], upper[row] - lower[row]
        for first, last, step in _equal_stretches(steps[row]):
            x, width = page.left + starts[first], ends[last] - starts[first]
            boxes_by_step.setdefault(step, []).append(
                f"M{x:.2f},{top:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z"
            )
    colours = colour_map(dark_is_more=True).colours.tolist()
    cells = put(page.area, "g", shape_rendering="crispEdges")
    if -1 in boxes_by_step:
        _define_missing_pattern(page)
    for step, step_boxes in sorted(boxes_by_step.items()):
        fill = f"url(#{MISSING})" if step < 0 else hex_colour(colours[step])
        put(cells, "path", d="".join(step_boxes), fill=fill)


def _cells_along_axis(
    values: np.ndarray, limits: Limits, log: bool, size: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells of a heat map along an axis, and their lower and upper borders in pixels.

    The first array holds the indices of the cells. If there are more cells than pixels, each pixel shows one
    cell, and the other cells are omitted.
    """
    if len(values) <= size:
        edges = Scale(limits, log, 2).place(cell_borders(values, log)) * size
        return np.arange(len(values)), edges[:-1], edges[1:]
    slots = np.arange(int(size))
    step = size / len(slots)
    return cells_at(slots, Scale(limits, log, len(slots)), values), slots * step, (slots + 1) * step


def _equal_stretches(steps: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield each stretch of equal numbers in an array: first index, last index and number."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(steps)) + 1])
    ends = np.concatenate([starts[1:], [len(steps)]]) - 1
    yield from zip(starts.tolist(), ends.tolist(), steps[starts].tolist(), strict=True)


def _define_missing_pattern(page: SvgPage) -> None:
    size = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
    put(page.define("pattern", id=MISSING, **size), "circle", cx=3, cy=3, r=1, fill="#8a929a")


def _draw_contour(into: Element, contour: ContourLine, across: np.ndarray, down: np.ndarray) -> None:
    """Draw a contour as a black line with white edges, so that it is visible on each colour."""
    path = path_of(across, down)
    put(into, "path", d=path, fill="none", stroke=GROUND, stroke_width=4)
    put(into, "path", d=path, fill="none", stroke=INK, stroke_width=1.8, **dashes(contour.style))


def _draw_point(mark: str, into: Element, x: float, y: float) -> None:
    write(into, x, y + 0.35 * WORDS, mark, WORDS, "middle", weight="bold", fill=INK, **HALO)


def _draw_colour_bar(
    into: Element, page: SvgPage, scale: ValueScale, label: str, marked: Sequence[Tick], widest: float
) -> None:
    bar_x, height = page.right + FROM_AREA, AREA_HEIGHT / STEPS
    bar = put(into, "g", shape_rendering="crispEdges")
    for step, colour in enumerate(colour_map(dark_is_more=True).colours.tolist()):
        place = {"x": f"{bar_x:.2f}", "y": f"{page.bottom - (step + 1) * height:.2f}"}
        size = {"width": f"{BAR:g}", "height": f"{height + 0.3:.2f}"}
        put(bar, "rect", fill=hex_colour(colour), **place, **size)
    axes = Axes("", "", "", (0.0, 1.0), scale.limits, y_log=scale.log)
    for value, text in marked:
        y = float(page.down(axes, np.array([value]))[0])
        put(into, "path", d=f"M{bar_x + BAR:.2f},{y:.2f}h4", stroke=MUTED)
        write(into, bar_x + BAR + 7, y + 0.35 * SMALL, text, SMALL, fill=MUTED)
    words = f"{label} ({scale.hidden})" if scale.hidden else label
    middle = (page.top + page.bottom) / 2
    write_upwards(into, bar_x + BAR + 8 + widest + 1.2 * WORDS, middle, words.strip())


def heat_map_entries(heat: HeatMap) -> list[SvgEntry]:
    missing = [SvgEntry(heat.missing, _draw_missing_sample)] if np.isnan(heat.z).any() else []
    lines = [
        SvgEntry(contour.name, partial(_draw_contour_sample, contour))
        for contour in heat.contours
        if contour.name
    ]
    points = [SvgEntry(point.name, before=point.mark, colour=INK) for point in heat.points if point.name]
    return [*missing, *lines, *points]


def _draw_contour_sample(contour: ContourLine, into: Element, x: float, y: float) -> None:
    _draw_contour(into, contour, np.array([x, x + SAMPLE]), np.array([y, y]))


def _draw_missing_sample(into: Element, x: float, y: float) -> None:
    box = {"x": f"{x:.2f}", "y": f"{y - 0.5 * WORDS:.2f}", "width": SAMPLE, "height": WORDS}
    put(into, "rect", fill=f"url(#{MISSING})", stroke="#8a929a", **box)
