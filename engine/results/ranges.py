"""From where to where curves go, in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.pictures.view import CurveView
from engine.results.wording import number

Floats = NDArray[np.float64]

ERRORS = 3.0
"""By so many standard errors a curve has gone beyond its ends."""


class Range:
    """From where to where a curve goes."""

    def __init__(self, name: str, curve: CurveView, place: Callable[[float], str], zero: float) -> None:
        """`place` says of an x in words where that is; values up to `zero` are rounding."""
        self.name, self.x, self.y = name, curve.x[known(curve)], values_of(curve)
        self._place, self._zero = place, zero
        errors = np.zeros_like(curve.y) if curve.stderr is None else curve.stderr
        self._errors = ERRORS * errors[known(curve)]

    @property
    def values(self) -> str:
        """The curve with its first and its last value."""
        return f"{self.name} {self.ends}"

    @property
    def going(self) -> str:
        """The same with a verb."""
        return f"{self.name} {'is' if len(self.y) == 1 else 'goes'} {self.ends}"

    @property
    def ends(self) -> str:
        """Its first and its last value."""
        first, last = (self._value(place) for place in (0, -1))
        return first if len(self.y) == 1 else f"from {first} to {last}"

    @property
    def way(self) -> str:
        """The least or the greatest value between, where it is another than those at the ends by more than
        their errors."""
        low, high = int(self.y.argmin()), int(self.y.argmax())
        ends, rooms = self.y[[0, -1]], np.fmax(0.1 * float(np.ptp(self.y)), self._errors)
        if self.y[low] < ends.min() - rooms[low]:
            return f" by way of {self._value(low)} at {self._place(float(self.x[low]))}"
        if self.y[high] > ends.max() + rooms[high]:
            return f" by way of {self._value(high)} at {self._place(float(self.x[high]))}"
        return ""

    def told(self, along: str) -> str:
        """All of it, on an axis of this name."""
        first, last = (self._value(place) for place in (0, -1))
        begin, end = (self._place(float(self.x[place])) for place in (0, -1))
        if len(self.x) == 1:
            return f"{self.name} is {first} at {along} = {begin}"
        return f"{self.name} goes from {first} at {along} = {begin} to {last} at {end}{self.way}"

    def _value(self, place: int) -> str:
        """The value at a place, 0 where it is no more than rounding."""
        value = float(self.y[place])
        return "0" if abs(value) <= self._zero else number(value)


def known(curve: CurveView) -> NDArray[np.bool_]:
    """Where a curve has values of all replicas."""
    return np.asarray(curve.sound & np.isfinite(curve.y))


def values_of(curve: CurveView) -> Floats:
    """Those values."""
    return curve.y[known(curve)]
