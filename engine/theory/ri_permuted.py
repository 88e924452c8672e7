"""A lower bound on the loss of rotation-invariant learners on Hadamard rows in random order."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure, RotationInvariant, only_square, shown_once


class RIPermuted(RotationInvariant, frozen=True, tag="ri-permuted"):
    """1 − k/(d−1): no rotation-invariant learner does better on Hadamard rows in random order.

    The bound holds in expectation over the order of the rows and any randomness of the labels. The bound
    requires square loss. The target must be one fixed feature, other than the constant feature. The labels
    are the entries of a column with as many 1 as −1, sampled without replacement. Orthogonal instances
    contain no information about the order of these entries. Source: WKA21 Thm 5.
    """

    title: ClassVar[str] = "bound in random order"
    formula: ClassVar[str] = "1 − k/(d−1)"
    source: ClassVar[str] = "WKA21 Thm 5"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        matrix, target = experiment.problem.matrix, experiment.problem.target
        if repeated := shown_once(experiment):
            return repeated
        structure = matrix.structure()
        if not structure.is_hadamard:
            return Finding(False, f"requires Hadamard rows, and the matrix is {matrix.kind}")
        if not structure.random_order:
            return Finding(False, "requires the rows in random order, and `permute` is off")
        if target.structure(matrix).fixed_feature in (None, structure.constant_column):
            return Finding(False, "requires one fixed feature as the target, not the constant one")
        return only_square(experiment) or Finding(
            True, "orthogonal rows in random order: the labels are drawn from a balanced column"
        )

    def value(self, at: At) -> Floats:
        unseen: Floats = np.maximum(0, 1 - at.k / (at.labels.n - 1))
        return unseen
