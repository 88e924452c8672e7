"""SVG page with axes: title, ticks, legend and caption around the plot area."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from rich.cells import cell_len

from engine.core.texts import printable
from hadamard_tui.charts.drawing.frame import labels, ticks_along, ticks_up
from hadamard_tui.charts.drawing.legend import BETWEEN
from hadamard_tui.charts.drawing.raster import elided
from hadamard_tui.charts.scales import Scale

if TYPE_CHECKING:
    from hadamard_tui.charts.scales import Tick
    from hadamard_tui.charts.series import Axes, Limits, LineStyle

WIDTH, AREA_HEIGHT = 720.0, 340.0
"""Width of the page, and height of the plot area, in pixels."""

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
TITLE, WORDS, SMALL = 16.0, 14.0, 13.0
"""Font sizes in pixels: for the title; for labels, legend and caption; for numbers."""

NARROW, WIDE, LEADING = 0.36, 0.64, 1.4
"""Width of narrow characters, width of all other characters, and line height, relative to the font size."""

NARROW_LETTERS = frozenset(" .,:;'|!iljtfrI()[]/-·")
CELL_WIDTH, CELL_HEIGHT = 0.6 * SMALL, 1.3 * SMALL
"""Size in pixels of a cell on a virtual screen, which determines the places of ticks, letters and names."""

ROWS = int(AREA_HEIGHT / CELL_HEIGHT)
"""Height in cells of a virtual screen that is as large as the plot area."""

INK, MUTED, GRID, GROUND = "#1a1a1a", "#404040", "#e4e4e4", "#ffffff"
EDGE, GAP = 14.0, 9.0
"""Margin of the page, and distance between parts of the page, in pixels."""

FAR = 1e5
"""Limit to which coordinates in pixels are clipped, because larger numbers overflow in some SVG readers."""

COLUMNS = 2
"""Maximum number of charts beside each other."""

SAMPLE = 34.0
"""Width in pixels of a line sample in the legend."""

DASHES: dict[LineStyle, tuple[float, ...]] = {
    "dashed": (7, 4),
    "dotted": (1.5, 3.5),
    "dash-dot": (9, 3, 1.5, 3),
    "sparse": (2, 7),
    "long": (10, 4),
    "pairs": (1.5, 3, 1.5, 8),
}
"""Alternating lengths of dashes and gaps in pixels, by line style."""

TURN = 14.0, 0.0
"""Length in pixels of a dash of a curve that shares a solid line, and of the gap to the next curve's dash."""


class DashPattern(NamedTuple):
    """Alternating lengths of dashes and gaps in pixels.

    `offset` is the distance between the start of the pattern and the start of the line, in pixels.
    """

    lengths: tuple[float, ...]
    offset: float


def dash_pattern(style: LineStyle, turn: int = 0, turns: int = 1) -> DashPattern | None:
    """Return the dashes of a line style, or None for a solid line.

    Curves that coincide share one line: their dashes take turns along it.

    Args:
        turn: index of the curve among the coinciding curves.
        turns: number of coinciding curves.
    """
    lengths = DASHES.get(style, TURN if turns > 1 else ())
    if not lengths:
        return None
    *drawn, gap = lengths
    return DashPattern((*drawn, gap + (turns - 1) * sum(lengths)), -turn * sum(lengths) + 0)


def dashes(style: LineStyle, turn: int = 0, turns: int = 1) -> dict[str, object]:
    """Return the dashes of a line style as SVG attributes. The arguments are those of `dash_pattern`."""
    if (pattern := dash_pattern(style, turn, turns)) is None:
        return {}
    numbers = " ".join(f"{dash_length:g}" for dash_length in pattern.lengths)
    return {"stroke_dasharray": numbers, "stroke_dashoffset": f"{pattern.offset:g}"}


class SvgEntry(NamedTuple):
    """Legend entry of a series, or of a line or point of a heat map.

    Args:
        text: the name, which follows the line sample.
        sample: function that draws the line sample, with its left end at a position in pixels.
        before: text before the line sample, such as "≡ B": the letter of the series, and its relation to the
            previous entry.
        colour: colour of `before`.
        is_next: whether the entry belongs to the previous one, and follows it in the same row if it fits.
        at: index of the series; None for an entry without a series.
    """

    text: str
    sample: Callable[[Element, float, float], None] | None = None
    before: str = ""
    colour: str = "inherit"
    is_next: bool = False
    at: int | None = None

    @property
    def width(self) -> float:
        return self._name_begins + length(self.text, WORDS)

    @property
    def _sample_begins(self) -> float:
        return length(self.before, WORDS) + GAP if self.before else 0.0

    @property
    def _name_begins(self) -> float:
        return self._sample_begins + (SAMPLE + GAP if self.sample else 0.0)

    def draw(self, into: Element, x: float, foot: float) -> None:
        if self.before:
            write(into, x, foot, self.before, WORDS, weight="bold", fill=self.colour)
        if self.sample:
            self.sample(into, x + self._sample_begins, foot - 0.35 * WORDS)
        text = fitted(self.text, WORDS, WIDTH - EDGE - x - self._name_begins)
        write(into, x + self._name_begins, foot, text, WORDS)


