"""Numbers of tables and of the status as text: one notation per column, and "0" for 0 only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.core.expressions import WHOLE

DECIMALS, LARGEST = 5, 1e5
"""Decimals of numbers below 10, one less for each further digit; numbers from LARGEST on have none."""


def counted(count: float) -> str:
    """A whole number, or a place that was read off, in digits as long as these are few."""
    if abs(count) < 1e5:
        return f"{count:.5g}"
    return f"{count:.0f}" if abs(count) < WHOLE else f"{count:.3g}"


def ratio(value: float) -> str:
    """Return a ratio with three decimals, or with two digits if three decimals say less."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3f}"
    return f"{value:.0f}" if 1000 <= abs(value) < LARGEST else f"{value:.1e}"


def decimals(numbers: Sequence[float], rounding: float, digits: int = 1) -> int | None:
    """Return the number of decimals that fits all numbers; None if they need powers of ten.

    Args:
        rounding: numbers up to this size are 0.
        digits: digits of each number that must be visible.
    """
    sizes = [abs(size) for size in numbers if math.isfinite(size) and abs(size) > rounding]
    if not sizes:
        return DECIMALS
    if max(sizes) >= LARGEST:
        return None
    places = DECIMALS - max(0, math.floor(math.log10(max(sizes))))
    return places if min(sizes) >= 0.5 * 10.0 ** (digits - 1 - places) else None


def written(value: float, places: int | None, rounding: float) -> str:
    """Return a number with so many decimals, or with None as a power of ten; 0 has no sign."""
    if not math.isfinite(value):
        return "never" if value > 0 else "–"
    if abs(value) <= rounding:
        value = 0.0
    if places is None:
        return f"{value:.2e}" if value else "0"
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text
