"""Counts of the linear pieces of nets along a line, and of the cells into which nets cut a plane.

In each cell, the same units are active.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Layers = Sequence[tuple[Floats, Floats]]
"""Weights [units, units below] and biases [units] of every layer, first layer first."""

ALIKE = 1e-9
"""Neighbouring pieces whose slopes have at most this relative difference, due to rounding, count as one
piece.
"""


def pieces(layers: Layers, slopes: tuple[float, float], low: float, high: float) -> int:
    """Return the number of linear pieces of a net with a scalar input, for inputs between `low` and `high`.

    `low` and `high` may be infinite. The inputs at which units switch on or off are found layer by layer.
    Within a piece, every signal z = ax + c of the next layer is linear in x. So the unit with this signal
    switches at x = −c/a. Neighbouring pieces with equal slopes, up to rounding, count as one piece.

    Args:
        slopes: slopes of σ above 0 and below 0.

    Source: theory/regions-and-random-matrices#regions.
    """
    ends = np.array([low, high])
    (weights, biases), *above = layers
    a, c = weights.T.copy(), biases[None].copy()  # [pieces, units]
    for weights, biases in above:
        with np.errstate(divide="ignore", invalid="ignore"):
            switches = -c / a
        inside = (switches > ends[:-1, None]) & (switches < ends[1:, None])
        finer = np.union1d(ends, switches[inside])
        middles = _points_between(finer)
        parents = np.searchsorted(ends, middles) - 1
        a, c = a[parents], c[parents]
        through = np.where(a * middles[:, None] + c > 0, *slopes)
        a, c, ends = (through * a) @ weights.T, (through * c) @ weights.T + biases, finer
    before, after = a[:-1], a[1:]
    bends = np.abs(after - before) > ALIKE * np.maximum(np.abs(after), np.abs(before))
    return 1 + int(bends.any(1).sum())


def _points_between(ends: Floats) -> Floats:
    """Return a point inside each interval between neighbouring `ends`. The outer ends may be −∞ and ∞."""
    outer = np.clip(ends, *_outer_points(ends))
    return np.asarray(outer[:-1] + (outer[1:] - outer[:-1]) / 2)


def _outer_points(ends: Floats) -> tuple[float, float]:
    finite = ends[np.isfinite(ends)]
    if not len(finite):
        return -1.0, 1.0
    return finite[0] - max(1.0, abs(finite[0])), finite[-1] + max(1.0, abs(finite[-1]))


def pieces_of_one_layer(width: int, cw: float, cb: float, low: float, high: float) -> float:
    """Return the expected number of linear pieces of a random net with one hidden layer and a scalar input x.

    Pieces are counted between the inputs `low` and `high`. The n = `width` units compute σ(wx + b) with w ~
    N(0, C_w) and b ~ N(0, C_b). Every unit switches at −b/w, which is √(C_b/C_w) times a standard Cauchy
    number. For the interval [−R, R], the result is 1 + n (2/π) arctan(R √(C_w/C_b)). Source:
    theory/regions-and-random-matrices#regions.
    """
    ratio = math.inf if cb == 0 else math.sqrt(cw / cb)

    def angle(end: float) -> float:
        return 0.0 if end == 0 else math.atan(end * ratio)

    return 1 + width * (angle(high) - angle(low)) / math.pi


FAR = 1e9
"""Half the side of the square that represents the whole plane, in units of the inputs."""

THIN = 1e-12
"""Relative size below which a signal at a corner counts as 0, so that rounding creates no additional
cells.
"""


def cells(layers: Layers, slopes: tuple[float, float], reach: float = FAR) -> int:
    """Return the number of cells into which the units of a net with two inputs cut [−reach, reach]².

    Within a cell of the layers below, every signal z = a·x + c of a layer is linear in x. So each unit of the
    layer cuts the cell along a straight line, and all resulting cells are convex. Neighbouring cells with the
    same linear predictions are not merged.

    Args:
        slopes: slopes of σ above 0 and below 0.

    Source: Zaslavsky 1975; theory/regions-and-random-matrices#regions.
    """
    corners = reach * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1.0]])
    pieces = [(corners, np.eye(2), np.zeros(2))]  # corners in order, and the layer's input A x + c
    *hidden, _ = layers
    for weights, biases in hidden:
        above = []
        for polygon, slope, offset in pieces:
            a, c = weights @ slope, weights @ offset + biases
            for part in _pieces_of_polygon(polygon, a, c):
                through = np.where(a @ part.mean(0) + c > 0, *slopes)
                above.append((part, through[:, None] * a, through * c))
        pieces = above
    return len(pieces)


def _pieces_of_polygon(polygon: Floats, a: Floats, c: Floats) -> list[Floats]:
    """Cut a convex polygon [k, 2] along every line a·x + c = 0."""
    parts = [polygon]
    for slope, offset in zip(a, c, strict=True):
        parts = [piece for part in parts for piece in _halves_of_polygon(part, slope, offset)]
    return parts


def _halves_of_polygon(polygon: Floats, slope: Floats, offset: float) -> list[Floats]:
    """Cut a convex polygon along the line slope·x + offset = 0, if the line crosses it."""
    signal = polygon @ slope + offset
    least = THIN * (np.abs(polygon) @ np.abs(slope) + abs(offset))
    if not ((signal > least).any() and (signal < -least).any()):
        return [polygon]
    after, next_signal = np.roll(polygon, -1, 0), np.roll(signal, -1)
    sides: list[Floats] = []
    for sign in (1, -1):
        corners: list[Floats] = []
        for corner, other, height, next_height in zip(
            polygon, after, sign * signal, sign * next_signal, strict=True
        ):
            if height >= 0:
                corners.append(corner)
            if height * next_height < 0:
                corners.append(corner + height / (height - next_height) * (other - corner))
        sides.append(np.array(corners))
    return sides


def cells_of_one_layer(width: int) -> int:
    """Return the number of cells into which n lines in general position cut a plane, Σ_{i ≤ 2} C(n, i).

    n = `width` is the number of a layer's units, which switch at these lines. Source: Zaslavsky 1975.
    """
    return sum(comb(width, i) for i in range(3))
