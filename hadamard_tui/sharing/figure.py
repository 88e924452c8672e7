"""The chart as a page or a picture, by matplotlib: colours for every sight, bounds labelled, a caption."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from hadamard_tui.charts.coincidence import drawn_once
from hadamard_tui.charts.colour_map import colour_map
from hadamard_tui.charts.curve_marks import zeros_of
from hadamard_tui.charts.grid import borders
from hadamard_tui.charts.layers import drawable, drawable_band, lay
from hadamard_tui.charts.left_out import left_out, remark
from hadamard_tui.charts.raster import paint
from hadamard_tui.charts.series_builder import SMALL_LETTERS, number_of
from hadamard_tui.charts.value_scale import ValueScale, value_scale
from hadamard_tui.sharing.fonts import fonts_for

if TYPE_CHECKING:
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.series import Axes, LineStyle, Series

INCHES = (5.5, 3.8)
DOTS_PER_INCH = 300
MARKERS = "os^Dv<>ph*"
MARKS_PER_CURVE = 8
NAMES_PER_LINE, LETTERS_PER_LINE, SAMPLE = 3, 84, 8
"""A line of the legend has so many names at most, as far as they and the samples of their lines have room."""
ROOM_FOR_LINES = 2
"""The chart leaves room for so many lines of a legend; for more the sheet becomes higher."""
STYLES: dict[LineStyle, Any] = {
    "solid": "-",
    "dashed": (0, (5, 2)),
    "dotted": (0, (1, 1.5)),
    "dash-dot": (0, (6, 1.5, 1, 1.5)),
    "sparse": (0, (1, 4)),
    "long": (0, (6, 2.5)),
    "pairs": (0, (1, 1.5, 1, 5)),
    "points": "",
}
BOUNDS = ("dashed", "dotted")
MOST_CELLS = 40_000
GRID = 720, 480
"""Columns and rows on which it is decided what is on the chart."""
NAMES_GRID = 84, 21
"""Columns and rows of letters that names in the axes have room in."""
CELLS = 100
"""Marks of zeros stand as far apart as on a screen with so many columns."""

SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
}
"""Text in PDF stays text."""

CAPTION_SIZE, CAPTION_LETTERS, CAPTION_LINE = 8, 86, 0.16
"""Points, letters per line, and inches per line of the caption."""


def figure(series: Sequence[Series], axes: Axes, kind: str, caption: str = "") -> bytes:
    """The chart as `pdf` or `png`; the same series and axes that the screen shows, on white.

    Learners have a marker besides their colour, pinned runs the markers of their learners and another line
    style; bounds are wider, so that they are seen under a curve, and have their names beside them.
    """
    with settings(text_of_chart(series, axes, caption)):
        sheet, _ = drawn(series, axes, caption)
        for one in series:
            arrows(sheet.axes[0], one, axes)
        return _written(sheet, kind)


def drawn(series: Sequence[Series], axes: Axes, caption: str) -> tuple[Any, list[Any]]:
    """The sheet with the chart, and of each series the line if it is a curve; within `settings`."""
    sheet, plot = _axes(axes)
    lines, _, hidden = lay(series, axes, *GRID)
    elsewhere = left_out(series, lines.shown)
    curves: list[Any] = []
    bounds: list[Any] = []
    for at, (one, once) in enumerate(zip(series, drawn_once(series, axes, lines), strict=True)):
        curve = None
        if at in elsewhere:
            pass
        elif one.is_region:
            _region(plot, one, axes)
        elif one.style in BOUNDS:
            bounds.append(_bound(plot, one, once, axes))
        else:
            curve = _curve(plot, once, axes)
        curves.append(curve)
    _names(plot, series, axes)
    said = f"({found})" if (found := remark(series, axes, hidden)) else ""
    entries = sorted(
        zip(*plot.get_legend_handles_labels(), strict=True), key=lambda entry: entry[0] in bounds
    )
    _foot(sheet, " ".join(filter(None, (caption, said))), *map(list, zip(*entries, strict=True)))
    return sheet, curves


@contextmanager
def settings(text: str = "") -> Iterator[None]:
    """Set SETTINGS and fonts that have the letters of `text` while a figure is made, without warnings.

    Type 3 is for fonts with outlines of PostScript: some readers of PDF draw nothing of these in type 42.
    """
    families = fonts_for(text).families
    from matplotlib import rc_context, rcParams

    fonts = {"font.family": [*rcParams["font.family"], *families], "pdf.fonttype": 3} if families else {}
    with rc_context(SETTINGS | fonts), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def text_of_chart(series: Sequence[Series], axes: Axes, caption: str) -> str:
    """All names and labels that the figure of a chart may show."""
    names = [axes.title, axes.x_label, axes.y_label, *(name for _, name in axes.x_names)]
    names += [f"{curve.mark or ''}{curve.name}{curve.formula}" for curve in series]
    return "".join([*names, caption])


def text_of_heat_map(heat: HeatMap, caption: str) -> str:
    """All names and labels that the figure of a heat map may show."""
    marked = [contour.name for contour in heat.contours] + [point.name for point in heat.points]
    missing = heat.missing if np.isnan(heat.z).any() else ""
    return text_of_chart([], heat.axes, "".join([*marked, heat.z_label, missing, caption]))


def heat_map_figure(heat: HeatMap, kind: str, caption: str = "") -> bytes:
    """The heat map as `pdf` or `png`, on white: the colours of the light screen, the more the darker.

    What is missing is hatched. A file of vectors holds a picture instead of more than `MOST_CELLS` cells.
    """
    from matplotlib.colors import ListedColormap, LogNorm, Normalize
    from matplotlib.patches import Patch
    from matplotlib.ticker import StrMethodFormatter

    with settings(text_of_heat_map(heat, caption)):
        sheet, plot = _axes(heat.axes)
        scale = value_scale(heat.z, heat.z_log)
        mesh = plot.pcolormesh(
            borders(heat.x, heat.x_log),
            borders(heat.y, heat.y_log),
            heat.z.clip(*scale.limits),
            cmap=ListedColormap(colour_map(dark_is_more=True).colours / 255.0),
            norm=(LogNorm if scale.log else Normalize)(*scale.limits),
            edgecolors="face",
            linewidth=0.1,
            rasterized=heat.z.size > MOST_CELLS,
        )
        bar = sheet.colorbar(mesh, ax=plot, label=" ".join(filter(None, (heat.z_label, _remark(scale)))))
        bar.solids.set(rasterized=False, edgecolor="face")
        if scale.log:
            bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        for contour in heat.contours:
            _upon(plot, contour.path, contour.name, linestyle=STYLES[contour.style], linewidth=1.2)
        for number, point in enumerate(heat.points):
            place = np.array([[point.x, point.y]])
            _upon(plot, place, point.name, marker=MARKERS[number % len(MARKERS)], linestyle="")
        handles, names = plot.get_legend_handles_labels()
        if np.isnan(heat.z).any():
            hatched: dict[str, Any] = {
                "hatch": "....",
                "facecolor": "white",
                "edgecolor": "#8a929a",
                "linewidth": 0,
            }
            plot.patch.set(**hatched)
            handles, names = [*handles, Patch(**hatched)], [*names, heat.missing]
        _foot(sheet, caption, handles, names)
        return _written(sheet, kind)


def _remark(scale: ValueScale) -> str:
    return f"({scale.hidden})" if scale.hidden else ""


def _upon(plot: Any, path: np.ndarray, name: str, **how: Any) -> None:
    """Draw in black, seamed with white, so that it is seen on every colour."""
    from matplotlib.patheffects import withStroke

    effects = [withStroke(linewidth=2.6, foreground="white")]
    plot.plot(*path.T, color="black", label=name or "_unnamed", path_effects=effects, **how)


def _axes(axes: Axes) -> tuple[Any, Any]:
    """A sheet with axes on it."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter, MaxNLocator, StrMethodFormatter

    sheet = Figure(INCHES, layout="constrained")
    plot = sheet.add_subplot(
        title=axes.title,
        xlabel=axes.x_label,
        ylabel=axes.y_label,
        xlim=axes.x_limits,
        ylim=axes.y_limits,
        xscale="log" if axes.x_log else "linear",
        yscale="log" if axes.y_log else "linear",
    )
    for axis, logarithmic in ((plot.xaxis, axes.x_log), (plot.yaxis, axes.y_log)):
        if logarithmic:
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))  # not formulas: those are not parsed
            axis.set_minor_formatter(LogFormatter())
    if axes.x_names:
        plot.set_xticks([x for x, _ in axes.x_names], [name for _, name in axes.x_names])
    elif axes.x_whole and not axes.x_log:
        plot.xaxis.set_major_locator(MaxNLocator(integer=True))
    if axes.y_whole and not axes.y_log:
        plot.yaxis.set_major_locator(MaxNLocator(integer=True))
    return sheet, plot


