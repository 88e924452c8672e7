"""Cells of nets on a plane: the convex pieces of it on which every unit stays on or off."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from engine.formulas.linear_pieces import Layers

Floats = NDArray[np.float64]

FAR = 1e9
"""Half the side of the square that stands for the whole plane, in units of the inputs."""

THIN = 1e-12
"""How near to 0, relatively, a signal at a corner counts as 0: by rounding, no cell lies beyond it."""


def cells(layers: Layers, slopes: tuple[float, float], reach: float = FAR) -> int:
    """How many cells a net of two inputs has in the square [−reach, reach]².

    Within a cell of the layers below every signal z = a·x + c of a layer is linear, so the units of the layer
    cut it one after the other by straight lines into convex cells. Cells with the same predictions are not
    merged.

    Args:
        slopes: of σ above 0 and below.

    Source: Zaslavsky 1975; theory-nets.md §39.
    """
    corners = reach * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1.0]])
    found = [(corners, np.eye(2), np.zeros(2))]  # corners in order, and what the layer below sends: A x + c
    *hidden, _ = layers
    for weights, biases in hidden:
        above = []
        for polygon, slope, offset in found:
            a, c = weights @ slope, weights @ offset + biases
            for part in _cut(polygon, a, c):
                through = np.where(a @ part.mean(0) + c > 0, *slopes)
                above.append((part, through[:, None] * a, through * c))
        found = above
    return len(found)


def _cut(polygon: Floats, a: Floats, c: Floats) -> list[Floats]:
    """A convex polygon [k, 2] cut along every line a·x + c = 0."""
    parts = [polygon]
    for slope, offset in zip(a, c, strict=True):
        parts = [piece for part in parts for piece in _halves(part, slope, offset)]
    return parts


def _halves(polygon: Floats, slope: Floats, offset: float) -> list[Floats]:
    """What of a convex polygon is on either side of a line; the polygon itself if all is on one."""
    signal = polygon @ slope + offset
    least = THIN * (np.abs(polygon) @ np.abs(slope) + abs(offset))
    if not ((signal > least).any() and (signal < -least).any()):
        return [polygon]
    after, next_signal = np.roll(polygon, -1, 0), np.roll(signal, -1)
    sides: list[Floats] = []
    for sign in (1, -1):
        kept: list[Floats] = []
        for corner, other, here, there in zip(polygon, after, sign * signal, sign * next_signal, strict=True):
            if here >= 0:
                kept.append(corner)
            if here * there < 0:
                kept.append(corner + here / (here - there) * (other - corner))
        sides.append(np.array(kept))
    return sides


def of_one_layer(width: int) -> int:
    """Σ_{i ≤ 2} C(n, i), the cells of n lines in general position. Source: Zaslavsky 1975."""
    return sum(comb(width, i) for i in range(3))
