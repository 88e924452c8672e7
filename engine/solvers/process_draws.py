"""The mean of functions drawn from a Gaussian process and conditioned on the examples."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import Count, Positive, Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Floats, Solver, SolverStructure
from engine.solvers.kernel import Kernel

NEGLIGIBLE = 1e-10
"""Eigenvalues of K below this share of the largest count as 0. Their roots would magnify rounding errors."""

TOGETHER = 1 << 20
"""Largest number of random numbers that are drawn in one call."""


class ProcessDraws(Solver, frozen=True, tag="process-draws"):
    """The mean of S draws f ~ GP(0, K), each conditioned on the examples: f + k(K + λI)⁻¹(y − f(X) − ε).

    K is the rbf kernel of the `width` s. In the formula, the matrix K contains the kernel's values for all
    pairs of examples. The vector k contains the kernel's values for a row and every example. ε ~ N(0, λI) is
    label noise. Each conditioned draw is a draw from the posterior of a Gaussian process, given labels with
    noise of variance λ. The mean of many draws tends to kernel ridge regression with the penalty λ, with an
    error of √(posterior variance/S). Rows that are predicted together use the same draws. Draws are computed
    in float64, from the eigenvectors of K on the examples and on the rows to predict. Source: Rasmussen,
    Williams 2006; theory/kernels-and-entropy#kernels.
    """

    draws: Annotated[
        Count, Meta(title="draws S", description="number of random functions that are averaged")
    ] = 100
    lam: Annotated[
        Positive,
        Meta(title="noise variance λ", description="variance of the label noise, which must be above 0"),
    ] = 0.1
    width: Annotated[
        Positive | None,
        Meta(title="width s", description="width of the rbf kernel; if not set, √d for d features"),
    ] = None

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", linear_in_instance=False)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return ConditionedDraws(data, self, streams or Streams(range(data.replicas)))

    def bytes_held(self, sizes: Sizes) -> int:
        squares = 3 * (sizes.n + sizes.examples) ** 2
        return DERIVED * (sizes.replicas * (squares + sizes.n * sizes.d + TOGETHER) + sizes.batch * sizes.n)

    def operations(self, sizes: Sizes) -> float:
        rows = float(sizes.n + sizes.examples)
        return sizes.replicas * sizes.examples * rows * (10 * rows**2 + self.draws)

    def invariance(self) -> Verdict:
        return Verdict(True, "the rbf kernel, which determines the draws, depends on distances only")


class ConditionedDraws:
    """Hypothesis that predicts by the mean of draws, each conditioned on the examples seen."""

    def __init__(self, dataset: Data, solver: ProcessDraws, streams: Streams) -> None:
        self._solver, self._streams = solver, streams
        self._prior = Kernel(width=solver.width)
        rows = dataset.instances.rows
        self._dtype = rows.dtype
        self._seen = rows[:, :0].double()  # [R, k, d]
        self._labels = dataset.labels.double().view(len(rows), dataset.targets, -1)[:, :, :0]  # [R, m, k]

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        added = labels.double().view(*self._labels.shape[:2], instances.n)
        self._seen = torch.cat((self._seen, instances.rows.double()), 1)
        self._labels = torch.cat((self._labels, added), 2)

    def predict(self, instances: Instances) -> torch.Tensor:
        k = self._seen.shape[1]
        rows = torch.cat((self._seen, instances.rows.double()), 1)
        kernels = self._prior.values(rows, rows)
        sizes, vectors = torch.linalg.eigh(kernels)
        sizes = torch.where(sizes > NEGLIGIBLE * sizes[:, -1:], sizes, 0.0)
        root = (vectors * sizes.sqrt()[:, None]) @ vectors.mT
        normal = self._mean_normal(rows.shape[1] + k).to(rows)
        drawn = (root @ normal[:, k:, None])[..., 0]  # mean of f over the draws, [R, k + n]
        noise = math.sqrt(self._solver.lam) * normal[:, :k]
        missed = self._labels - (drawn[:, :k] + noise)[:, None]  # [R, m, k]
        unit = torch.eye(k).to(rows)
        shares = torch.linalg.solve(kernels[:, :k, :k] + self._solver.lam * unit, missed.mT)  # [R, k, m]
        predictions: torch.Tensor = drawn[:, None, k:] + (kernels[:, k:, :k] @ shares).mT
        return predictions.to(self._dtype).flatten(0, 1)

    def weights(self) -> None:
        pass

    def _mean_normal(self, count: int) -> torch.Tensor:
        """Return numbers [R, count], each the mean of S independent N(0, 1) numbers, for S draws.

        The mean of S conditioned draws is computed by conditioning the mean of S draws, because conditioning
        is affine.
        """
        stream = self._streams("process")
        total: Floats = np.zeros((stream.replicas, count))
        block = max(1, TOGETHER // count)
        for first in range(0, self._solver.draws, block):
            total += stream.normal(min(block, self._solver.draws - first), count).sum(1)
        return torch.from_numpy(total / self._solver.draws)
