"""The lower bounds on the loss of rotation-invariant learners that see the same row more than once."""

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
    times_constant,
)


class Duplicates(RotationInvariant, frozen=True, tag="duplicates"):
    """c(1 − ⌈k/2q⌉/d), a step function: duplicates of orthogonal rows do not help invariant learners.

    With `repeat` q, every row comes 2q times in succession, q times with each sign. The first of these 2q
    examples determines the labels of the others. The bound requires neither random signs nor a random order.
    A rotation that flips an unseen row h leaves all seen rows unchanged. So the learner makes the same
    prediction for h and −h. The labels of h and −h are y and −y, so this prediction costs at least c on
    average. Here c is the least mean loss on a label ±1 that is a fair coin. The bound holds for the given
    rows, in expectation over the learner's start, noise and random labels. Suppose that mini-batches are
    drawn in random order from T rows, t of which are h or −h. After k examples, the probability that h and −h
    are still unseen is at least p_h = ∏_(i<t) (1 − k/(T − i)). The bound is then c times the mean of p_h over
    all rows h.

    If examples are drawn independently (`replacement`), a row is still unseen with probability (1 − 1/d)^k.
    The bound is then c(1 − 1/d)^k, in expectation over the draws. If every row comes with only one sign, this
    sign must be random, and the expectation is also over the signs. If a target combines several features,
    its labels do not all have size 1. All these bounds then hold only for square loss, in expectation over a
    random order of the rows. For an invariant learner, all orthogonal rows of length √d are equivalent to
    Hadamard rows. Least squares attains the bounds. Source: WKA21 App. A.
    """

    title: ClassVar[str] = "bound on duplicates"
    formula: ClassVar[str] = "c · P(no copy of a row has been seen), such as c(1 − ⌈k/2q⌉/d)"
    source: ClassVar[str] = "WKA21 App. A"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        matrix = experiment.problem.matrix
        structure = matrix.structure()
        if not structure.has_orthogonal_rows:
            return Finding(False, f"requires orthogonal rows of one length, and the matrix is {matrix.kind}")
        protocol, schedule = experiment.protocol, experiment.protocol.schedule()
        drawn = schedule.drawn_independently
        if matrix.repeat is None:
            if not drawn:
                return Finding(False, "requires rows that come more than once: set `repeat` or `replacement`")
            if not structure.random_signs:
                return Finding(
                    False, "requires rows with both signs, or random row signs, and `row_signs` is off"
                )
            reason = "independent draws leave many rows unseen, and labels of unseen rows have random signs"
            return fair_signs(experiment, reason)
        if not (drawn or schedule.in_data_order or schedule.shuffles):
            return Finding(False, f"requires rows in a known order, and {protocol.kind} declares no order")
        reason = "every row comes with both signs, and an unseen row looks the same with either sign"
        return fair_signs(experiment, reason)

    def formula_in(self, experiment: Setup) -> str:
        schedule, n = experiment.protocol.schedule(), experiment.n
        if schedule.drawn_independently:
            return times_constant("(1 − 1/d)^k", experiment)
        if not schedule.shuffles:
            return times_constant("(1 − ⌈k/2q⌉/d)", experiment)
        rows = experiment.protocol.extent(n).rows
        share = "∏_(i<2q) (1 − k/(2qd − i))" if rows == n else f"mean of ∏_(i<t) (1 − k/({rows} − i))"
        return times_constant(f"({share})", experiment)

    def value(self, at: At) -> Floats:
        copies = 2 * (at.experiment.problem.matrix.repeat or 0) or 1
        protocol, n = at.experiment.protocol, at.experiment.n
        schedule = protocol.schedule()
        if schedule.drawn_independently:
            unseen: Floats = (1 - copies / n) ** at.k
        elif schedule.shuffles:
            unseen = missed(n, copies, protocol.extent(n).rows, at.k)
        else:
            unseen = 1 - np.ceil(at.k / copies) * copies / n
        return loss_constant(at.experiment) * unseen


def missed(n: int, copies: int, rows: int, k: Floats) -> Floats:
    """Return the expected share of groups from which no row is drawn.

    A group consists of `copies` consecutive rows. The k rows are drawn at random, without replacement, from
    the first T = `rows` of the n rows. If t of these T rows belong to a group, the group is missed with
    probability ∏_(i<t) (1 − k/(T − i)).
    """
    inside = np.clip(rows - copies * np.arange(n // copies), 0, copies)
    probabilities = np.ones((copies + 1, len(k)))
    for i in range(min(copies, rows)):
        probabilities[i + 1] = probabilities[i] * np.maximum(0, 1 - k / (rows - i))
    share: Floats = probabilities[inside].mean(0)
    return share
