"""The heat map as SVG: cells, scale, lines and marked points, on white, without a drawing library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import numpy as np

from hadamard_tui.charts.colour_map import STEPS, colour_map
from hadamard_tui.charts.heat_map import ValueScale, borders, cells_at, value_scale
from hadamard_tui.charts.heat_sheet import bar_ticks
from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import Axes, Limits
from hadamard_tui.sharing.svg import HALO
from hadamard_tui.sharing.svg_page import (
    AREA_HEIGHT,
    CELL_HEIGHT,
    GROUND,
    INK,
    MUTED,
    SAMPLE,
    SMALL,
    WORDS,
    Entry,
    Page,
    dashes,
    length,
    path_of,
    put,
    write,
    write_upwards,
)

if TYPE_CHECKING:
    from hadamard_tui.charts.heat_map import Contour, HeatMap
    from hadamard_tui.charts.scales import Tick

FROM_AREA, BAR = 18.0, 16.0
"""Pixels between the area and the colour bar, and width of the bar."""

MISSING = "missing"
"""Id of the pattern for missing values."""


def heat_map_svg(heat: HeatMap) -> bytes:
    """Return the heat map as a file."""
    return heat_map_page(heat).written()


def heat_map_page(heat: HeatMap, caption: str = "") -> Page:
    """Return the heat map in the colours of the light screen, where dark means much.

    Missing values are dotted. If there are more cells than pixels, each pixel shows the cell at its centre.
    """
    scale = value_scale(heat.z, heat.z_log)
    marked = bar_ticks(scale, int(AREA_HEIGHT / CELL_HEIGHT))
    widest = max((length(label, SMALL) for _, label in marked), default=0.0)
    page = Page(heat.axes, FROM_AREA + BAR + 8 + widest + 2 * WORDS)
    _cells(page, heat, scale)
    for contour in heat.contours:
        across, down = page.across(heat.axes, contour.path[:, 0]), page.down(heat.axes, contour.path[:, 1])
        _contour(page.area, contour, across, down)
    for point in heat.points:
        x, y = page.across(heat.axes, np.array([point.x])), page.down(heat.axes, np.array([point.y]))
        _point(point.mark, page.over, float(x[0]), float(y[0]))
    _bar(page.over, page, scale, heat.z_label, marked, widest)
    page.legend(_entries(heat))
    page.caption(caption)
    return page


def _cells(page: Page, heat: HeatMap, scale: ValueScale) -> None:
    """Draw all cells of a colour as one path, and neighbouring cells as one box."""
    wide, high = page.right - page.left, AREA_HEIGHT
    columns, starts, ends = _along(heat.x, heat.axes.x_limits, heat.x_log, wide)
    rows, lower, upper = _along(heat.y, heat.axes.y_limits, heat.y_log, high)
    steps = scale.steps(heat.z[np.ix_(rows, columns)], STEPS)
    boxes: dict[int, list[str]] = {}
    for row in range(len(rows)):
        top, height = page.bottom - upper[row], upper[row] - lower[row]
        for first, last, step in _stretches(steps[row]):
            x, width = page.left + starts[first], ends[last] - starts[first]
            boxes.setdefault(step, []).append(f"M{x:.2f},{top:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z")
    colours = colour_map(dark_is_more=True).colours.tolist()
    cells = put(page.area, "g", shape_rendering="crispEdges")
    if -1 in boxes:
        _pattern(page)
    for step, paths in sorted(boxes.items()):
        fill = f"url(#{MISSING})" if step < 0 else "#{:02x}{:02x}{:02x}".format(*colours[step])
        put(cells, "path", d="".join(paths), fill=fill)


def _along(
    values: np.ndarray, limits: Limits, log: bool, size: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which cells are drawn along an axis, and the pixels where they begin and end."""
    if len(values) <= size:
        edges = Scale(limits, log, 2).place(borders(values, log)) * size
        return np.arange(len(values)), edges[:-1], edges[1:]
    slots = np.arange(int(size))
    step = size / len(slots)
    return cells_at(slots, Scale(limits, log, len(slots)), values), slots * step, (slots + 1) * step


def _stretches(steps: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last place of each stretch of equal steps, and the step."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(steps)) + 1])
    ends = np.concatenate([starts[1:], [len(steps)]]) - 1
    yield from zip(starts.tolist(), ends.tolist(), steps[starts].tolist(), strict=True)


def _pattern(page: Page) -> None:
    size = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
    put(page.define("pattern", id=MISSING, **size), "circle", cx=3, cy=3, r=1, fill="#8a929a")


def _contour(into: Element, contour: Contour, across: np.ndarray, down: np.ndarray) -> None:
    """Draw a line in black with white edges, so that it is visible on every colour."""
    path = path_of(across, down)
    put(into, "path", d=path, fill="none", stroke=GROUND, stroke_width=4)
    put(into, "path", d=path, fill="none", stroke=INK, stroke_width=1.8, **dashes(contour.style))


def _point(mark: str, into: Element, x: float, y: float) -> None:
    write(into, x, y + 0.35 * WORDS, mark, WORDS, "middle", weight="bold", fill=INK, **HALO)


def _bar(
    into: Element, page: Page, scale: ValueScale, label: str, marked: Sequence[Tick], widest: float
) -> None:
    """Draw the colour bar with its numbers and their label."""
    bar_x, height = page.right + FROM_AREA, AREA_HEIGHT / STEPS
    bar = put(into, "g", shape_rendering="crispEdges")
    for step, colour in enumerate(colour_map(dark_is_more=True).colours.tolist()):
        place = {"x": f"{bar_x:.2f}", "y": f"{page.bottom - (step + 1) * height:.2f}"}
        size = {"width": f"{BAR:g}", "height": f"{height + 0.3:.2f}"}
        put(bar, "rect", fill="#{:02x}{:02x}{:02x}".format(*colour), **place, **size)
    axes = Axes("", "", "", (0.0, 1.0), scale.limits, y_log=scale.log)
    for value, text in marked:
        y = float(page.down(axes, np.array([value]))[0])
        put(into, "path", d=f"M{bar_x + BAR:.2f},{y:.2f}h4", stroke=MUTED)
        write(into, bar_x + BAR + 7, y + 0.35 * SMALL, text, SMALL, fill=MUTED)
    words = f"{label} ({scale.hidden})" if scale.hidden else label
    middle = (page.top + page.bottom) / 2
    write_upwards(into, bar_x + BAR + 8 + widest + 1.2 * WORDS, middle, words.strip())


def _entries(heat: HeatMap) -> list[Entry]:
    """Return the legend: the meaning of the dots, if any, and the lines and points that have names."""
    missing = [Entry(heat.missing, _sample_of_missing)] if np.isnan(heat.z).any() else []
    lines = [Entry(contour.name, partial(_sample, contour)) for contour in heat.contours if contour.name]
    points = [Entry(point.name, before=point.mark, colour=INK) for point in heat.points if point.name]
    return [*missing, *lines, *points]


def _sample(contour: Contour, into: Element, x: float, y: float) -> None:
    _contour(into, contour, np.array([x, x + SAMPLE]), np.array([y, y]))


def _sample_of_missing(into: Element, x: float, y: float) -> None:
    box = {"x": f"{x:.2f}", "y": f"{y - 0.5 * WORDS:.2f}", "width": SAMPLE, "height": WORDS}
    put(into, "rect", fill=f"url(#{MISSING})", stroke="#8a929a", **box)
