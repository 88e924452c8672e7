"""A slow, plain reading of what a heat map shows, cell by cell, sharing no code with it."""

from __future__ import annotations

import math
from collections.abc import Sequence


def nearest(values: Sequence[float], share: float, log: bool) -> int:
    """Which of increasing values is nearest to a place, a share of the way along the axis of their cells."""
    places = [math.log(value) if log else value for value in values]
    low = places[0] - (places[1] - places[0]) / 2
    high = places[-1] + (places[-1] - places[-2]) / 2
    at = low + share * (high - low)
    return min(range(len(places)), key=lambda index: (abs(places[index] - at), -index))


def naive_step(value: float, known: Sequence[float], log: bool, count: int) -> int:
    """Which of `count` equal steps between the least and the greatest of `known` a value is, −1 for NaN."""
    usable = [one for one in known if math.isfinite(one) and (one > 0 or not log)]
    low, high = min(usable), max(usable)
    if math.isnan(value):
        return -1
    if value <= low:
        return 0
    if value >= high:
        return count - 1
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return min(int((value - low) / (high - low) * count), count - 1)


def naive_steps(
    x: Sequence[float],
    y: Sequence[float],
    z: Sequence[Sequence[float]],
    columns: int,
    rows: int,
    logs: tuple[bool, bool, bool],
    count: int,
) -> list[list[int]]:
    """The step of every cell of a picture, the highest row first."""
    known = [value for row in z for value in row]
    painted = []
    for row in range(rows):
        iy = nearest(y, (rows - 1 - row) / (rows - 1), logs[1])
        line = [z[iy][nearest(x, column / (columns - 1), logs[0])] for column in range(columns)]
        painted.append([naive_step(value, known, logs[2], count) for value in line])
    return painted
