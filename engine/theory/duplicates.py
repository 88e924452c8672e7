"""The lower bounds for rotation-invariant learners that see rows more than once."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.spec.setup import Setup
from engine.theory import At, Direction, Floats, RotationInvariant, fair_signs, loss_constant, times_constant


class Duplicates(RotationInvariant, frozen=True, tag="duplicates"):
    """c(1 − ⌈k/2q⌉/d): duplicates of Hadamard rows teach a rotation-invariant learner nothing, a saw-tooth.

    With `repeat` q every row comes 2q times in a row, q times with each sign, and the first of them
    determines the labels of all. It needs no random signs and no random order: the rotation that flips an
    unseen row h leaves all seen ones where they are, so the learner predicts alike for h and −h, and their
    labels y and −y cost at least c on average. It holds for these very rows, in expectation only over the
    learner's own start, and over noise and labels drawn by chance if there are any.

    With examples drawn independently (`replacement`) a row is still unseen with probability (1 − 1/d)^k, and
    the bound is c(1 − 1/d)^k, in expectation over the draws, and over random row signs if rows have one sign
    only. A target of several features has labels of other sizes than 1; then either holds for square loss,
    in expectation over the order. Least squares attains both. Source: WKA21 App. A.
    """

    title: ClassVar[str] = "bound on duplicates"
    direction: ClassVar[Direction] = "lower"
    formula: ClassVar[str] = "c(1 − ⌈k/2q⌉/d), drawn independently c(1 − 1/d)^k"
    source: ClassVar[str] = "WKA21 App. A"

    def holds(self, experiment: Setup) -> Finding:
        matrix = experiment.problem.matrix
        if not matrix.is_hadamard:
            return Finding(False, f"requires Hadamard rows, and the matrix is {matrix.kind}")
        if matrix.repeat is not None:
            return fair_signs(
                experiment, "every row comes with both signs, and an unseen row looks the same with either"
            )
        if not experiment.protocol.drawn_independently:
            return Finding(False, "requires rows that come more than once: set repeat, or replacement")
        if not matrix.random_signs:
            return Finding(False, "requires rows with both signs, or random row signs, and row_signs is off")
        return fair_signs(experiment, "independent draws leave many rows unseen, and their labels fair coins")

    def formula_in(self, experiment: Setup) -> str:
        drawn = experiment.protocol.drawn_independently
        return times_constant("(1 − 1/d)^k" if drawn else "(1 − ⌈k/2q⌉/d)", experiment)

    def value(self, at: At) -> Floats:
        copies = 2 * (at.experiment.problem.matrix.repeat or 0) or 1
        rows = at.labels.n // copies
        drawn = at.experiment.protocol.drawn_independently
        unseen: Floats = (1 - 1 / rows) ** at.k if drawn else 1 - np.ceil(at.k / copies) / rows
        return loss_constant(at.experiment) * unseen
