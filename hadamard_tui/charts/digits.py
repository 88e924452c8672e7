"""Numbers of tables and of the status as text: one notation per column, and only what is 0 as 0."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.core.expressions import WHOLE

DECIMALS, LARGEST = 5, 1e5
"""The decimals of numbers below 10, one less for every digit more; from LARGEST on there are none."""


def counted(count: float) -> str:
    """A whole number, or a place that was read off, in digits as long as these are few."""
    if abs(count) < 1e5:
        return f"{count:.5g}"
    return f"{count:.0f}" if abs(count) < WHOLE else f"{count:.3g}"


def ratio(value: float) -> str:
    """A ratio with three decimals, or where these say less in two digits."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3f}"
    return f"{value:.0f}" if 1000 <= abs(value) < LARGEST else f"{value:.1e}"


def decimals(numbers: Sequence[float], rounding: float, digits: int = 1) -> int | None:
    """How many decimals numbers have together; None where they need powers of ten.

    Args:
        rounding: what is no more than this is 0.
        digits: so many of each are to be seen.
    """
    sizes = [abs(size) for size in numbers if math.isfinite(size) and abs(size) > rounding]
    if not sizes:
        return DECIMALS
    if max(sizes) >= LARGEST:
        return None
    places = DECIMALS - max(0, math.floor(math.log10(max(sizes))))
    return places if min(sizes) >= 0.5 * 10.0 ** (digits - 1 - places) else None


def written(value: float, places: int | None, rounding: float) -> str:
    """A number with so many decimals, or with None as a power of ten; 0 without a sign."""
    if not math.isfinite(value):
        return "never" if value > 0 else "–"
    if abs(value) <= rounding:
        value = 0.0
    if places is None:
        return f"{value:.2e}" if value else "0"
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text
