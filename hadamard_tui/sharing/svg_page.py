"""A page of SVG with axes on it: title, ticks, legend and caption around an area to draw in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from rich.cells import cell_len

from engine.core.texts import printable
from hadamard_tui.charts.legend import elided
from hadamard_tui.charts.scale import Scale
from hadamard_tui.charts.ticks import Tick, ticks, x_ticks

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Limits, LineStyle

WIDTH, AREA_HEIGHT = 720.0, 340.0
"""Pixels of the page from left to right, and of the area from top to bottom."""

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
TITLE, WORDS, SMALL = 16.0, 14.0, 13.0
"""Sizes of letters in pixels: of the title, of labels, legend and caption, and of numbers."""

LETTER, LEADING = 0.54, 1.4
"""Width of a letter on average, and distance of lines, both in the size of the letters."""

INK, MUTED, GRID, GROUND = "#1a1a1a", "#404040", "#e4e4e4", "#ffffff"
EDGE, GAP = 14.0, 9.0
"""Pixels around the page, and between its parts."""

MOST_X_TICKS, MOST_Y_TICKS = 10, 7
FAR = 1e5
"""Pixels; whatever is farther away than this has no finer place: not all that reads SVG can count higher."""

SAMPLE = 34.0
"""Pixels that the sample of a line has in the legend."""

DASHES: dict[LineStyle, str] = {
    "dashed": "7 4",
    "dotted": "1.5 3.5",
    "dash-dot": "9 3 1.5 3",
    "sparse": "2 7",
    "long": "10 4",
    "pairs": "1.5 3 1.5 8",
}
"""Of the line styles that are not solid: pixels drawn and left out by turns."""


class Entry(NamedTuple):
    """An entry of the legend: a text, and what draws the sample before it, its left end at these pixels."""

    text: str
    sample: Callable[[Element, float, float], None]


class Page:
    """A page with axes. What belongs between them is put into `area`, where the scales say."""

    def __init__(self, axes: Axes, beside: float) -> None:
        """Draw the axes; `beside` are the pixels to leave free at their right."""
        self._root = Element(
            "svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "font-family": FONT, "fill": INK}
        )
        SubElement(self._root, "title").text = printable(axes.title)
        put(self._root, "rect", width="100%", height="100%", fill=GROUND)
        up = ticks(axes.y_limits, axes.y_log, MOST_Y_TICKS, axes.y_whole)
        self.left = EDGE + LEADING * WORDS + max((length(label, SMALL) for _, label in up), default=0) + GAP
        self.right = WIDTH - EDGE - beside
        self.top = EDGE
        for line in lines(axes.title, TITLE, self.right - self.left):
            self.top += LEADING * TITLE
            middle = (self.left + self.right) / 2
            write(self._root, middle, self.top - 0.4 * TITLE, line, TITLE, anchor="middle", weight="bold")
        self.top += GAP
        self.bottom = self.top + AREA_HEIGHT
        self._end = self.bottom
        self._axes(axes, up)
        size = {"width": f"{self.right - self.left:.2f}", "height": f"{AREA_HEIGHT:.2f}"}
        put(self.define("clipPath", id="area"), "rect", x=f"{self.left:.2f}", y=f"{self.top:.2f}", **size)
        self.area = put(self._root, "g", clip_path="url(#area)")
        frame = f"M{self.left:.2f},{self.top:.2f}V{self.bottom:.2f}H{self.right:.2f}"
        put(self._root, "path", d=frame, fill="none", stroke=MUTED)

    def across(self, axes: Axes, values: np.ndarray) -> np.ndarray:
        """Pixels from the left for values on the x-axis; NaN stays NaN."""
        return self.left + pixels(axes.x_limits, axes.x_log, self.right - self.left, values)

    def down(self, axes: Axes, values: np.ndarray) -> np.ndarray:
        """Pixels from the top for values on the y-axis; NaN stays NaN."""
        return self.bottom - pixels(axes.y_limits, axes.y_log, AREA_HEIGHT, values)

    def over(self) -> Element:
        """A group over the area and all that is there, which nothing cuts."""
        return put(self._root, "g")

    def define(self, tag: str, **attributes: object) -> Element:
        """Something that others refer to by its id."""
        return put(put(self._root, "defs"), tag, **attributes)

    def legend(self, entries: Sequence[Entry]) -> None:
        """Put a legend below: as many columns as have room for the longest entry."""
        if not entries:
            return
        widest = SAMPLE + GAP + max(length(entry.text, WORDS) for entry in entries) + 2 * GAP
        columns = max(1, int((WIDTH - 2 * EDGE) // widest))
        self._end += GAP
        for first in range(0, len(entries), columns):
            self._end += LEADING * WORDS
            for column, entry in enumerate(entries[first : first + columns]):
                x = EDGE + column * (WIDTH - 2 * EDGE) / columns
                entry.sample(self._root, x, self._end - 0.75 * WORDS)
                room = WIDTH - EDGE - x - SAMPLE - GAP
                text = elided(entry.text, int(room / (LETTER * WORDS)))
                write(self._root, x + SAMPLE + GAP, self._end - 0.4 * WORDS, text, WORDS)

    def caption(self, words: str) -> None:
        """Put a paragraph below."""
        if not words:
            return
        SubElement(self._root, "desc").text = printable(words)
        self._end += GAP
        for line in lines(words, WORDS, WIDTH - 2 * EDGE):
            self._end += LEADING * WORDS
            write(self._root, EDGE, self._end - 0.4 * WORDS, line, WORDS)

    def written(self) -> bytes:
        """The file; the same page gives the same file."""
        height = f"{self._end + EDGE:.0f}"
        self._root.attrib |= {"width": f"{WIDTH:g}", "height": height, "viewBox": f"0 0 {WIDTH:g} {height}"}
        content: bytes = tostring(self._root, encoding="utf-8", xml_declaration=True)
        return content + b"\n"

    def _axes(self, axes: Axes, up: Sequence[Tick]) -> None:
        """Grid, numbers and labels."""
        numbers = put(self._root, "g", fill=MUTED)
        for (_, label), y in zip(up, self.down(axes, values_of(up)), strict=True):
            put(numbers, "path", d=f"M{self.left:.2f},{y:.2f}H{self.right:.2f}", stroke=GRID)
            write(numbers, self.left - GAP / 2, y + 0.35 * SMALL, label, SMALL, anchor="end")
        self._end += GAP / 2 + SMALL
        along = self._x_ticks(axes)
        for (_, label), x in zip(along, self.across(axes, values_of(along)), strict=True):
            put(numbers, "path", d=f"M{x:.2f},{self.top:.2f}V{self.bottom + 4:.2f}", stroke=GRID)
            write(numbers, x, self._end, label, SMALL, anchor="middle")
        self._end += LEADING * WORDS
        middle = (self.left + self.right) / 2
        write(self._root, middle, self._end, axes.x_label, WORDS, anchor="middle")
        write_upwards(self._root, EDGE + 0.8 * WORDS, (self.top + self.bottom) / 2, axes.y_label)

    def _x_ticks(self, axes: Axes) -> tuple[Tick, ...]:
        """As many ticks as have room for their labels."""
        for most in range(MOST_X_TICKS, 0, -1):
            found = x_ticks(axes, most)
            places = self.across(axes, values_of(found))
            widths = np.array([length(label, SMALL) for _, label in found])
            if (np.diff(places) > (widths[1:] + widths[:-1]) / 2 + GAP).all():
                return found
        return ()


def put(into: Element, tag: str, **attributes: object) -> Element:
    """Put an element into another; names of attributes have _ for -."""
    return SubElement(into, tag, {name.replace("_", "-"): str(value) for name, value in attributes.items()})


def write(
    into: Element, x: float, y: float, text: str, size: float, anchor: str = "start", **attributes: object
) -> Element:
    """Put a line of text on the page, y being the line on which its letters stand."""
    attributes = {f"font_{name}" if name == "weight" else name: value for name, value in attributes.items()}
    if anchor != "start":
        attributes["text_anchor"] = anchor
    made = put(into, "text", x=f"{x:.2f}", y=f"{y:.2f}", font_size=f"{size:g}", **attributes)
    made.text = printable(text)
    return made


def write_upwards(into: Element, x: float, y: float, text: str) -> None:
    """Put a label on the page that is read from below, its middle at these pixels."""
    turned = put(into, "g", transform=f"translate({x:.2f} {y:.2f}) rotate(-90)")
    write(turned, 0, 0, text, WORDS, anchor="middle")


def length(text: str, size: float) -> float:
    """About so many pixels a text takes."""
    return LETTER * size * cell_len(text)


def lines(text: str, size: float, room: float) -> list[str]:
    """A text in lines that fit into so many pixels, one at least."""
    return wrap(text, max(1, int(room / (LETTER * size))), break_on_hyphens=False) or [""]


def pixels(limits: Limits, log: bool, size: float, values: np.ndarray) -> np.ndarray:
    """How many of `size` pixels from the lower limit values are."""
    return (Scale(limits, log, 2).place(values) * size).clip(-FAR, FAR)


def values_of(found: Sequence[Tick]) -> np.ndarray:
    """Where ticks are."""
    return np.array([value for value, _ in found])


def path_of(across: np.ndarray, down: np.ndarray) -> str:
    """The path through points, to a hundredth of a pixel; NaN lifts the pen. What is said are the steps from
    point to point, which are shorter than their places."""
    there = ~(np.isnan(across) | np.isnan(down))
    starts = (there & ~np.concatenate([[False], there[:-1]]))[there]
    places = np.rint(100 * np.stack([across[there], down[there]])).astype(int)
    steps = np.diff(places, axis=1, prepend=0)
    said = np.where(starts, places, steps) / 100
    points = zip(*said.tolist(), starts.tolist(), strict=True)
    return "".join(f"{'M' if begins else 'l'}{x:.10g},{y:.10g}" for x, y, begins in points)
