"""From a view to a chart: which curve gets which colour, style and letter, and which limits the axes have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from engine.results.view import ContourView, HeatView, View
from engine.spec.picture import Mark
from hadamard_tui.charts.contours import level_lines
from hadamard_tui.charts.heat_map import Contour, HeatMap
from hadamard_tui.charts.series import Axes, LineStyle, Series, limits
from hadamard_tui.charts.series_builder import colour, theory
from hadamard_tui.charts.series_builder import mark as letter
from hadamard_tui.looks import palette

LINE_STYLES: dict[str, LineStyle] = {"conjecture": "dotted", "asymptotic": "sparse", "shape": "sparse"}
"""Those of lines that are less than proved; others are dashed."""

NO_NUMBERS: Mapping[str, int] = MappingProxyType({})
"""Curves have those of their order."""

DECADES = 12.0
"""A logarithmic axis reaches so far below its top at most."""


def view_series(view: View, numbers: Mapping[str, int] = NO_NUMBERS) -> list[Series]:
    """The curves of a view, then its lines: their dashes stay visible on a curve that runs along them.

    `numbers` are those of the learners, by name, for the letters and colours of their curves.
    """
    series = []
    for place, curve in enumerate(view.curves):
        number = numbers.get(curve.name, place)
        there = np.isfinite(curve.y) & np.isfinite(curve.x)
        x, y = curve.x[there], curve.y[there]
        if curve.is_reference:
            series.append(Series(curve.name, x, y, theory(), "long"))
            continue
        band = None
        if curve.stderr is not None:
            error = np.nan_to_num(curve.stderr[there], posinf=0.0)
            band = y - error, y + error
        series.append(Series(curve.name, x, y, colour(number), band=band, mark=letter(number)))
    for line in view.lines:
        there = np.isfinite(line.y)
        style = LINE_STYLES.get(line.direction, "dashed")
        series.append(Series(line.name, line.x[there], line.y[there], theory(), style))
    return [*series, *_marks(view, series)]


def _marks(view: View, series: Sequence[Series]) -> list[Series]:
    """Straight lines through all that the series show."""
    xs, ys = (np.concatenate([getattr(one, name) for one in series] or [np.empty(0)]) for name in "xy")
    if not len(xs):
        return []
    others = palette.current().others
    found = []
    for mark in view.picture.marks:
        if mark.x is not None:
            found.append(
                Series(mark.name, np.full(2, mark.x), np.array([ys.min(), ys.max()]), others, "pairs")
            )
        elif mark.y is not None:
            found.append(
                Series(mark.name, np.array([xs.min(), xs.max()]), np.full(2, mark.y), others, "pairs")
            )
    return found


def view_axes(view: View, series: Sequence[Series]) -> Axes:
    """Axes that hold all that the series show; without positive numbers none is logarithmic."""
    x, x_log = _limits(np.concatenate([one.x for one in series] or [np.empty(0)]), view.x_log)
    y, y_log = _limits(np.concatenate([one.y for one in series] or [np.empty(0)]), view.y_log)
    title = view.picture.title or f"{view.y_label} against {view.x_label}"
    return Axes(title, view.x_label, view.y_label, x, y, x_log, y_log)


def _limits(values: np.ndarray, log: bool) -> tuple[tuple[float, float], bool]:
    if not log or not len(positive := values[values > 0]):
        return limits(values), False
    top = float(positive.max())
    bottom = max(float(positive.min()), top * 10.0**-DECADES)
    room = (top / bottom) ** 0.03 if top > bottom else 2.0
    return (bottom / room, top * room), True


def heat_map(view: View, heat: HeatView) -> HeatMap:
    """A learner's heat map."""
    picture = view.picture
    title = f"{view.y_label} of {heat.learner}"
    if picture.title:
        title = picture.title if len(view.heats) == 1 else f"{picture.title}: {heat.learner}"
    logarithmic = view.x_log and bool(heat.x[0] > 0), view.rows_log and bool(heat.y[0] > 0)
    levels = (_level(contour, heat, *logarithmic) for contour in heat.contours)
    marks = (_contour(mark, heat) for mark in picture.marks)
    return HeatMap(
        heat.x,
        heat.y,
        heat.z,
        heat.stderr,
        x_label=view.x_label,
        y_label=picture.y or "",
        z_label=view.y_label,
        title=title,
        x_log=logarithmic[0],
        y_log=logarithmic[1],
        z_log=view.y_log,
        contours=(*(one for one in levels if len(one.path)), *marks),
    )


def _level(contour: ContourView, heat: HeatView, x_log: bool, y_log: bool) -> Contour:
    """Where a line of the theory has its level; an empty path if nowhere on the map."""
    path = level_lines(heat.x, heat.y, contour.values, contour.level, x_log, y_log)
    return Contour(contour.name, path, LINE_STYLES.get(contour.direction, "dashed"))


def _contour(mark: Mark, heat: HeatView) -> Contour:
    """A straight line over a heat map."""
    x = heat.x[[0, -1]] if mark.x is None else np.full(2, mark.x)
    y = heat.y[[0, -1]] if mark.y is None else np.full(2, mark.y)
    return Contour(mark.name, np.stack([x, y], 1))
