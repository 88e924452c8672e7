"""Step a number up or down, through the same numbers in both directions."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any

PREFERRED = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
"""Ten numbers to a decade at about equal factors. Source: ISO 3, series R10."""

SMALLEST = 0.01
"""Step of a number from 0."""

MOST_TRIED = 8
"""Numbers that are tried in turn until one fits."""

_FACTOR = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)\s*([*/]?)\s*(?=[A-Za-z(]|\d)(.*)", re.DOTALL)
"""A number, the operator that joins it to the rest of an expression, and the rest."""

_SUM = re.compile(r"(?<![eE*/^(])[-+](?![^(]*\))")
"""A sum or a difference outside brackets."""


def steps(value: Any, is_whole: bool, up: bool) -> list[Any]:
    """Return the numbers that follow `value` upwards or downwards, nearest first; none if it is no number.

    Whole numbers go through the powers of two as well. In an expression such as 1/(2d) the factor in front
    is stepped, so that it still depends on the same names.
    """
    if isinstance(value, str):
        return [_scaled(value, factor) for factor in _factors(value, up)] if value.strip() else []
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return []
    return list(islice(_following(float(value), is_whole, up), MOST_TRIED))


def _following(value: float, is_whole: bool, up: bool) -> Iterator[Any]:
    while True:
        value = _next(value, is_whole, up)
        yield int(value) if is_whole else value


def _next(value: float, is_whole: bool, up: bool) -> float:
    if value == 0:
        return (1.0 if up else -1.0) * (1.0 if is_whole else SMALLEST)
    if value < 0:
        return -_next(-value, is_whole, not up) or 0.0
    if is_whole and value <= 1:
        return value + (1.0 if up else -1.0)
    ladder = _ladder(value, is_whole)
    near = 1e-9 * value
    return ladder[bisect_right(ladder, value + near)] if up else ladder[bisect_left(ladder, value - near) - 1]


def _ladder(value: float, is_whole: bool) -> list[float]:
    """Return the numbers around a positive value, increasing."""
    decade = math.floor(math.log10(value))
    numbers = {
        float(f"{step * 10.0**power:.4g}") for power in range(decade - 1, decade + 2) for step in PREFERRED
    }
    if is_whole:
        octave = math.floor(math.log2(value))
        numbers = {float(math.ceil(number - 0.5)) for number in numbers if number >= 1}
        numbers |= {2.0**power for power in range(max(octave - 1, 0), octave + 3)}
    return sorted(numbers)


def _factors(text: str, up: bool) -> list[float]:
    product = None if _SUM.search(text) else _FACTOR.fullmatch(text)
    return list(islice(_following(float(product[1]) if product else 1.0, False, up), MOST_TRIED))


def _scaled(text: str, factor: float) -> str:
    """Return an expression with another factor in front."""
    written = f"{factor:g}"
    if _SUM.search(text):
        return f"{written}*({text.strip()})"
    product = _FACTOR.fullmatch(text)
    if product is None:
        return text.strip() if factor == 1 else f"{written}*{text.strip()}"
    joined, rest = product[2], product[3]
    return rest if factor == 1 and joined != "/" else f"{written}{joined}{rest}"
