"""How well the prior of a Bayesian net predicted the examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.measures.posterior_spread import OfPosterior

if TYPE_CHECKING:
    from engine.formulas.deep_linear_posterior import Posterior


class LogEvidence(OfPosterior, frozen=True, tag="log-evidence"):
    """ln of the prior density of the labels seen, in the coordinates θ* of the weights in their span.

    Densities of the labels themselves differ by a factor that depends on the instances only. It compares
    priors: the depth, the width or the variance with the largest evidence predicted the labels best. NaN
    where no or one direction is open. Averaged over targets. Source: Hanin, Zlokapa 2023; theory-nets.md §40.
    """

    label: ClassVar[str] = "ln evidence"

    def of_posterior(self, left_open: Posterior) -> float:
        return left_open.log_evidence
