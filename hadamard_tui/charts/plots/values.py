"""Values of curves at the playhead, each with the theory line to compare it with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
from msgspec.structs import replace

from engine.core.expressions import number
from engine.pictures.bounds import line_for
from engine.pictures.view import ZERO, negligible
from engine.pictures.wording import curve_name, line_in_brief
from hadamard_tui.charts.plots.series_builder import colour, letter_of, mark
from hadamard_tui.colours.contrast import legible

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, HeatView, KindPlace, LineView, View
    from hadamard_tui.charts.plots.look import Look

MOST_TIMES = 1e5
"""Ratio of a value to its theory line from which the ratio is not shown."""


class ShownValue(msgspec.Struct, frozen=True):
    """Value of a curve or heat map that tables show: the value at the playhead or cursor."""

    mark: str
    """Letter of the curve in the chart, or a blank if it has none."""

    name: str
    kind_place: KindPlace | None
    """Kind of the learner, and index of the curve among the curves of this kind; None for a reference."""

    learner: str
    state: str
    """State of the curve, such as "done", or the reason why it has no value, such as "waiting"."""

    value: float | None = None
    """None if the curve has no value at this x."""

    line: LineView | None = None
    """Theory line to compare the value with, or None."""

    height: float | None = None
    """Value of the theory line at the same x."""

    binds: bool = True
    """Whether the theory line applies to the learner. If it does not, the value may be below a bound."""

    diverged: int = 0
    """Number of replicas that have diverged up to this x."""

    rounding: float = 0.0
    """Largest absolute value that counts as 0, because it may be a rounding error."""

    is_count: bool = False
    """Whether the value is a count or an x value, so that it is shown without decimals."""

    curve: CurveView | None = None
    """Curve of the value; None for a heat map."""

    which: str = ""
    """Name of the theory line."""

    signed: bool = False
    """Whether the picture has values below 0, for which ratios to a theory line have no meaning."""

    @property
    def tint(self) -> str:
        """Colour of the name in tables. It is not a field, because the theme may change."""
        return legible(colour(self.kind_place))

    @property
    def ratio(self) -> float | None:
        """`value` divided by `height`, which is the value of the theory line at the same x.

        The result is None if `value` or `height` is None, if the line is 0 up to rounding, or if the picture
        has negative values. It is also None for a ratio of MOST_TIMES or more.
        """
        if self.value is None or self.height is None or self.signed or abs(self.height) <= ZERO:
            return None
        ratio = 0.0 if abs(self.value) <= self.rounding else self.value / self.height
        return ratio if abs(ratio) < MOST_TIMES else None


_of: WeakKeyDictionary[Look, list[ShownValue]] = WeakKeyDictionary()


def values(look: Look) -> list[ShownValue]:
    """Return the values of all heat maps and curves of a picture, and then those of its pinned runs."""
    if look not in _of:
        _of[look] = _shown_values(look)
    return _of[look]


def _shown_values(look: Look) -> list[ShownValue]:
    own_values = [_value_of_heat_map(look, number, heat) for number, heat in enumerate(look.view.heats)]
    signed = _is_signed(look.view)
    own_values += [
        replace(_value_of_curve(look, look.view, curve), signed=signed) for curve in look.view.curves
    ]
    return [*own_values, *_pinned_values(look)]


def looked_at(look: Look, learner_name: str) -> ShownValue | None:
    """Return the value that a short summary of a picture states, or None if the picture has no values.

    If the picture compares learners, return the smallest of the learners' values; references count only if
    there are no other learners. Otherwise, return the value of `learner_name`, or the first value if this
    learner has none. In pictures of a risk, diverged learners do not count.
    """
    candidates = [value for value in _unpinned_values(look) if value.value is not None]
    if look.view.picture.measure.structure().is_risk:  # means over the remaining replicas have no meaning
        candidates = [candidate for candidate in candidates if not candidate.diverged]
    if compares(look.view):
        only_references = all(curve.training.is_reference for curve in look.view.curves)
        compared = [
            candidate
            for candidate in candidates
            if candidate.curve is None or only_references or not candidate.curve.training.is_reference
        ]
        return min(compared, key=_measured_number, default=None)
    wanted = [candidate for candidate in candidates if candidate.learner == learner_name] or candidates
    at_point = [
        value for value in wanted if value.curve is None or value.curve.training.point in (None, look.point)
    ] or wanted
    return at_point[0] if at_point else None


def compares(view: View) -> bool:
    structure = view.picture.measure.structure()
    return structure.is_risk and not structure.per_learner and len(view.curves) + len(view.heats) > 1


def equals(look: Look, best: ShownValue) -> int:
    """Return how many other learners have the value `best`, up to rounding."""
    lowest = _measured_number(best)
    candidates = [value for value in _unpinned_values(look) if value.value is not None and not value.diverged]
    return (
        sum(_is_same(_measured_number(candidate), lowest, candidate.rounding) for candidate in candidates) - 1
    )


def _is_same(value: float, other: float, rounding: float) -> bool:
    return (
        abs(value - other) <= rounding * max(abs(value), abs(other))
        or max(abs(value), abs(other)) <= rounding
    )


def _unpinned_values(look: Look) -> list[ShownValue]:
    return values(look)[: len(look.view.curves) + len(look.view.heats)]


def _measured_number(measured: ShownValue) -> float:
    assert measured.value is not None, "those without are left out"
    return measured.value


def _pinned_values(look: Look) -> Iterator[ShownValue]:
    for place, run in enumerate(look.pinned, start=1):
        signed = _is_signed(run.view)
        for curve in run.view.curves:
            yield replace(_value_of_curve(look, run.view, curve, place, run.name), signed=signed)


def _value_of_curve(look: Look, view: View, curve: CurveView, run: int = 0, run_name: str = "") -> ShownValue:
    """Return the value of a curve. `run` is 0 for the run on the screen, and 1, 2, … for pinned runs."""
    letter = letter_of(curve) or " "
    without_value = ShownValue(
        mark=letter.lower() if run else letter,
        name=f"{curve_name(view, curve)} · {run_name}" if run else curve_name(view, curve),
        kind_place=curve.kind_place,
        learner=curve.learner,
        state=_reason_without_value(look, curve, run > 0),
        rounding=look.rounding,
        is_count=_is_count(view),
        curve=curve,
    )
    number = look.number_at(curve, pinned=run > 0)
    if number is None:
        return without_value
    x, y = float(curve.x[number]), float(curve.y[number])
    line = line_for(view, curve, x)
    return replace(
        without_value,
        state=_curve_state(look, curve, number, run > 0),
        value=y if np.isfinite(y) or (np.isinf(y) and _is_place(view)) else None,
        line=line,
        which="" if line is None else line_in_brief(view, line),
        height=None if line is None else line.at(x),
        binds=line is None or line.binds(curve),
        diverged=_lost_replicas(curve, number),
    )


def _lost_replicas(curve: CurveView, place: int) -> int:
    """Return how many replicas have diverged up to evaluation point `place` of a curve.

    If the curve ends at this point because all replicas diverged, return the number of all replicas.
    """
    is_last = place == len(curve.x) - 1
    if curve.places.clock is not None and curve.ends.diverged == curve.replicas and is_last:
        return curve.replicas
    return int(curve.ends.lost[place])


def _is_signed(view: View) -> bool:
    least = min(
        (float(np.nanmin(curve.y)) for curve in view.curves if np.isfinite(curve.y).any()), default=0.0
    )
    return least < -negligible(view) - ZERO


def _is_place(view: View) -> bool:
    """Return whether a picture's values are positions, such as the step at which the loss reaches a level.

    An infinite value means that the level is never reached.
    """
    how = view.picture.reading
    return how is not None and how.is_place


def _is_count(view: View) -> bool:
    counted = _is_place(view) and view.picture.share is None
    return counted or (view.picture.measure.structure().is_integer and view.quantity.as_measured)


def _curve_state(look: Look, curve: CurveView, number: int, pinned: bool) -> str:
    if lost := _lost_replicas(curve, number):
        where = f" at {curve.ends.diverged_at:g}" if curve.places.clock is not None else ""
        return f"{curve.ends.fate}{where}" + (f": {lost}/{curve.replicas}" if lost < curve.replicas else "")
    at_last = number == len(curve.x) - 1
    looks_back = curve.places.clock is not None and look.place < look.shown
    over = pinned or (curve.ends.ended and (at_last or not look.is_played(curve)))
    if over and (at_last or not looks_back):
        return "done"
    if look.is_played(curve) and look.at_end:
        return "done"
    ended = curve.ends.ended and (not len(curve.x) or curve.x[-1] <= look.shown)  # up to the last shown point
    return "stopped" if look.stopped and not ended else "learning"


def _reason_without_value(look: Look, curve: CurveView, pinned: bool) -> str:
    """Return why a curve has no value at the table's x. For example, "to 64": the curve ends at x = 64."""
    if curve.training.oracle_tuned and not len(curve.x):
        return "trying rates"
    is_whole = pinned or curve.ends.complete or len(curve.x) >= curve.places.planned
    if curve.places.clock is not None or not is_whole:
        return "waiting"
    places = curve.x[~np.isnan(curve.y)]
    if not len(places) or look.shown_at is None or places.min() < look.shown_at < places.max():
        return "not here"
    return f"to {number(places.max())}" if places.max() < look.shown_at else f"from {number(places.min())}"


def _value_of_heat_map(look: Look, number: int, heat: HeatView) -> ShownValue:
    column, row = np.flatnonzero(heat.x == look.x), np.flatnonzero(heat.y == look.y)
    value = float(heat.z[row[0], column[0]]) if len(column) and len(row) else np.nan
    is_defined = not np.isnan(value)
    return ShownValue(
        mark=mark(number),
        name=heat.learner,
        kind_place=heat.kind_place,
        learner=heat.learner,
        state="done" if is_defined or not np.isnan(heat.z).any() else "waiting",
        value=value if is_defined else None,
        rounding=look.rounding,
        is_count=_is_count(look.view),
    )
