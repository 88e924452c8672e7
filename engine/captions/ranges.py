"""From where to where curves go, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.captions.wording import grouped, listed
from engine.core.notation import number
from engine.pictures import reductions
from engine.pictures.view import CurveView

Floats = NDArray[np.float64]

ERRORS = 3.0
"""By so many standard errors a curve has gone beyond others."""

FEW = 4
"""Of a curve that turns and has so few values all are named; none of so few comes from a start."""

STILL = 0.005
"""What changes by less, relative to its greatest value, stays where it is."""

WITHIN_ERRORS = 0.1
"""So does what changes by no more than this and than its errors."""

TURN = 0.05
"""A curve has turned once it goes back by this share of its whole change, and by more than its errors."""

MOST_PAIRED = 32
"""Of so many replicas the error of a difference is computed from differences."""

MOST_TURNS = 2
"""Of a curve that turns more often the least and the greatest value are named."""


BLOCK = 4096


class Range:
    """From where to where a curve goes."""

    def __init__(
        self, curve: CurveView, place: Callable[[float], str], zero: float, is_log: bool, is_named: bool
    ) -> None:
        """`place` says of an x in words where that is; values up to `zero` are rounding; `is_log`: change is
        a matter of ratios; `is_named`: places are named, and nothing lies between them."""
        self._is_course = curve.places.clock is not None or curve.training.point is None
        there = known(curve)
        self._curve, self._there = curve, there
        self.x, self.y = curve.x if there.all() else curve.x[there], values_of(curve)
        self._place, self._zero, self._is_named = place, zero, is_named
        errors = None if curve.stderr is None else np.nan_to_num(curve.stderr[there])
        self._errors = None if errors is None else ERRORS * errors
        self._is_log = is_log and zero > 0
        self._heights = np.log(np.maximum(self.y, zero)) if self._is_log else self.y

    @cached_property
    def change(self) -> float:
        """How far its values are apart: by which ratio on a logarithmic axis."""
        return float(np.ptp(self._heights))

    @property
    def last(self) -> str:
        """Its last value."""
        return self._value(-1)

    @property
    def about(self) -> str:
        """Its last value to two digits."""
        return self._value(-1, 2)

    @property
    def least(self) -> tuple[float, str]:
        """Its least value, as a number and in words."""
        return float(self.y.min()), self._value(int(self.y.argmin()))

    @property
    def greatest(self) -> tuple[float, str]:
        """Its greatest value, as a number and in words."""
        return float(self.y.max()), self._value(int(self.y.argmax()))

    @cached_property
    def lies(self) -> bool:
        """Whether it turns along an index of a measure, as a function of an input does: then it goes no way
        from one end to the other, but has a least and a greatest value."""
        return not self._is_course and bool(self._way)

    @property
    def going(self) -> str:
        """Its first and its last value, with a verb."""
        return self.in_words()

    def in_words(self, along: str = "", with_turns: bool = False) -> str:
        """The same, with the places on an axis of this name, and with the values where it turns."""
        if len(self.y) > 1 and (self._is_named or (len(self.y) <= FEW and self._turns)):
            there = grouped((self._value(at), self._place(float(x))) for at, x in enumerate(self.x))
            return "is " + ", ".join(f"{value} at {listed(places)}" for value, places in there.items())
        begin, end = (self._place(float(x)) for x in self.x[[0, -1]])
        begin, end = (f" at {along} = {begin}", f" at {end}") if along else ("", "")
        first, last = (self._value(place) for place in (0, -1))
        if len(self.y) == 1:
            return f"is {first}{begin}"
        if self._stays:
            return f"stays at {number(float(self.y.mean()), 2)}"
        if self._jumps:
            return f"is {last} after the start"
        if self.lies and not with_turns:
            return f"is between {self.least[1]} and {self.greatest[1]}"
        if self.lies:
            where = f"{along} = " if along else ""
            return f"is between {self._at(int(self.y.argmin()), where)} and {self._at(int(self.y.argmax()))}"
        return f"goes from {first}{begin} to {last}{end}{self._way if with_turns else ''}"

    @property
    def _stays(self) -> bool:
        spread, greatest = float(np.ptp(self.y)), float(np.abs(self.y).max())
        within = self._errors is not None and bool((np.abs(self.y - self.y.mean()) <= self._errors).all())
        return spread <= (WITHIN_ERRORS if within else STILL) * greatest

    @property
    def _jumps(self) -> bool:
        """Whether it is the same everywhere but at its start, as that of a solver over the same rows is."""
        return len(self.y) > FEW and float(np.ptp(self.y[1:])) <= 1e-9 * float(np.abs(self.y).max())

    @property
    def _way(self) -> str:
        """The values at which it turns; where it turns often, the least and the greatest if they are
        beyond those at the ends."""
        turns = self._turns
        if len(turns) > MOST_TURNS:
            turns = self._extremes
        elif not turns and self._errors is not None:
            turns = [at for at in self._extremes if self._differ(at, 0) and self._differ(at, -1)]
        shown = [self._at(at) for at in turns]
        return f" by way of {listed(shown)}" if shown else ""

    def _at(self, which: int, where: str = "") -> str:
        """A value, and where it is."""
        return f"{self._value(which)} at {where}{self._place(float(self.x[which]))}"

    @property
    def _extremes(self) -> list[int]:
        """Where it is least and greatest, if that is beyond its ends."""
        h, room = self._heights, TURN * self.change
        low, high, ends = int(h.argmin()), int(h.argmax()), h[[0, -1]]
        found = ((low, h[low] < ends.min() - room), (high, h[high] > ends.max() + room))
        return sorted(at for at, is_beyond in found if is_beyond)

    def _differ(self, at: int, end: int) -> bool:
        """Whether two values differ by more than the error of their difference: replicas may have much in
        common, so that it is far less than that of either."""
        curve = self._curve
        if curve.replicas > MOST_PAIRED or curve.summary == "median":
            return False
        places = np.flatnonzero(self._there)[[at, end]]
        error = reductions.standard_error(
            curve.summary, curve.replicas, lambda some: np.diff(curve.over(some)[places])
        )
        return error is not None and abs(float(self.y[at] - self.y[end])) > ERRORS * float(error[0])

    @cached_property
    def _turns(self) -> list[int]:
        """The places from which it goes back far enough, as TURN says, in order: MOST_TURNS and one more at
        the most."""
        found, rising = list[int](), 0
        low = high = (float(self._heights[0]), 0)
        for at, height in enumerate(_floats(self._heights)):
            low, high = min(low, (height, at)), max(high, (height, -at))
            if rising >= 0 and high[0] - height > self._room(-high[1]):
                found += [-high[1]] if rising else []
                rising, low, high = -1, (height, at), (height, -at)
            elif rising <= 0 and height - low[0] > self._room(low[1]):
                found += [low[1]] if rising else []
                rising, low, high = 1, (height, at), (height, -at)
            if len(found) > MOST_TURNS:
                break
        return found

    def _room(self, at: int) -> float:
        """How far from a place it has to go back to have turned there."""
        if self._errors is None:
            return TURN * self.change
        error = float(self._errors[at])
        relative = error / max(abs(float(self.y[at])), self._zero) if self._is_log else error
        return max(TURN * self.change, relative)

    def _value(self, place: int, digits: int = 3) -> str:
        """The value at a place, 0 where it is no more than rounding."""
        value = float(self.y[place])
        return "0" if abs(value) <= self._zero else number(value, digits)


def _floats(values: Floats) -> Iterator[float]:
    """The values one by one, a block of them at a time as Python's: all would take four times their room."""
    for start in range(0, len(values), BLOCK):
        yield from values[start : start + BLOCK].tolist()


def known(curve: CurveView) -> NDArray[np.bool_]:
    """Where a curve has values of all replicas."""
    return np.asarray(curve.ends.sound & np.isfinite(curve.y))


def values_of(curve: CurveView) -> Floats:
    """Those values."""
    there = known(curve)
    return curve.y if there.all() else curve.y[there]
