"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import Count, Verdict
from engine.problems.matrices import Matrix
from engine.updates import EUCLIDEAN, Mirror, Plain, Rate, UpdateStructure


class SGD(Plain, frozen=True, tag="sgd"):
    """Stochastic gradient descent: w ← w − η g, where g is the mean gradient over a random mini-batch.

    The field `batch` is the size of mini-batches in the protocols `erm` and `epochs`. In `erm`, the examples
    of each step are drawn at random. In `epochs`, they are taken in stored or in random order. The protocols
    `one-pass` and `steps` have their own field for the number of examples per update. The protocol
    `to-consistency` uses one example at a time. Source: theory/conventions#update-rules.
    """

    lr: Rate = 0.00390625
    batch: Annotated[
        Count,
        Meta(
            title="mini-batch",
            description="number of examples per step, for the protocols `erm` and `epochs`",
        ),
    ] = 1

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(by_operators=True, mini_batch=self.batch, along_gradients=True)

    def response(self, steps: int) -> NDArray[np.float64]:
        return np.ones(steps)

    @property
    def mirror(self) -> Mirror:
        return EUCLIDEAN

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True, "mini-batches do not depend on the data, and gradients stay in the span of the instances"
        )
