"""The distance between the eigenvalues of the instances' Gram matrix and the Marchenko–Pastur law."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.formulas.marchenko_pastur import below
from engine.measures.instance_spectrum import OfInstances

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class SpectralDistance(OfInstances, frozen=True, tag="spectral-distance"):
    """sup_x |F(x) − F_α(x)|: Kolmogorov distance of eigenvalues of XXᵀ/d from the Marchenko–Pastur law.

    There must be at most d rows. F(x) is the share of the n eigenvalues that are at most x. F_α is the
    distribution function of the law with α = n/d. Source: theory/regions-and-random-matrices#random-matrices.
    """

    label: ClassVar[str] = "distance from the Marchenko–Pastur law"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        n, d = problem.matrix.shape()
        return None if n <= d else "there are at most as many rows as features"

    def of_eigenvalues(self, eigenvalues: torch.Tensor, ratio: float) -> torch.Tensor:
        count = eigenvalues.shape[1]
        expected = torch.from_numpy(below(ratio, eigenvalues.flip(1).cpu().numpy()))
        ranks = torch.arange(count + 1, dtype=torch.float64) / count
        return torch.maximum(expected - ranks[:-1], ranks[1:] - expected).amax(1)
