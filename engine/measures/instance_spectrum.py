"""The eigenvalues of the Gram matrix of the instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.measures import Index, Measure, MeasureSchedule, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class OfInstances(Measure, frozen=True):
    """Base class of measures of the eigenvalues of XXᵀ/d, where the rows of X are the instances.

    All learners have the same values, at every evaluation point.
    """

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(
            expensive="a computation of all singular values of the instances", ends_only=True
        )

    def bytes_held(self, sizes: Sizes) -> int:
        return DERIVED * sizes.replicas * sizes.n * (2 * sizes.d + 1)

    def value(self, probe: Probe) -> torch.Tensor:
        rows = probe.data.instances.rows
        eigenvalues = torch.linalg.svdvals(rows.double()).square() / rows.shape[2]  # [R, j]
        by_replica = self.of_eigenvalues(eigenvalues, rows.shape[1] / rows.shape[2])
        return torch.stack([by_replica] * probe.data.variants, 1)

    def of_eigenvalues(self, eigenvalues: torch.Tensor, ratio: float) -> torch.Tensor:
        """Return the values of the measure, [R, *index], computed from the eigenvalues of XXᵀ/d.

        Args:
            eigenvalues: the min(n, d) largest eigenvalues, in descending order, [R, min(n, d)].
            ratio: n/d.
        """
        raise NotImplementedError


class InstanceSpectrum(OfInstances, frozen=True, tag="instance-spectrum"):
    """λ_j: the min(n, d) largest eigenvalues of XXᵀ/d, in descending order, for the instances X [n, d].

    All other eigenvalues are 0. XᵀX/d has the same eigenvalues, except for zeros. Source:
    theory/regions-and-random-matrices#random-matrices.
    """

    label: ClassVar[str] = "eigenvalue of XXᵀ/d"

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return (Index("j", np.arange(1.0, min(problem.matrix.shape()) + 1)),)

    def of_eigenvalues(self, eigenvalues: torch.Tensor, ratio: float) -> torch.Tensor:
        return eigenvalues
