"""The spread of the weights under the posterior of a Bayesian net."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureSchedule, Probe

if TYPE_CHECKING:
    from engine.formulas.deep_linear_posterior import Posterior
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class OfPosterior(Measure, frozen=True):
    """Base class of measures of the posterior distribution of the weights, given the rows seen."""

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a numerical inversion of a Mellin transform")

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        has_posterior = learner.solver is not None and learner.solver.structure().has_posterior
        return None if has_posterior else "the learner has a posterior, as `deep-linear-bayes` has"

    def value(self, probe: Probe) -> torch.Tensor:
        by_member = [self.of_posterior(posterior) for posterior in probe.posteriors]
        return probe.data.over_targets(torch.tensor(by_member, dtype=torch.float64)[None])[0]

    def of_posterior(self, left_open: Posterior) -> float:
        """Return the value of the measure for one net, given the posterior distribution of its weights."""
        raise NotImplementedError


class PosteriorSpread(OfPosterior, frozen=True, tag="posterior-spread"):
    """E‖θ_⊥‖²: posterior mean for the component θ_⊥ of the weights that is orthogonal to all rows seen.

    After P independent rows, the prediction for a unit vector orthogonal to them has the variance E‖θ_⊥‖²/(d
    − P). The measure is NaN if only one direction is orthogonal to the rows. Averaged over targets. Source:
    Hanin, Zlokapa 2023; theory/regions-and-random-matrices#bayesian-interpolation.
    """

    label: ClassVar[str] = "E‖θ_⊥‖²"

    def of_posterior(self, left_open: Posterior) -> float:
        return left_open.spread
