"""Naive twin of `hadamard_tui.charts.drawing.spans`, dot by dot. It shares no code with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

Column = list[float]


def naive_dots(
    xs: Sequence[float],
    ys: Sequence[float],
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    wide: int,
    high: int,
    logs: tuple[bool, bool] = (False, False),
) -> set[tuple[int, int]]:
    """The (row, column) of every dot of one solid curve; rows from the top."""

    def transform(number: float, log: bool) -> float:
        if not math.isfinite(number) or (log and number <= 0):
            return math.nan
        return math.log10(number) if log else number

    def place(number: float, limits: tuple[float, float], size: int, log: bool) -> float:
        low, high_ = (transform(limit, log) for limit in limits)
        return (transform(number, log) - low) / (high_ - low) * (size - 1)

    points = [
        (place(x, x_limits, wide, logs[0]), high - 1 - place(y, y_limits, high, logs[1]))
        for x, y in zip(xs, ys, strict=True)
    ]
    points = [(x, y) for x, y in points if not math.isnan(x)]
    held: dict[int, Column] = {}
    filled = set()
    for x, y in points:
        filled.add(math.floor(x + 0.5))
        if not math.isnan(y):
            held.setdefault(math.floor(x + 0.5), []).append(y)
    crossings = set()
    for (x0, y0), (x1, y1) in pairwise(points):
        if math.isnan(y0) or math.isnan(y1):
            continue
        first, last = math.floor(x0 + 0.5), math.floor(x1 + 0.5)
        for column in range(first, last + 1):
            if column not in filled:
                held[column] = [y0 + (column - x0) / (x1 - x0) * (y1 - y0)]
            if column < last and 0 <= column < wide - 1:
                crossings.add(column)
    runs = {c: [math.floor(min(ys) + 0.5), math.floor(max(ys) + 0.5)] for c, ys in held.items()}
    grown = {column: list(run) for column, run in runs.items()}
    for column in crossings:
        for near, far in ((column, column + 1), (column + 1, column)):
            if runs[far][0] - runs[near][1] > 1:
                middle = (runs[near][1] + runs[far][0]) // 2
                grown[near][1] = max(grown[near][1], middle)
                grown[far][0] = min(grown[far][0], middle + 1)
    return {
        (row, column)
        for column, (top, bottom) in grown.items()
        for row in range(top, bottom + 1)
        if 0 <= row < high and 0 <= column < wide
    }
