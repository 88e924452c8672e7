"""The distance of a learner's weights from the solution to which the learner converges in theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.measures import Measure, MeasureNeeds, MeasureStructure, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Distance(Measure, frozen=True, tag="distance"):
    """‖w − ŵ‖₂/‖ŵ‖₂, the distance from the solution ŵ that the learner's field `tends_to` names.

    If ŵ maximises the margin, only directions are compared: ‖w/‖w‖ − ŵ/‖ŵ‖‖₂. A solver computes ŵ from the
    examples seen so far. If ŵ is the solution nearest to the start, the solver also uses the weights at the
    start. The measure has no value before the first example. Averaged over targets. Unit: none. Source:
    GLSS18a; theory/implicit-bias#optimisation-geometry.
    """

    label: ClassVar[str] = "distance to the predicted solution"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True, per_learner=True)

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True, start=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return None if learner.tends_to is not None else "the learner's `tends_to` names its limit"

    def bytes_held(self, sizes: Sizes) -> int:
        return DERIVED * 3 * sizes.batch * sizes.d

    def value(self, probe: Probe) -> torch.Tensor:
        weights, limit = probe.weights, probe.limit.double()
        assert weights is not None, "a measure of weights needs weights"
        weights = weights.double()
        if probe.solver_of_limit.structure().of_margins:
            weights, limit = (torch.nn.functional.normalize(vector, eps=0.0) for vector in (weights, limit))
        away = torch.linalg.vector_norm(weights - limit, dim=1)
        return probe.data.over_targets((away / torch.linalg.vector_norm(limit, dim=1))[None])[0]