class SvgSheet:
    """SVG document with a title for screen readers. Captions can be appended to it."""

    def __init__(self, title: str, width: float = WIDTH) -> None:
        self.root = Element(
            "svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "font-family": FONT, "fill": INK}
        )
        self.width, self._end = width, EDGE
        SubElement(self.root, "title").text = printable(title)
        put(self.root, "rect", width="100%", height="100%", fill=GROUND)

    @property
    def height(self) -> float:
        return round(self._end + EDGE)

    @property
    def text(self) -> str:
        return "".join(self.root.itertext())

    def caption(self, words: str, into: Element | None = None) -> None:
        if not words:
            return
        SubElement(self.root, "desc").text = printable(words)
        self._end += GAP
        for line in lines(words, WORDS, self.width - 2 * EDGE):
            self._end += LEADING * WORDS
            write(self.root if into is None else into, EDGE, self._end - 0.4 * WORDS, line, WORDS)

    def written(self) -> bytes:
        """Set the size of the sheet, and return the SVG file. Equal sheets give equal files."""
        width, height = f"{self.width:g}", f"{self.height:g}"
        self.root.attrib |= {"width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
        content: bytes = tostring(self.root, encoding="utf-8", xml_declaration=True)
        return content + b"\n"


class Tiles(SvgSheet):
    """SVG document with several charts, at most `columns` of them beside each other."""

    def __init__(self, pages: Sequence[SvgPage], caption: str, columns: int = COLUMNS) -> None:
        across = min(len(pages), columns)
        super().__init__(caption, across * WIDTH)
        for first in range(0, len(pages), across):
            row = pages[first : first + across]
            for column, page in enumerate(row):
                name_apart(page.root, f"tile-{first + column}")
                tile = put(self.root, "g", transform=f"translate({column * WIDTH:g} {self._end - EDGE:g})")
                tile.extend(part for part in page.root if part.tag not in ("title", "desc"))
            self._end += max(page.height for page in row)
        self._end -= EDGE
        self.caption(caption)


class SvgPage(SvgSheet):
    """Page with axes. The methods `across` and `down` convert values to pixels.

    Args:
        area: SVG group that is clipped to the plot area.
        grown: group in front of `area`. An animation shows this group left of a vertical border, which moves
            to the right.
        ahead: group that an animation shows only right of this border.
        over: group in front of `area`, `grown` and `ahead`. It is not clipped.
        letters: group in front of `over`. It grows like `grown`, but is not clipped to the plot area.
        columns, rows: size in cells of a screen that is as large as the plot area.
    """

    def __init__(self, axes: Axes, beside: float = GAP, least_left: float = 0.0) -> None:
        """Draw the axes of a chart on a new page.

        Args:
            beside: free space to the right of the plot area, in pixels.
            least_left: minimum distance of the plot area from the left edge of the page, in pixels.
        """
        title, x_label, y_label = labels(axes)
        super().__init__(title)
        self.rows = ROWS
        up = ticks_up(axes, self.rows)
        beside_axis = lines(y_label, WORDS, AREA_HEIGHT)
        self.left = max(left_margin(axes), least_left)
        self.right = WIDTH - EDGE - beside
        self.columns = int((self.right - self.left) / CELL_WIDTH)
        self.top, heading = EDGE, put(self.root, "g", **{"class": "title"})
        for line in lines(title, TITLE, self.right - self.left):
            self.top += LEADING * TITLE
            middle = (self.left + self.right) / 2
            write(heading, middle, self.top - 0.4 * TITLE, line, TITLE, anchor="middle", weight="bold")
        self.top += GAP
        self.bottom = self.top + AREA_HEIGHT
        self._end = self.bottom
        self._draw_ticks(axes, up)
        self._end += LEADING * WORDS
        names = put(self.root, "g", **{"class": "names"})
        write(names, (self.left + self.right) / 2, self._end, x_label, WORDS, anchor="middle")
        for number, line in enumerate(beside_axis):
            x = EDGE + (0.8 + number * LEADING) * WORDS
            write_upwards(names, x, (self.top + self.bottom) / 2, line)
        self._add_clip_rectangle("area", self.left, self.right - self.left, self.top)
        self._reached, self._rest = (
            self._add_clip_rectangle("grown", 0, WIDTH),
            self._add_clip_rectangle("ahead", WIDTH, 0),
        )
        self.area, curves = (put(self.root, "g", clip_path="url(#area)") for _ in range(2))
        self.ahead, self.grown = (put(curves, "g", clip_path=f"url(#{name})") for name in ("ahead", "grown"))
        self._last = put(self.root, "g")
        frame = f"M{self.left:.2f},{self.top:.2f}V{self.bottom:.2f}H{self.right:.2f}"
        put(self.root, "path", d=frame, fill="none", stroke=MUTED)
        self.over = put(self.root, "g", **{"class": "over"})
        self.letters = put(self.root, "g", clip_path="url(#grown)", **{"class": "letters"})

    def across(self, axes: Axes, values: np.ndarray) -> np.ndarray:
        """Return the positions of x values in pixels from the left edge of the page. NaN stays NaN."""
        return self.left + pixels(axes.x_limits, axes.x_log, self.right - self.left, values)

    def down(self, axes: Axes, values: np.ndarray) -> np.ndarray:
        """Return the positions of y values in pixels from the top edge of the page. NaN stays NaN."""
        return self.bottom - pixels(axes.y_limits, axes.y_log, AREA_HEIGHT, values)

    def define(self, tag: str, **attributes: object) -> Element:
        return put(put(self.root, "defs"), tag, **attributes)

    def legend(self, entries: Sequence[SvgEntry], remarks: str = "") -> None:
        """Append the legend. Remarks are at the right end of its last row, or below it if they are long."""
        x, foot = WIDTH, self._end + GAP - 0.4 * WORDS
        for number, entry in enumerate(entries):
            needed, after = entry.width, number + 1
            while not entry.is_next and after < len(entries) and entries[after].is_next:
                needed += 2 * GAP + entries[after].width
                after += 1
            if number == 0 or x + min(needed, WIDTH - 2 * EDGE) > WIDTH - EDGE:
                x, foot = EDGE, foot + LEADING * WORDS
            entry.draw(self.root, x, foot)
            x += entry.width + (2 if after < len(entries) and entries[number + 1].is_next else 3) * GAP
        if remarks and (not entries or x + length(remarks, SMALL) > WIDTH - EDGE):
            rows = _rows_of_remarks(remarks, WIDTH - 2 * EDGE)
            foot += LEADING * WORDS
        else:
            rows = [remarks] if remarks else []
        for number, row in enumerate(rows):
            foot += LEADING * SMALL * (number > 0)
            write(self.root, WIDTH - EDGE, foot, row, SMALL, anchor="end", fill=MUTED)
        if entries or rows:
            self._end = foot + 0.4 * WORDS

    def caption(self, words: str, into: Element | None = None) -> None:
        """Append a paragraph of text. In an animation, it appears once the chart has grown completely."""
        super().caption(words, self._last)

    def grow(self, share: float) -> None:
        """Show the curves up to a share of the x-axis; at 1, also show the caption."""
        x = self.left + share * (self.right - self.left) if share < 1 else WIDTH
        self._reached.set("width", f"{x:.2f}")
        self._rest.set("x", f"{x:.2f}")
        self._rest.set("width", f"{WIDTH - x:.2f}")
        self._last.set("opacity", "1" if share >= 1 else "0")

    def _add_clip_rectangle(self, clip_name: str, x: float, width: float, top: float = 0) -> Element:
        """Add a clip rectangle, to which groups refer by `clip_name`.

        If `top` is the upper edge of the plot area, the rectangle is as high as the plot area. If `top` is 0,
        the rectangle extends from the top of the picture to below the plot area.
        """
        height = AREA_HEIGHT if top else self.bottom + EDGE
        place = {"x": f"{x:.2f}", "y": f"{top:.2f}"}
        size = {"width": f"{width:.2f}", "height": f"{height:.2f}"}
        return put(self.define("clipPath", id=clip_name), "rect", **place, **size)

    def _draw_ticks(self, axes: Axes, up: Sequence[Tick]) -> None:
        rows, columns = (
            put(self.root, "g", fill=MUTED, **{"class": class_name}) for class_name in ("up", "along")
        )
        for (_, label), y in zip(up, self.down(axes, values_of(up)), strict=True):
            put(rows, "path", d=f"M{self.left:.2f},{y:.2f}H{self.right:.2f}", stroke=GRID)
            write(rows, self.left - GAP / 2, y + 0.35 * SMALL, label, SMALL, anchor="end")
        self._end += GAP / 2 + SMALL
        along = ticks_along(axes, self.columns)
        for (_, label), x in zip(along, self.across(axes, values_of(along)), strict=True):
            put(columns, "path", d=f"M{x:.2f},{self.top:.2f}V{self.bottom + 4:.2f}", stroke=GRID)
            write(columns, x, self._end, label, SMALL, anchor="middle")


def left_margin(axes: Axes) -> float:
    """Return the room in pixels that the labels of the y-axis need to the left of the plot area."""
    _, _, y_label = labels(axes)
    widest = max((length(label, SMALL) for _, label in ticks_up(axes, ROWS)), default=0)
    return EDGE + len(lines(y_label, WORDS, AREA_HEIGHT)) * LEADING * WORDS + widest + GAP


def name_apart(root: Element, name: str) -> None:
    """Put the prefix `name` before all ids in an SVG page, and before the references to these ids.

    The ids are then unique in a document with several pages.
    """
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif value.startswith("url(#"):
                element.set(key, value.replace("url(#", f"url(#{name}-"))


def put(into: Element, tag: str, **attributes: object) -> Element:
    """Append an SVG element to the element `into`. In the names of attributes, `_` becomes `-`."""
    return SubElement(into, tag, {name.replace("_", "-"): str(value) for name, value in attributes.items()})


def write(
    into: Element, x: float, y: float, text: str, size: float, anchor: str = "start", **attributes: object
) -> Element:
    """Write a line of text into an SVG element, with the baseline of the text at y."""
    attributes = {f"font_{name}" if name == "weight" else name: value for name, value in attributes.items()}
    if anchor != "start":
        attributes["text_anchor"] = anchor
    element = put(into, "text", x=f"{x:.2f}", y=f"{y:.2f}", font_size=f"{size:g}", **attributes)
    element.text = printable(text)
    return element


def write_upwards(into: Element, x: float, y: float, text: str) -> None:
    """Write a label that reads upwards, with the middle of its baseline at (x, y)."""
    turned = put(into, "g", transform=f"translate({x:.2f} {y:.2f}) rotate(-90)")
    write(turned, 0, 0, text, WORDS, anchor="middle")


def length(text: str, size: float) -> float:
    """Return the approximate width of a text in pixels."""
    narrow = sum(letter in NARROW_LETTERS for letter in text)
    return size * (NARROW * narrow + WIDE * (cell_len(text) - narrow))


def lines(text: str, size: float, room: float) -> list[str]:
    """Break a text into lines of at most `room` pixels. A word that is longer is shortened."""
    wrapped = [""]
    for word in text.split():
        longer = f"{wrapped[-1]} {word}".strip()
        wrapped = [*wrapped[:-1], longer] if length(longer, size) <= room else [*wrapped, word]
    return [fitted(line, size, room) for line in wrapped if line] or [""]


def _rows_of_remarks(remarks: str, room: float) -> list[str]:
    """Divide remarks into rows of at most `room` pixels. Only a remark that is longer is divided."""
    rows: list[str] = []
    for remark in remarks.split(BETWEEN):
        if rows and length(longer := f"{rows[-1]}{BETWEEN}{remark}", SMALL) <= room:
            rows[-1] = longer
        else:
            rows += lines(remark, SMALL, room)
    return rows


def fitted(text: str, size: float, room: float) -> str:
    """Return a text, shortened to at most `room` pixels. A shortened text ends in an ellipsis."""
    cells = cell_len(text)
    while cells > 1 and length(elided(text, cells), size) > room:
        cells -= 1
    return elided(text, cells)


def pixels(limits: Limits, log: bool, size: float, values: np.ndarray) -> np.ndarray:
    """Return the distances of values from the lower limit of an axis that is `size` pixels long."""
    return (Scale(limits, log, 2).place(values) * size).clip(-FAR, FAR)


def values_of(ticks: Sequence[Tick]) -> np.ndarray:
    return np.array([value for value, _ in ticks])


def path_of(across: np.ndarray, down: np.ndarray) -> str:
    """Return the SVG path through points, rounded to a hundredth of a pixel. NaN makes a gap.

    Steps are relative, because relative positions have fewer digits than absolute positions.
    """
    is_drawn = ~(np.isnan(across) | np.isnan(down))
    starts = (is_drawn & ~np.concatenate([[False], is_drawn[:-1]]))[is_drawn]
    places = np.rint(100 * np.stack([across[is_drawn], down[is_drawn]])).astype(int)
    steps = np.diff(places, axis=1, prepend=0)
    numbers = np.where(starts, places, steps) / 100
    points = zip(*numbers.tolist(), starts.tolist(), strict=True)
    return "".join(f"{'M' if begins else 'l'}{x:.10g},{y:.10g}" for x, y, begins in points)
