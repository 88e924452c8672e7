"""The Bayesian interpolator of deep linear nets."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import LARGEST, MOST_LAYERS, Count, Verdict
from engine.core.streams import Streams
from engine.formulas.deep_linear_posterior import DeepPrior, Posterior, posterior
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Solver, SolverStructure
from engine.solvers.lls import LeastSquaresFit


class DeepLinearBayes(Solver, frozen=True, tag="deep-linear-bayes"):
    """Posterior of a deep linear net θ = W^(L+1) … W¹ with Gaussian weights, given noiseless examples.

    Weights have the variance σ²/fan-in. For L = 0, θ has the Gaussian prior N(0, (σ²/d) I). Given the
    examples, θ = w + z, where w is the solution of least norm. The random vector z is orthogonal to all
    instances, and its direction is uniform. The posterior mean is therefore w, and predictions are xᵀw. The
    measures posterior-spread and log-evidence describe this posterior. Source: Hanin, Zlokapa 2023;
    theory/regions-and-random-matrices#bayesian-interpolation.
    """

    depth: Annotated[
        int, Meta(ge=0, le=MOST_LAYERS, title="depth L", description="number of hidden layers")
    ] = 1
    width: Annotated[Count, Meta(title="width n", description="number of units of every hidden layer")] = 200
    variance: Annotated[
        float,
        Meta(
            gt=0,
            le=LARGEST,
            title="variance σ²",
            description="variance of a weight, times the fan-in of its layer",
        ),
    ] = 1.0

    def structure(self) -> SolverStructure:
        return SolverStructure(
            learner_kind="exact",
            projects=True,
            linear_in_labels=True,
            has_posterior=True,
        )

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return DeepLinearFit(data, DeepPrior(self.depth, self.width, self.variance))

    def size(self, n: int, d: int) -> int:
        return 2 * d * d + n * d

    def invariance(self) -> Verdict:
        return Verdict(
            True,
            "w = Σ_j a_j x_j with coefficients a that depend only on labels and inner products",
        )


class DeepLinearFit(LeastSquaresFit):
    """State of the solver: the posterior distribution of θ, for every replica and target."""

    def __init__(self, data: Data, prior: DeepPrior) -> None:
        super().__init__(data)
        self._prior = prior

    def posteriors(self) -> list[Posterior]:
        """Return the posterior distribution of θ, the net's weights, for every replica and target."""
        d = self._projector.shape[1]
        ranks = self._projector.diagonal(dim1=1, dim2=2).sum(1).round().int().tolist()
        lengths = torch.linalg.vector_norm(self._w, dim=2).tolist()  # [R, m]
        return [
            posterior(self._prior, d, rank, length)
            for rank, of_targets in zip(ranks, lengths, strict=True)
            for length in of_targets
        ]
