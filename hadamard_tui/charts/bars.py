"""Bars: values of curves at few places, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.pictures.wording import short_name
from hadamard_tui.charts.series import Limits, Series
from hadamard_tui.charts.series_builder import colour_of, letter_of

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View

SHARE = 0.8
"""Share of the distance of neighbouring places that their bars take."""


def bars(view: View) -> list[Series]:
    """Return a bar from 0 at each place of each curve, with its colour, letter and error."""
    places, count = view.places, len(view.curves)
    if not len(places) or not count:
        return []
    log = view.axes.x_log and bool((places > 0).all())
    width = SHARE * _apart(places, log) / count
    return [
        series
        for number, curve in enumerate(view.curves)
        for series in _drawn(curve, short_name(view, curve), (number - count / 2) * width, width, log)
    ]


def ends_of_bars(values: np.ndarray, log: bool) -> Limits:
    """Return the limits of an x-axis that has room for the bars at these places."""
    places = np.unique(values[np.isfinite(values)])
    half = _apart(places, log) / 2
    low, high = _moved(places[[0, -1]], np.array([-half, half]), log).tolist()
    return low, high


def _apart(places: np.ndarray, log: bool) -> float:
    """Return the least distance of neighbours; on a logarithmic axis the distance of logarithms."""
    along = np.log(places) if log else places
    return float(np.diff(along).min()) if len(along) > 1 else 1.0


def _moved(places: np.ndarray, by: np.ndarray | float, log: bool) -> np.ndarray:
    moved: np.ndarray = places * np.exp(by) if log else places + by
    return moved


def _drawn(curve: CurveView, name: str, offset: float, width: float, log: bool) -> Iterator[Series]:
    """Yield the bars of a curve as one line with gaps, and its errors.

    Args:
        offset: distance from a place to the start of its bar.
    """
    finite = np.isfinite(curve.y)
    x, y = curve.x[finite], curve.y[finite]
    nothing = np.full_like(y, np.nan)
    sides = _moved(x, offset, log), _moved(x, offset + width, log)
    around = np.stack([sides[0], sides[0], sides[1], sides[1], sides[1]], 1).ravel()
    up = np.stack([np.zeros_like(y), y, y, np.zeros_like(y), nothing], 1).ravel()
    foot, top = (np.stack([edge, edge, edge, edge, nothing], 1).ravel() for edge in (np.zeros_like(y), y))
    tint, band = colour_of(curve), (np.minimum(foot, top), np.maximum(foot, top))
    yield Series(name, around, up, tint, band=band, mark=letter_of(curve) or None)
    if curve.stderr is not None:
        error, middle = curve.stderr[finite], _moved(x, offset + width / 2, log)
        whiskers = np.stack([y - error, y + error, nothing], 1).ravel()
        yield Series("", middle.repeat(3), whiskers, tint)
