"""The norm that a learner minimises according to theory, relative to its minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class NormRatio(Measure, frozen=True, tag="norm-ratio"):
    """‖w‖/‖ŵ‖: norm of a learner's weights w, relative to the norm of its theoretical limit ŵ.

    The learner's field `tends_to` names the solver that computes ŵ, and the norm is the one that this solver
    minimises.

    If the learner fits the examples with the least possible norm, the ratio is 1. A ratio below 1 means that
    the learner does not fit the examples. If ŵ is the solution nearest to the start of the learner, both
    norms are those of the displacement from the start. If ŵ maximises the margin, w is first divided by its
    least margin min_j y_j x_jᵀw. Then the ratio is never below 1, and has no value until all examples are
    classified correctly. There is never a value before the first example. Averaged over targets. Unit: none.
    Source: GLSS18a, GLSS18b; theory/implicit-bias#optimisation-geometry,
    theory/implicit-bias#matrix-completion.
    """

    label: ClassVar[str] = "norm over the least norm"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True, start=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        names_norm = learner.tends_to is not None and learner.tends_to.structure().names_norm
        return None if names_norm else "the learner's `tends_to` names a solver that minimises a norm"

    def bytes_held(self, sizes: Sizes) -> int:
        return DERIVED * 3 * sizes.batch * sizes.d

    def value(self, probe: Probe) -> torch.Tensor:
        weights, solver = probe.weights, probe.solver_of_limit
        assert weights is not None, "a measure of weights needs weights"
        from_start = probe.start_weights if solver.structure().from_start else 0.0
        norm, least = solver.norm(weights - from_start), solver.norm(probe.limit - from_start)
        if solver.structure().of_margins:
            margins = probe.predictions.double() * probe.data.labels
            smallest = torch.where(probe.counts > 0, margins, torch.inf).amin(1)
            norm = torch.where(smallest > 0, norm / smallest, torch.nan)
        return probe.data.over_targets((norm / least)[None])[0]
