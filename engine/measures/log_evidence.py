"""The log evidence of a Bayesian net: the logarithm of the density of the examples under its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.measures.posterior_spread import OfPosterior

if TYPE_CHECKING:
    from engine.formulas.deep_linear_posterior import Posterior


class LogEvidence(OfPosterior, frozen=True, tag="log-evidence"):
    """Logarithm of the prior density of θ* = X⁺y, the least-norm weights that fit the rows seen.

    The prior density of the labels y differs from that of θ* by a factor that depends only on the instances
    X. The evidence compares priors: the depth, width or variance with the largest evidence predicted the
    labels best. The evidence is NaN if fewer than two directions are orthogonal to the rows. Averaged over
    targets. Source: Hanin, Zlokapa 2023; theory/regions-and-random-matrices#bayesian-interpolation.
    """

    label: ClassVar[str] = "ln evidence"

    def of_posterior(self, left_open: Posterior) -> float:
        return left_open.log_evidence
