"""Axes of a chart, which contain its series and bars and change as little as possible during a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from engine.pictures.view import along_records, is_risk, negligible
from engine.pictures.wording import short_name
from hadamard_tui.charts.plots.look import (
    far_below,
    log_limits,
    risk_limits,
    rounded_off,
    still_limits,
    y_limits,
)
from hadamard_tui.charts.plots.series_builder import colour_of, letter_of
from hadamard_tui.charts.scales import Tick, at_places
from hadamard_tui.charts.series import FEW, Axes, Limits, Series, are_whole, limits

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View
    from hadamard_tui.charts.plots.look import Look


LOWEST = 10.0
"""Divisor of a curve's value. A log axis contains borders of the curve's error band above the quotient."""

SHARE = 0.8
"""Width of all bars at one x, as a fraction of the distance between neighbouring x values."""


def bars(view: View) -> list[Series]:
    """Return the bars of all curves as series. At each x, a curve has one bar from 0 to y."""
    places, count = view.places, len(view.curves)
    if not len(places) or not count:
        return []
    log = view.axes.x_log and bool((places > 0).all())
    width = SHARE * _smallest_distance(places, log) / count
    return [
        series
        for number, curve in enumerate(view.curves)
        for series in _bar_series(curve, short_name(view, curve), (number - count / 2) * width, width, log)
    ]


def ends_of_bars(values: np.ndarray, log: bool) -> Limits:
    places = np.unique(values[np.isfinite(values)])
    half = _smallest_distance(places, log) / 2
    low, high = _moved_places(places[[0, -1]], np.array([-half, half]), log).tolist()
    return low, high


def _smallest_distance(places: np.ndarray, log: bool) -> float:
    along = np.log(places) if log else places
    return float(np.diff(along).min()) if len(along) > 1 else 1.0


def _moved_places(places: np.ndarray, by: np.ndarray | float, log: bool) -> np.ndarray:
    moved: np.ndarray = places * np.exp(by) if log else places + by
    return moved


def _bar_series(
    curve: CurveView, series_name: str, offset: float, width: float, log: bool
) -> Iterator[Series]:
    """Yield series for the bars of a curve: one line with gaps for all bars, then their error bars.

    Args:
        offset: distance from an x value to the left edge of its bar.
    """
    finite = np.isfinite(curve.y)
    x, y = curve.x[finite], curve.y[finite]
    nothing = np.full_like(y, np.nan)
    sides = _moved_places(x, offset, log), _moved_places(x, offset + width, log)
    around = np.stack([sides[0], sides[0], sides[1], sides[1], sides[1]], 1).ravel()
    up = np.stack([np.zeros_like(y), y, y, np.zeros_like(y), nothing], 1).ravel()
    foot, top = (np.stack([edge, edge, edge, edge, nothing], 1).ravel() for edge in (np.zeros_like(y), y))
    tint, band = colour_of(curve), (np.minimum(foot, top), np.maximum(foot, top))
    yield Series(series_name, around, up, tint, band=band, mark=letter_of(curve) or None)
    if curve.stderr is not None:
        error, middle = curve.stderr[finite], _moved_places(x, offset + width / 2, log)
        whiskers = np.stack([y - error, y + error, nothing], 1).ravel()
        yield Series("", middle.repeat(3), whiskers, tint)


def view_axes(look: Look, series: Sequence[Series]) -> tuple[Axes, str]:
    """Return axes for the shown part of the series, and a remark on the y-axis, or "".

    If the user chose a logarithmic y-axis but the axis is linear, the remark is the reason. If x grows during
    the run, such as the number of examples, the limits of a linear y-axis change only in steps. For a loss or
    another risk, the linear y-axis has the limits of `risk_limits`.
    """
    view, options = look.view, look.resolved
    title = view.picture.title or f"{view.axes.y_label} against {view.axes.x_label}"
    x_axis, x_log = _x_axis(look)
    is_whole, names = (
        are_whole(view.places),
        tuple(sorted(view.axes.names.items())) or _ticks_at_few_places(view),
    )
    axes = partial(
        Axes,
        title,
        view.axes.x_label,
        view.axes.y_label,
        x_axis,
        x_log=x_log,
        x_whole=is_whole,
        x_names=names,
        x_falls=_is_x_decreasing(view),
    )
    highest, refused = twice_the_start(view), ""
    is_of_risk = negligible(view) < highest < np.inf
    if options.y_log or options.window is not None or not is_of_risk:
        ys = [_finite_values(curve, x_axis) for curve in series]
        curves = [y for curve, y in zip(series, ys, strict=True) if curve.mark]
        rounding = max(rounded_off(curves, view.quantity.rounding), negligible(view))
        values = np.concatenate([*ys, np.empty(0)])
        threshold = max(rounding, far_below(curves, rounding))
        seen = (values > threshold) | (values <= 0)
        borders = [] if along_records(view) else [_band_borders(curve, x_axis) for curve in series]
        near = [border[(border > np.abs(y) / LOWEST) & (np.abs(y) > threshold)] for border, y in borders]
        y_axis, refused = y_limits(np.concatenate([values[seen], *near]), look.options, view.axes.y_log)
        if y_axis is not None:
            return axes(y_limits=y_axis, y_log=True, y_rounding=rounding), ""
    if is_of_risk and options.window is None:
        return axes(y_limits=_risk_axis_limits(series)), refused
    least = 0.0 if (values >= 0).all() else -np.inf
    held = np.concatenate([values, *(np.maximum(border, least) for border, _ in borders)])
    held = held.clip(-highest, highest)
    held[np.abs(held) <= negligible(view)] = 0.0
    return axes(y_limits=still_limits(held) if along_records(view) else limits(held)), refused


def _is_x_decreasing(view: View) -> bool:
    """Return whether the x-axis shows a measured value that decreases along every curve."""
    ends = [curve.x[[0, -1]] for curve in view.curves if curve.places.is_passed and len(curve.x) > 1]
    return bool(ends) and all(start > end for start, end in ends)


def _ticks_at_few_places(view: View) -> tuple[Tick, ...]:
    places = view.places
    is_few = 1 < len(places) <= FEW and not any(curve.places.is_passed for curve in view.curves)
    return at_places(places.tolist()) if is_few else ()


def _finite_values(curve: Series, x_axis: Limits) -> np.ndarray:
    seen: np.ndarray = curve.y[(curve.x >= x_axis[0]) & (curve.x <= x_axis[1]) & np.isfinite(curve.y)]
    return seen


def _band_borders(curve: Series, x_axis: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Return the visible borders of a curve's error band, and the values of the curve there."""
    if curve.band is None or curve.is_region or not curve.mark:
        return np.empty(0), np.empty(0)
    borders, y = np.concatenate(curve.band), np.tile(curve.y, 2)
    inside = np.tile((curve.x >= x_axis[0]) & (curve.x <= x_axis[1]), 2)
    seen = inside & np.isfinite(borders) & np.isfinite(y)
    return borders[seen], y[seen]


