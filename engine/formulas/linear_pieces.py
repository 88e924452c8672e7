"""Linear pieces of nets on a line: where their units switch, and how many pieces there are in the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Layers = Sequence[tuple[Floats, Floats]]
"""The weights [units, units below] and biases [units] of every layer, from the input, a number, up."""

ALIKE = 1e-9
"""By how much, relatively, the slopes of neighbours may differ that are one piece: by rounding."""


def pieces(layers: Layers, slopes: tuple[float, float], low: float, high: float) -> int:
    """How many linear pieces a net has between two ends, which may be infinite.

    Places where a unit switches go up through the layers: within a piece every signal z = ax + c of a layer
    is linear, so its own switch is at −c/a. Neighbours of one slope are one piece.

    Args:
        slopes: of σ above 0 and below.

    Source: theory-nets.md §39.
    """
    ends = np.array([low, high])
    (weights, biases), *above = layers
    a, c = weights.T.copy(), biases[None].copy()  # [pieces, units]
    for weights, biases in above:
        with np.errstate(divide="ignore", invalid="ignore"):
            switches = -c / a
        inside = (switches > ends[:-1, None]) & (switches < ends[1:, None])
        finer = np.union1d(ends, switches[inside])
        middles = _middles(finer)
        parents = np.searchsorted(ends, middles) - 1
        a, c = a[parents], c[parents]
        through = np.where(a * middles[:, None] + c > 0, *slopes)
        a, c, ends = (through * a) @ weights.T, (through * c) @ weights.T + biases, finer
    before, after = a[:-1], a[1:]
    bends = np.abs(after - before) > ALIKE * np.maximum(np.abs(after), np.abs(before))
    return 1 + int(bends.any(1).sum())


def _middles(ends: Floats) -> Floats:
    """A place inside every interval between ends that are in order, of which the outer may be infinite."""
    outer = np.clip(ends, *_beyond(ends))
    return np.asarray(outer[:-1] + (outer[1:] - outer[:-1]) / 2)


def _beyond(ends: Floats) -> tuple[float, float]:
    """Places before and after all ends that are finite."""
    finite = ends[np.isfinite(ends)]
    if not len(finite):
        return -1.0, 1.0
    return finite[0] - max(1.0, abs(finite[0])), finite[-1] + max(1.0, abs(finite[-1]))


def of_one_layer(width: int, cw: float, cb: float, low: float, high: float) -> float:
    """E pieces of a layer of units σ(wx + b), w ~ N(0, C_w) and b ~ N(0, C_b), between two ends.

    Every unit switches at −b/w, which is √(C_b/C_w) times a Cauchy number. On [−R, R] it is
    1 + n (2/π) arctan(R √(C_w/C_b)). Source: theory-nets.md §39.
    """
    ratio = math.inf if cb == 0 else math.sqrt(cw / cb)

    def angle(end: float) -> float:
        return 0.0 if end == 0 else math.atan(end * ratio)

    return 1 + width * (angle(high) - angle(low)) / math.pi
