"""Drawing of charts and heat maps on matplotlib axes, in a user's own figure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hadamard_tui.charts.drawing.legend import legend_entries
from hadamard_tui.charts.drawing.raster import paint_series
from hadamard_tui.charts.series import is_line
from hadamard_tui.colours.palette import colour_map
from hadamard_tui.sharing.svg import BAND, CURVE, LINE, REGION, THIN
from hadamard_tui.sharing.svg_page import dash_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    import matplotlib.axes

    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.series import Axes, LineStyle, Series

COLUMNS, ROWS = 120, 40
"""Size in cells of a virtual screen. Curves that coincide on this screen are drawn as one line."""

FAINT = 0.35

DOT = 3.0
"""Size, in typographic points, of a data point that is drawn as a separate dot."""


DASH_SCALES = 1.0, 0.4, 2.2
"""Factors for the dashes of the first, second and third theory line with the same colour and line style."""

BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
"""Arguments of matplotlib that place a legend to the right of the axes, where it covers no curve."""

FIGURE_SIZE = 9.0, 4.8
"""Size in inches of a new figure, whose legend stands beside its axes."""


def new_axes() -> matplotlib.axes.Axes:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=FIGURE_SIZE, layout="constrained")[1]


def draw_chart(
    ax: matplotlib.axes.Axes, series: Sequence[Series], axes: Axes, legend_beside: bool = False
) -> None:
    """Draw curves, error bands and theory lines, and set labels, scales, limits and legend of the axes.

    Curves that would coincide on the screen share one line, whose dashes alternate between their colours. The
    legend lists them together: ≡ joins equal curves, and ≈ joins close curves.

    Args:
        legend_beside: whether the legend stands beside the axes. Otherwise, it stands where it covers least.
    """
    from matplotlib.lines import Line2D

    painted = paint_series(series, axes, COLUMNS, ROWS)
    turns = {number: (turn, len(group)) for group in painted.shared for turn, number in enumerate(group)}
    regions = [number for number, curve in enumerate(series) if curve.is_region]
    entries = legend_entries(series, painted.groups, left_out=regions, y_log=axes.y_log)
    labels = {
        part.at: f"{part.relation}{part.name}" for legend_entry in entries for part in legend_entry.parts
    }
    handles: dict[int, Line2D] = {}
    scales = _dash_scales(series)
    for number, curve in enumerate(series):
        if curve.band is not None:
            shade = REGION if curve.is_region else BAND
            ax.fill_between(curve.x, *curve.band, color=curve.colour, alpha=shade, linewidth=0)
        if curve.is_region:
            continue
        width = THIN if curve.faint else LINE if is_line(curve) else CURVE
        style: dict[str, Any] = {"color": curve.colour, "alpha": FAINT if curve.faint else 1.0}
        style["linewidth"] = width
        if curve.style == "points":
            style |= {"linestyle": "none", "marker": "o", "markersize": DOT}
        else:
            style["linestyle"] = _line_style(curve.style, width, scales[number], *turns.get(number, ()))
        (handles[number],) = ax.plot(curve.x, curve.y, label=labels.get(number, "_nolegend_"), **style)
    _set_axes(ax, axes)
    if labels:
        legend = ax.legend(
            handles=[handles[labelled] for labelled in labels],
            fontsize="small",
            handlelength=3,
            **(BESIDE if legend_beside else {}),
        )
        for labelled, handle in zip(labels, legend.legend_handles, strict=True):
            if series[labelled].style != "points" and isinstance(handle, Line2D):
                # the line style itself, without the alternating dashes of a shared line
                handle.set_linestyle(_line_style(series[labelled].style, scale=scales[labelled]))


def draw_heat_map(ax: matplotlib.axes.Axes, heat: HeatMap) -> None:
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    low, high = heat.scale.limits
    norm = (LogNorm if heat.scale.log else Normalize)(low, high)
    colours = ListedColormap(colour_map(dark_is_more=True).colours / 255)
    mesh = ax.pcolormesh(heat.x, heat.y, heat.z, cmap=colours, norm=norm, shading="nearest")
    for contour in heat.contours:
        ax.plot(*contour.path.T, color="black", linestyle=_line_style(contour.style), label=contour.name)
    for point in heat.points:
        ax.plot([point.x], [point.y], marker=f"${point.mark}$", color="black", linestyle="none")
    _set_axes(ax, heat.axes)
    ax.figure.colorbar(mesh, ax=ax, label=heat.z_label)
    if any(contour.name for contour in heat.contours):
        ax.legend(fontsize="small", handlelength=3)


def _dash_scales(series: Sequence[Series]) -> list[float]:
    """Return a factor for the dashes of each series.

    It distinguishes up to three theory lines of the same colour and line style.
    """
    looks: Counter[tuple[str, str]] = Counter()
    scales = []
    for curve in series:
        look = curve.colour, curve.style
        scales.append(DASH_SCALES[looks[look] % len(DASH_SCALES)] if is_line(curve) else 1.0)
        looks[look] += not curve.is_region
    return scales


def _line_style(
    style: LineStyle, width: float = CURVE, scale: float = 1.0, turn: int = 0, turns: int = 1
) -> Any:
    """Return the argument `linestyle` of matplotlib for a line style.

    Args:
        width: line width, which is matplotlib's unit of dash lengths.
        scale: factor for all dash lengths.
        turn, turns: arguments of `dash_pattern`.
    """
    if (pattern := dash_pattern(style, turn, turns)) is None:
        return "solid"
    return scale * pattern.offset / width, [scale * length / width for length in pattern.lengths]


def _set_axes(ax: matplotlib.axes.Axes, axes: Axes) -> None:
    ax.set_title(axes.title, fontsize="medium")
    ax.set_xlabel(axes.x_label)
    ax.set_ylabel(axes.y_label)
    ax.set_xscale("log" if axes.x_log else "linear")
    ax.set_yscale("log" if axes.y_log else "linear")
    ax.set_xlim(*(axes.x_limits[::-1] if axes.x_falls else axes.x_limits))
    ax.set_ylim(*(axes.y_limits[::-1] if axes.y_down else axes.y_limits))
    if axes.x_names:
        ax.set_xticks([place for place, _ in axes.x_names], [name for _, name in axes.x_names])
    if axes.y_names:
        ax.set_yticks(np.arange(len(axes.y_names)), axes.y_names)
