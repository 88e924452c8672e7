"""Which curves along an axis end before others do, or begin behind them, and why."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.pictures.view import CurveView, View
from hadamard_tui.charts.series_builder import letter_of
from hadamard_tui.charts.ticks import number


def ends(view: View) -> str:
    """What a chart says of curves that are done and do not go from its first place to its last."""
    of_reason: dict[str, list[str]] = {}
    if len(view.known_places) and not view.along_records:
        for curve in view.curves:
            if curve.ended and (letter := letter_of(curve)):
                for reason in _reasons(curve, view):
                    of_reason.setdefault(reason, []).append(letter)
    return " · ".join(f"{', '.join(letters)}: {reason}" for reason, letters in of_reason.items())


def _reasons(curve: CurveView, view: View) -> Iterator[str]:
    if not len(curve.x) or len(curve.x) < curve.planned:
        return

    def place(x: float) -> str:
        return f"{view.x_name} = {view.name_at(x) or number(x)}"

    first, last = float(curve.x.min()), float(curve.x.max())
    if first == last and len(view.places) > 1:
        yield f"run at {place(first)} alone"
    elif first > view.places[0]:
        yield f"not run below {place(first)}"
    if first < last < view.places[-1]:
        yield f"not run beyond {place(last)}"
    lost = np.isnan(curve.y) & (curve.lost == curve.replicas)
    if lost.any():
        yield f"diverged at {place(float(curve.x[lost][0]))}"
