"""The function of the weights that a learner minimises according to theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Potential(Measure, frozen=True, tag="potential"):
    """Q(w) at the learner's weights w, for the function Q that the learner's theoretical limit minimises.

    The learner's field `tends_to` names the solver that computes this limit. For the solver `min-q` of depth
    2, Q_α(w) = Σ_i α_i² q(w_i/α_i²), q(b) = 2 − √(4 + b²) + b asinh(b/2). The learner is then the net w = u²
    − v², with u_i and v_i starting at α_i. For other solvers, Q is the norm that they minimise. Averaged over
    targets. Unit: that of Q. Source: WGL20; theory/implicit-bias#shaped-start.
    """

    label: ClassVar[str] = "potential Q(w)"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True, coordinates=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if learner.tends_to is not None:
            structure = learner.tends_to.structure()
            if structure.names_norm and not structure.from_start:
                return None
        return "the learner's `tends_to` names a solver that minimises a function of the weights"

    def bytes_held(self, sizes: Sizes) -> int:
        return DERIVED * 6 * sizes.batch * sizes.d

    def value(self, probe: Probe) -> torch.Tensor:
        potentials = probe.solver_of_limit.norm(probe.drawn_weights)
        return probe.data.over_targets(potentials[None])[0]
