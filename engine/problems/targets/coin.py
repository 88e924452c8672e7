"""Random labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target


class Coin(Target, frozen=True, tag="coin"):
    """Random labels: every instance has +1 or −1 by a fair coin, one draw per replica.

    Nothing can be learned of the labels of rows unseen; what fits those seen has memorised them. Where rows
    are repeated, the negative of a row has the negative of its label. Source: Zhang et al. 2017;
    theory-nets.md §§26, 27, 30.
    """

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        n, _ = matrix.size()
        coins = streams("target").signs(n, 1).astype(np.float64)
        return matrix.repeated(coins).swapaxes(1, 2)

    def values(self, matrix: Matrix) -> Values:
        return "signs"
