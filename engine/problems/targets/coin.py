"""Random labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import BadInput, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows, repeated
from engine.problems.targets import Target, TargetStructure


class Coin(Target, frozen=True, tag="coin"):
    """Random labels: every instance has +1 or −1 by a fair coin, one draw per replica.

    With K > 2 `classes`, there are K one-hot targets: the label is 1 for a random class, and 0 for all other
    classes. Nothing can be learned about unseen rows. A learner that fits the training rows has memorised
    them. If rows are repeated with both signs, a negated row has the negated label. Source: Zhang et al.
    2017; theory/wide-nets#kernel-regime, theory/wide-nets#mean-field, theory/curvature#edge-of-stability,
    theory/parities-and-noise#fitting-anything.
    """

    classes: Annotated[
        Dimension,
        Meta(title="classes K", description="number of classes; 2: labels ±1, more: one-hot labels"),
    ] = 2

    def columns(self, matrix: Matrix) -> int:
        return 1 if self.classes == 2 else self.classes

    def check(self, matrix: Matrix) -> None:
        if self.classes > 2 and matrix.repeat is not None:
            raise BadInput(
                "problem.matrix.repeat",
                "`repeat` shows negated instances, which belong to no class; leave `repeat` out",
            )

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        n, _ = matrix.size()
        if self.classes > 2:
            drawn = streams("target").integers(self.classes, 1, n)
            one_hot: Rows = (drawn == np.arange(self.classes)[:, None]).astype(np.float64)
            return one_hot
        coins = streams("target").signs(n, 1).astype(np.float64)
        return repeated(coins, matrix.repeat).swapaxes(1, 2)

    def structure(self, matrix: Matrix) -> TargetStructure:
        if self.classes > 2:
            return TargetStructure("bits", one_hot=True)
        # Labels are odd: a negated coin is a fair coin, and repetition negates rows with their labels.
        return TargetStructure("signs", are_coins=matrix.repeat is None, is_odd=True, is_never_zero=True)