def twice_the_start(view: View) -> float:
    """Return twice the highest starting value of the curves, if they show a risk during a run."""
    starts = [float(curve.y[0]) for curve in view.curves if len(curve.y)]
    has_start = is_risk(view) and along_records(view) and np.isfinite(starts).any()
    return 2 * float(np.nanmax(starts)) if has_start else np.inf


def _risk_axis_limits(series: Sequence[Series]) -> Limits:
    starts = [float(curve.y[0]) for curve in series if len(curve.y) and (curve.mark or curve.name)]
    heights = [y for curve in series if len(y := curve.y[~np.isnan(curve.y)])]
    return risk_limits(starts or [1.0], heights or [np.ones(1)])


def _x_axis(look: Look) -> tuple[Limits, bool]:
    """Return the limits of the x-axis, and whether it is logarithmic.

    If the complete axis is shown, the limits also contain pinned runs and the previous run.
    """
    options = look.resolved
    ghosts = [] if look.ghost is None else [look.ghost]
    views = [look.view, *(run.view for run in (*look.pinned, *ghosts))]
    places_by_view = [view.places for view in views if len(view.places)]
    marks = [x for mark in look.view.axes.marks if not mark.y for x in mark.x]
    if not places_by_view:
        return (0.0, 1.0), False
    if along_records(look.view) or options.window is not None:
        longest = max(places_by_view, key=lambda places: float(places[-1]))
        log = bool(options.x_log) and longest[-1] > 0
        low, high = options.x_limits(longest)
        return (low, high), log and low > 0
    values = np.concatenate([*places_by_view, np.array(marks)])
    if look.view.picture.draw == "bars":
        log = bool(options.x_log) and bool((values > 0).all())
        return ends_of_bars(values, log), log
    if options.x_log and (values > 0).any():
        return log_limits(values, np.inf), True
    return limits(values), False
