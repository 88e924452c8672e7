"""A lower bound on the loss of rotation-invariant learners on rows drawn with replacement."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    Floats,
    LineStructure,
    RotationInvariant,
    fair_signs,
    loss_constant,
    signed_orthogonal,
    times_constant,
)


class RIDrawn(RotationInvariant, frozen=True, tag="ri-drawn"):
    """c(1 − r/d) after r different rows have been drawn: no rotation-invariant learner does better.

    Examples are drawn independently of the random signs of the Hadamard rows. So, given the drawn examples,
    the labels of all other rows are fair coins. The constant c is the least mean loss on a label that is a
    fair coin. The bound is computed for the draws of every replica, and holds in expectation over the signs.
    The mean of the bound over the draws is c(1 − 1/d)^k, the bound `duplicates`. Gradient descent with the
    rate η = 1/(2d) attains the bound for every sequence of draws. Source: WKA21 Thm 3 and App. A.
    """

    title: ClassVar[str] = "bound for drawn rows"
    formula: ClassVar[str] = "c(1 − r/d), r different rows drawn"
    source: ClassVar[str] = "WKA21 Thm 3"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower", per_replica=True)

    def holds(self, experiment: Setup) -> Finding:
        if other := signed_orthogonal(experiment):
            return other
        if not experiment.protocol.schedule().drawn_independently:
            return Finding(False, "requires examples drawn with replacement, so that some rows come twice")
        return fair_signs(
            experiment, "the label of a row that was not drawn is a fair coin, given all drawn rows"
        )

    def formula_in(self, experiment: Setup) -> str:
        return times_constant("(1 − r/d)", experiment)

    def value(self, at: At) -> Floats:
        order, n = at.order, at.labels.n
        unseen = np.full((len(order), order.shape[1] + 1), 1.0)
        for replica, rows in enumerate(order):
            _, first = np.unique(rows, return_index=True)
            new = np.zeros(len(rows))
            new[first] = 1 / n
            unseen[replica, 1:] -= np.cumsum(new)
        return loss_constant(at.experiment) * unseen[:, at.k.astype(int)]
