"""The deviation of the weights from a stationary point of the least norm with margins of at least 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.linear_algebra import LENGTHS, POWERS, Exponent, coefficients
from engine.measures import Measure, MeasureNeeds, Probe
from engine.measures.large_coefficients import large

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class NormAngle(Measure, frozen=True, tag="norm-angle"):
    """1 − cos(ĝ, ŵ|ŵ|^(p−2)) for g = −∂L/∂w, where ĝ and ŵ are g and w or their Fourier transforms.

    The measure is 0 at a stationary point of the problem to minimise ‖ŵ‖_p subject to margins ≥ 1.

    For a loss with an exponential tail, g becomes a combination of the examples with the smallest margin. At
    a stationary point, g is a multiple of the gradient of ‖ŵ‖_p. The field `q` names the length ‖ŵ‖_p, and so
    determines the exponent p. Fourier transforms are discrete and unitary. Only entries with |ŵ_i| above a
    twentieth of the largest are compared, because stationarity does not fix ĝ_i if ŵ_i = 0. Labels are ±1,
    and L is the loss over the rows seen. The measure has no value if g or w is 0. Averaged over targets.
    Unit: none. Source: GLSS18b; theory/implicit-bias#optimisation-geometry.
    """

    label: ClassVar[str] = "1 − cos(−∇L, ∇‖w‖)"

    q: Annotated[Exponent, Meta(title="q", description=f"the length that is minimised: {LENGTHS}")] = "1"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if self.q == "max":
            return "`q` is not max, because max|w_i| has no gradient"
        return None if problem.label_values == "signs" else "labels are +1 and −1"

    def value(self, probe: Probe) -> torch.Tensor:
        of_weights = coefficients(probe.drawn_weights, self.q)
        against = coefficients(-probe.weight_gradient, self.q)
        counted = large(of_weights)
        slopes = torch.where(counted, of_weights * of_weights.abs() ** (POWERS[self.q] - 2), 0.0)
        against = torch.where(counted, against, 0.0)
        lengths = torch.linalg.vector_norm(slopes, dim=1) * torch.linalg.vector_norm(against, dim=1)
        cosine = (slopes.conj() * against).real.sum(1) / lengths
        return probe.data.over_targets(torch.where(lengths > 0, 1 - cosine, torch.nan)[None])[0]
