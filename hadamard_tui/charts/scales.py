"""Scales of axes: positions of data values, round values for ticks, and short labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Limits


# Position far outside any chart, yet small enough for interpolation and for int32.
BEYOND = 1e9


class Scale(msgspec.Struct, frozen=True):
    """Map from data values to positions along an axis, which is divided into `size` equal slots.

    A slot is, for example, one cell of a row. The lower limit of the axis maps to 0, the centre of the first
    slot. The upper limit maps to size − 1, the centre of the last slot.
    """

    limits: Limits
    log: bool
    size: int

    def place(self, values: np.ndarray) -> np.ndarray:
        """Return the positions of data values along the axis, as floats in the shape of `values`.

        The unit is a slot, and 0 is the centre of the first slot. The position of NaN is NaN. On a log axis,
        values ≤ 0 have positions far below 0.
        """
        low, high = self._ends_on_scale()
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            values = np.asarray(values, dtype=np.float64)
            if self.log:
                values = np.log10(np.maximum(values, 0.0))
            return np.clip((values - low) * ((self.size - 1) / (high - low)), -BEYOND, BEYOND)

    def slot(self, value: float) -> int | None:
        """Return the number of the slot that contains a data value, or None if no slot contains it."""
        place = float(self.place(np.asarray(value)))
        return math.floor(place + 0.5) if -0.5 <= place < self.size - 0.5 else None

    def value(self, slot: float) -> float:
        """Return the data value at a position along the axis, in units of slots: the inverse of `place`."""
        low, high = self._ends_on_scale()
        value = low + slot * ((high - low) / max(self.size - 1, 1))
        return float(10.0**value) if self.log else value

    def edges(self) -> np.ndarray:
        """Return the data values at the borders of the slots, shape [size + 1]."""
        low, high = self._ends_on_scale()
        borders = low + (np.arange(self.size + 1) - 0.5) * ((high - low) / max(self.size - 1, 1))
        return 10.0**borders if self.log else borders

    def _ends_on_scale(self) -> tuple[float, float]:
        low, high = self.limits
        return (float(np.log10(low)), float(np.log10(high))) if self.log else (low, high)


Tick = tuple[float, str]

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
# Largest number of characters of a decimal number. Longer numbers get a power of ten, if this is shorter.
_PLAIN_WIDTH = 6
_PLAIN_DECADES = range(-3, 6)
_SHORT = 3  # decades of a log axis up to which ticks may be at multiples of powers of ten
_WHOLE = 1e7  # whole numbers below this show all digits


def x_ticks(axes: Axes, most_ticks: int) -> tuple[Tick, ...]:
    """Return at most `most_ticks` ticks of an x-axis.

    If the axis has named x values, ticks are at these values. If there are too many of them, ticks are at
    every second named value, or at every third, and so on.
    """
    if not axes.x_names:
        return ticks(axes.x_limits, axes.x_log, most_ticks, axes.x_whole)
    named = [tick for tick in axes.x_names if axes.x_limits[0] <= tick[0] <= axes.x_limits[1]]
    return tuple(named[:: math.ceil(len(named) / most_ticks)]) if named else ()


def at_places(places: Sequence[float]) -> tuple[Tick, ...]:
    return tuple((place, tick_label(place)) for place in places)


def tick_label(value: float) -> str:
    """Return the label of a tick.

    Whole numbers below 10⁷ have all their digits, and all other numbers have four significant digits.
    """
    if value == int(value) and abs(value) < _WHOLE:
        return str(int(value))
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def ticks(
    limits: Limits, log: bool, most_ticks: int, is_whole: bool = False, least: int = 2
) -> tuple[Tick, ...]:
    """Return at most `most_ticks` ticks within the limits, as pairs of value and label, in increasing order.

    On a log axis, ticks are at powers of ten. If the axis is short and fewer than `least` powers of ten are
    within the limits, ticks are at 1, 2 and 5 times the powers of ten. If fewer than `least` of these values
    are within the limits, the ticks are evenly spaced.

    Args:
        is_whole: whether ticks must be at whole numbers.
        least: minimum number of powers of ten, or of 1, 2 and 5 times these, within the limits; at least 2.
            There are fewer ticks if `most_ticks` allows only every second one, or if the log axis is long.
    """
    if most_ticks < 1:
        return ()
    if log:
        decades, wanted = _decade_ticks(limits, most_ticks), min(max(least, 2), most_ticks)
        is_long = len(decades) > 1 and limits[1] / limits[0] > 10.0**_SHORT
        multiples = _multiples(limits)
        if is_long or len(multiples) >= wanted:
            stride = math.ceil(len(multiples) / most_ticks)
            values = decades if is_long or len(decades) >= wanted else multiples[::stride]
            return tuple((value, _log_label(value)) for value in values)
    values = [tick for tick in _linear_ticks(limits, most_ticks, is_whole) if tick > 0 or not log]
    return tuple(zip(values, _tick_labels(values), strict=True))


def _linear_ticks(limits: Limits, most_ticks: int, is_whole: bool) -> list[float]:
    low, high = limits
    for step in _tick_steps(limits, most_ticks):
        if is_whole and step != int(step):
            continue
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most_ticks:
            # If the step is smaller than rounding errors, multiples of it are equal; keep each value once.
            return list(dict.fromkeys(index * step for index in range(first, last + 1)))
    return []


def _tick_steps(limits: Limits, most_ticks: int) -> list[float]:
    low, high = limits
    reach = (high - low) / most_ticks
    if _is_power_of_two(high) and low in (0, 1):
        # On an axis from 0 to a power of two, such as d = 128, ticks at halves and quarters are easiest to
        # read.
        return [high / parts for parts in (16, 8, 4, 2, 1)]
    decade = 10.0 ** math.floor(math.log10(reach))
    return [decade * factor for factor in (*_ROUND, 20.0, 50.0)]


def _is_power_of_two(value: float) -> bool:
    return value >= 16 and value == int(value) and int(value) & (int(value) - 1) == 0


def _decade_ticks(limits: Limits, most_ticks: int) -> list[float]:
    first = math.ceil(math.log10(limits[0]) - 1e-9)
    last = math.floor(math.log10(limits[1]) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / most_ticks))
    exponents = range(first, last + 1)
    round_exponents = [n for n in exponents if n % stride == 0]
    return [10.0**n for n in (round_exponents if len(round_exponents) > 1 else exponents[::stride])]


def _multiples(limits: Limits) -> list[float]:
    low, high = limits
    first = math.floor(math.log10(low))
    candidates = (factor * 10.0**n for n in range(first, first + _SHORT + 1) for factor in (1, 2, 5))
    return [candidate for candidate in candidates if low * (1 - 1e-9) <= candidate <= high * (1 + 1e-9)]


def _log_label(value: float) -> str:
    decade = math.floor(math.log10(value) + 1e-9)
    return f"{value:.{max(0, -decade)}f}" if decade in _PLAIN_DECADES else _scientific_text(value, 0)


def _tick_labels(values: Sequence[float]) -> list[str]:
    """Return labels of ticks with just enough digits to distinguish their values."""
    if not values:
        return []
    largest = max(abs(value) for value in values) or 1.0
    step = min((b - a for a, b in pairwise(values)), default=largest)
    finest = math.floor(math.log10(step) + 1e-9)
    if not math.isclose(round(step / 10.0**finest), step / 10.0**finest, rel_tol=1e-6):
        finest -= 1  # steps such as 2.5 need one more digit
    plain = [f"{value + 0.0:.{max(0, -finest)}f}" for value in values]
    powers = [
        _scientific_text(value, max(0, _decade_of(value) - finest)) if value else "0" for value in values
    ]
    if max(map(len, plain)) <= max(_PLAIN_WIDTH, max(map(len, powers))):
        return plain
    return powers


def _decade_of(value: float) -> int:
    return math.floor(math.log10(abs(value)) + 1e-9)


def _scientific_text(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"
