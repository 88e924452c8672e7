"""Lower bound on the missing entry of a 2 × 2 matrix, completed by a product with positive determinant."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.measures.loss import AverageLoss
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, only_square
from engine.updates import EUCLIDEAN

if TYPE_CHECKING:
    from engine.measures import Measure

SEEN = (0.0, 1.0, 1.0)
"""Observed entries of the 2 × 2 matrix, row by row. The last entry is missing."""

OF_ROWS_SEEN = AverageLoss(rows="train")


class MissingEntry(Line, frozen=True, tag="missing-entry"):
    """(1 − ℓ)²/ℓ, ℓ² = W₁₁² + (W₁₂ − 1)² + (W₂₁ − 1)²: lower bound on the largest entry of a matrix W.

    W = A₁ᵀ A₂ ⋯ A_L is a product of 2 × 2 matrices A_l, trained on observed entries. The bound is max_ij
    |W_ij| ≥ |W₂₂| ≥ (1 − ℓ)²/ℓ. The entries W₁₁ = 0 and W₁₂ = W₂₁ = 1 are observed, and W₂₂ is missing.
    Gradient flow keeps the sign of the determinant W₁₁W₂₂ − W₁₂W₂₁. So if the determinant is positive at the
    start, |W₂₂| > W₁₂W₂₁/|W₁₁| as long as ℓ < 1. As the loss ℓ²/3 goes to 0, every norm of W goes to
    infinity. So products with a positive determinant at the start do not converge to a fit of minimal norm.
    Source: Razin, Cohen 2020; theory/implicit-bias#matrix-completion.
    """

    title: ClassVar[str] = "missing-entry bound"
    measure: ClassVar[str] = "norm-max"
    formula: ClassVar[str] = "(1 − ℓ)²/ℓ, ℓ² = W₁₁² + (W₁₂ − 1)² + (W₂₁ − 1)²"
    source: ClassVar[str] = "Razin, Cohen 2020"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="lower", in_expectation=False, per_learner=True, per_replica=True, along_runs=True
        )

    def holds(self, experiment: Setup) -> Finding:
        problem, protocol = experiment.problem, experiment.protocol
        if problem.matrix.structure().entries_of != (2, 2):
            other = problem.matrix.kind
            return Finding(
                False,
                f"requires the entries of a 2 × 2 matrix as instances, and the instance matrix is {other}",
            )
        entries = (*(problem.target_structure.given or ()), 0.0, 0.0, 0.0)[: len(SEEN)]
        if entries != SEEN or problem.labels != "soft" or problem.noise > 0:
            return Finding(
                False, "requires that the first three entries have the labels 0, 1 and 1 without noise"
            )
        if not protocol.schedule().flows or protocol.extent(4).most_examples != len(SEEN):
            return Finding(
                False,
                f"requires gradient flow on the first three entries, and the protocol is {protocol.kind}",
            )
        return only_square(experiment) or Finding(True, "the entries 0, 1 and 1 are fitted by gradient flow")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        name, net, update = learner.name, learner.architecture, learner.update
        if net is None or not net.structure().keeps_determinant:
            requirement = "a product of square matrices, each with a positive determinant at the start"
            return Finding(False, f"the line requires {requirement}, and {name} is not one")
        penalty = net.layout(experiment.d).l2_penalty
        if update is None or update.mirror is not EUCLIDEAN or penalty:
            return Finding(False, f"the line requires gradient flow of the loss alone, unlike {name}")
        return Finding(True, f"{name} is a product of square matrices with positive determinants")

    def measures(self, learner: Learner, experiment: Setup) -> tuple[Measure, ...]:
        return (OF_ROWS_SEEN,)

    def value(self, at: At) -> Floats:
        length = np.sqrt(len(SEEN) * at.measured[OF_ROWS_SEEN.name])
        with np.errstate(divide="ignore"):
            return np.where(length < 1, np.square(1 - length) / length, 0.0)
