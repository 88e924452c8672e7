"""The marks of a picture: straight lines through all that it shows, and lines along its axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from hadamard_tui.charts.patterns import is_line
from hadamard_tui.charts.series import Axes, LineStyle, Series
from hadamard_tui.charts.series_builder import others

if TYPE_CHECKING:
    from engine.pictures.picture import Marked
    from engine.pictures.view import View

STYLE: LineStyle = "pairs"


def marks(view: View, series: Sequence[Series], x_log: bool) -> list[Series]:
    """Marks, straight ones through all that the series show: above 0, where x is logarithmic."""
    xs, ys = (np.concatenate([getattr(one, name) for one in series] or [np.empty(0)]) for name in "xy")
    xs, ys = xs[xs > 0] if x_log else xs, ys[np.isfinite(ys)]
    if not (len(xs) and len(ys)):
        return []
    found = []
    for mark in _once(view.marks):
        x, y = mark.between(xs[[xs.argmin(), xs.argmax()]], ys[[ys.argmin(), ys.argmax()]])
        found.append(Series(mark.name, np.array(x), np.array(y), others(), STYLE))
    return found


def upright(one: Series, axes: Axes) -> Series:
    """A mark at one place on x, from the foot of the chart to its top; all else as it is."""
    is_upright = one.style == STYLE and is_line(one) and len(one.x) == 2 and one.x[0] == one.x[1]
    return replace(one, y=np.array(axes.y_limits)) if is_upright else one


def _once(marks: Sequence[Marked]) -> list[Marked]:
    """The marks to draw: those at the same places, whatever splits the curves, are one, of that title."""
    at_places: dict[tuple[tuple[float, ...], tuple[float, ...]], list[Marked]] = {}
    for mark in marks:
        at_places.setdefault((mark.x, mark.y), []).append(mark)
    found = []
    for same in at_places.values():
        parts = zip(*(mark.name.split(", ") for mark in same), strict=False)
        shared = ", ".join(part[0] for part in takewhile(lambda part: len({*part}) == 1, parts))
        found += [same[0]._replace(name=shared)] if len(same) > 1 and shared else same
    return found
