"""Naive twin of painted heat maps, cell by cell. It shares no code with them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def nearest(values: Sequence[float], share: float, log: bool) -> int:
    """Number of the increasing value nearest to a place, given as a share of the axis of their cells."""
    places = [math.log(value) if log else value for value in values]
    low = places[0] - (places[1] - places[0]) / 2
    high = places[-1] + (places[-1] - places[-2]) / 2
    at = low + share * (high - low)
    return min(range(len(places)), key=lambda index: (abs(places[index] - at), -index))


def naive_step(number: float, numbers: Sequence[float], log: bool, count: int) -> int:
    """Step of a value, of `count` equal steps from the least to the greatest of `numbers`; −1 for NaN."""
    usable = [
        number_of_scale
        for number_of_scale in numbers
        if math.isfinite(number_of_scale) and (number_of_scale > 0 or not log)
    ]
    low, high = min(usable), max(usable)
    if math.isnan(number):
        return -1
    if number <= low:
        return 0
    if number >= high:
        return count - 1
    if log:
        number, low, high = math.log(number), math.log(low), math.log(high)
    return min(int((number - low) / (high - low) * count), count - 1)


def naive_steps(
    x: Sequence[float],
    y: Sequence[float],
    z: Sequence[Sequence[float]],
    columns: int,
    rows: int,
    logs: tuple[bool, bool, bool],
    count: int,
) -> list[list[int]]:
    """Steps of the cells of a picture, the highest row first."""
    numbers = [number for row in z for number in row]
    painted = []
    for row in range(rows):
        iy = nearest(y, (rows - 1 - row) / (rows - 1), logs[1])
        line = [z[iy][nearest(x, column / (columns - 1), logs[0])] for column in range(columns)]
        painted.append([naive_step(number, numbers, logs[2], count) for number in line])
    return painted