def _foot(sheet: Any, caption: str, handles: Sequence[Any] = (), names: Sequence[str] = ()) -> None:
    """Put a legend under the axes, and below it the caption, for both of which the sheet becomes higher."""
    lines = wrap(caption, CAPTION_LETTERS, break_on_hyphens=False)
    width, height = INCHES
    longest = max(map(len, names), default=0)
    per_line = min(max(LETTERS_PER_LINE // (longest + SAMPLE), 1), NAMES_PER_LINE)
    height += CAPTION_LINE * max(0, -(-len(names) // per_line) - ROOM_FOR_LINES)
    room = CAPTION_LINE * (len(lines) + 1) if lines else 0.0
    below = room / (height + room)
    sheet.set_size_inches(width, height + room)
    foot = CAPTION_LINE / 2 / (height + room)
    sheet.text(0.02, foot, "\n".join(lines), va="bottom", fontsize=CAPTION_SIZE)
    if names:
        where = {"loc": "lower center", "bbox_to_anchor": (0.5, below), "ncols": per_line}
        legend = sheet.legend(handles, names, frameon=False, fontsize=8, handlelength=3, **where)
        below += foot + legend.get_window_extent().height / sheet.bbox.height
    sheet.get_layout_engine().set(rect=(0, below, 1, 1 - below))


def _written(sheet: Any, kind: str) -> bytes:
    """The file, without a date, so that the same figure gives the same file."""
    file = io.BytesIO()
    metadata = {"CreationDate": None} if kind == "pdf" else None
    sheet.savefig(file, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()


def _curve(plot: Any, one: Series, axes: Axes) -> Any:
    """Draw a curve, or a dot for a single point; its line."""
    alone = one.style == "points" or np.count_nonzero(np.isfinite(one.y) & ~(axes.x_log & (one.x <= 0))) == 1
    number = 0 if one.mark is None else number_of(one.mark)
    name = " ".join(filter(None, (one.mark, one.name.removesuffix(SMALL_LETTERS))))
    (line,) = plot.plot(
        one.x,
        drawable(one.y, axes),
        color=one.colour,
        label=name if one.name else "_unnamed",
        linewidth=0.5 if one.faint else 1.2,
        linestyle=STYLES[one.style],
        alpha=0.4 if one.faint else 1.0,
        marker=MARKERS[number % len(MARKERS)] if one.mark else "." if alone else None,
        markersize=4,
        markevery=(number / 40, 1 / MARKS_PER_CURVE) if one.mark else None,
    )
    if (band := drawable_band(one, axes)) is not None:
        plot.fill_between(one.x, *band, color=one.colour, alpha=0.2, linewidth=0)
    return line


def arrows(plot: Any, one: Series, axes: Axes) -> None:
    """Arrows to the foot of a logarithmic axis where a curve whose points stand apart is 0 up to rounding."""
    from matplotlib.markers import CARETDOWN

    if len(x := zeros_of(one, axes, CELLS)):
        foot = {"transform": plot.get_xaxis_transform(), "marker": CARETDOWN, "markersize": 7}
        plot.plot(x, np.zeros(len(x)), color=one.colour, linestyle="", clip_on=False, **foot)


def _region(plot: Any, one: Series, axes: Axes) -> None:
    """Shade a region of the theory lightly."""
    assert one.band is not None, "a region is a band"
    low, high = (np.clip(edge, *axes.y_limits) for edge in one.band)
    plot.fill_between(one.x, low, high, color=one.colour, alpha=0.08, linewidth=0)


def _bound(plot: Any, one: Series, once: Series, axes: Axes) -> Any:
    """Draw a bound where no other runs along it; its line."""
    name = f"{one.name} {one.formula}".rstrip() or "_unnamed"
    how = {"color": one.colour, "linewidth": 2.4, "linestyle": STYLES[one.style], "label": name}
    (line,) = plot.plot(once.x, drawable(once.y, axes), **how)
    return line


def _names(plot: Any, series: Sequence[Series], axes: Axes) -> None:
    """The names of lines of the theory beside them, where a screen of as many letters would have them."""
    from matplotlib.patheffects import withStroke

    columns, rows = NAMES_GRID
    for at, row, column, name in paint(series, axes, columns, rows).names:
        plot.text(
            column / columns,
            1 - (row + 0.8) / rows,
            name,
            transform=plot.transAxes,
            color=series[at].colour,
            fontsize=7,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
