"""The numbers at the place that is looked at: the value of every curve, and the line it is compared with."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from engine.pictures.view import ZERO, CurveView, HeatView, LineView, View
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.series_builder import colour, colour_of, letter_of, mark


@dataclass(frozen=True)
class Value:
    """A curve, or a learner's row of a heat map, at the place that is looked at."""

    mark: str
    """Its letter in the chart; a blank where it has none."""

    name: str
    tint: str
    learner: str
    state: str
    """Where it stands, in words."""

    value: float | None = None
    """None where it has none there."""

    line: LineView | None = None
    """The line that it is compared with."""

    height: float | None = None
    """That of the line, there."""

    binds: bool = True
    """Whether the line binds it, or is one that it may beat."""

    diverged: int = 0
    """How many of its replicas have diverged by then."""

    rounding: float = 0.0
    """What arithmetic alone may have made of 0."""

    is_count: bool = False
    """Whether it is a whole number, or a place that was read off, which decimals say nothing of."""

    curve: CurveView | None = None
    """What it is a value of; None for a heat map."""

    @property
    def ratio(self) -> float | None:
        """Value by line; None where there is none, or where the line is 0 but for rounding."""
        if self.value is None or self.height is None or abs(self.height) <= ZERO:
            return None
        return self.value / self.height


def counted(number: float) -> str:
    """A whole number, or a place that was read off, in digits as long as these are few."""
    if abs(number) < 1e5:
        return f"{number:.5g}"
    return f"{number:.0f}" if abs(number) < 1e8 else f"{number:.3g}"


_of: WeakKeyDictionary[Look, list[Value]] = WeakKeyDictionary()


def values(look: Look) -> list[Value]:
    """Those of the curves of a view, then those of the pinned runs; told once, for whoever asks again."""
    if look not in _of:
        _of[look] = _values(look)
    return _of[look]


def _values(look: Look) -> list[Value]:
    found = [_of_heat(look, number, heat) for number, heat in enumerate(look.view.heats)]
    found += [_of_curve(look, look.view, curve) for curve in look.view.curves]
    return [*found, *_pinned(look)]


def looked_at(look: Look, learner: str) -> Value | None:
    """Of a risk the lowest value, of learners of which no replica has diverged; else that of one learner."""
    own = len(look.view.curves) + len(look.view.heats)
    found = [one for one in values(look)[:own] if one.value is not None]
    if look.view.picture.measure.is_risk:
        some = all(curve.is_reference for curve in look.view.curves)
        compared = [one for one in found if one.curve is None or some or not one.curve.is_reference]
        return min((one for one in compared if not one.diverged), key=_value, default=None)
    wanted = [one for one in found if one.learner == learner] or found
    here = [one for one in wanted if one.curve is None or one.curve.point in (None, look.point)] or wanted
    return here[0] if here else None


def _value(one: Value) -> float:
    assert one.value is not None, "those without are left out"
    return one.value


def lowest_ratio(look: Look) -> tuple[float, str, float] | None:
    """Who has been lowest in relation to the bound along the run so far, and where."""
    if not look.view.along_records:
        return None
    return _lowest_ratio(weakref.ref(look.view), tuple(look.past(curve) for curve in look.view.curves))


@lru_cache(maxsize=1)
def _lowest_ratio(of: weakref.ref[View], counts: tuple[int, ...]) -> tuple[float, str, float] | None:
    """The same among so many places of every curve; the view is not kept alive."""
    view = of()
    assert view is not None, "whoever asks holds the view"
    found = []
    for curve, count in zip(view.curves, counts, strict=True):
        sound = len(curve.x) if not len(curve.divergences) else int(np.count_nonzero(curve.sound))
        whole = min(count, sound)  # a mean over the replicas that have not diverged is no lowest loss
        x, y = curve.x[:whole], curve.y[:whole]
        heights = view.heights(curve, x)
        if heights.any():
            ratios = np.divide(y, heights, out=np.full_like(y, np.inf), where=heights > 0)
            found.append((float(np.nanmin(ratios)), view.in_words(curve), float(x[np.nanargmin(ratios)])))
    return min(found, default=None)


def _pinned(look: Look) -> Iterator[Value]:
    for number, (name, view) in enumerate(look.pinned, start=1):
        for curve in view.curves:
            yield _of_curve(look, view, curve, number, name)


def _of_curve(look: Look, view: View, curve: CurveView, run: int = 0, name: str = "") -> Value:
    """The value of a curve, of run 1, 2, … of the pinned ones with its name."""
    letter = letter_of(curve) or " "
    found = Value(
        mark=letter.lower() if run else letter,
        name=f"{view.in_words(curve)} · {name}" if run else view.in_words(curve),
        tint=colour_of(curve, run > 0),
        learner=curve.learner,
        state=_without_value(curve, run > 0),
        rounding=view.rounding,
        is_count=_is_count(view),
        curve=curve,
    )
    place = look.number_at(curve, pinned=run > 0)
    if place is None:
        return found
    x, y = float(curve.x[place]), float(curve.y[place])
    line = view.line_for(curve, x)
    return replace(
        found,
        state=_state(look, curve, place, run > 0),
        value=None if np.isnan(y) else y,
        line=line,
        height=None if line is None else line.at(x),
        binds=line is None or line.binds(curve),
        diverged=curve.lost_by(place),
    )


def _is_count(view: View) -> bool:
    how = view.picture.reading
    return (how is not None and how.is_place) or (view.picture.measure.whole and view.as_measured)


def _state(look: Look, curve: CurveView, place: int, pinned: bool) -> str:
    if lost := curve.lost_by(place):
        where = f" at {curve.diverged_at:g}" if curve.clock is not None else ""
        return f"diverged{where}" + (f": {lost}/{curve.replicas}" if lost < curve.replicas else "")
    at_last = place == len(curve.x) - 1
    if pinned or (curve.ended and (at_last or not look.is_played(curve))):
        return "done"
    if look.is_played(curve) and look.at_end:
        return "done"
    ended = curve.ended and (not len(curve.x) or curve.x[-1] <= look.shown)  # as far as a person has seen
    return "stopped" if look.stopped and not ended else "learning"


def _without_value(curve: CurveView, pinned: bool) -> str:
    if curve.oracle_tuned and not len(curve.x):
        return "trying rates"
    is_whole = pinned or curve.complete or len(curve.x) >= curve.planned
    return "not here" if curve.clock is None and is_whole else "waiting"


def _of_heat(look: Look, number: int, heat: HeatView) -> Value:
    """The value of a cell of a heat map."""
    column, row = np.flatnonzero(heat.x == look.x), np.flatnonzero(heat.y == look.y)
    value = float(heat.z[row[0], column[0]]) if len(column) and len(row) else np.nan
    there = not np.isnan(value)
    return Value(
        mark=mark(number),
        name=heat.learner,
        tint=colour(number, None),
        learner=heat.learner,
        state="done" if there or not np.isnan(heat.z).any() else "waiting",
        value=value if there else None,
        rounding=look.view.rounding,
        is_count=_is_count(look.view),
    )
