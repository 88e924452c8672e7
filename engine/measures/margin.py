"""The margin: the least distance of an example from the decision boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.linear_algebra import LENGTHS, POWERS, Exponent, length
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Margin(Measure, frozen=True, tag="margin"):
    """The margin min_j y_j x_jᵀw/‖w‖_q over the examples seen so far, averaged over targets.

    Labels are ±1. The margin is negative as long as an example is misclassified. The margin has no value for
    w = 0 or before the first example. The maximum of the margin over all w is 1/‖w₁‖_q. Here w₁ has the least
    ‖w‖_q of all w with y_j x_jᵀw ≥ 1 for all j. Unit: that of an instance. Source: GLSS18a;
    theory/implicit-bias#optimisation-geometry.
    """

    label: ClassVar[str] = "margin"

    q: Annotated[
        Exponent, Meta(title="q", description=f"the margin is divided by this length of w: {LENGTHS}")
    ] = "2"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return tuple(cls(q=q) for q in POWERS)

    @property
    def name(self) -> str:
        return f"margin-{self.q}"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        signs = problem.label_values == "signs"
        return None if signs else "labels are +1 and −1"

    def value(self, probe: Probe) -> torch.Tensor:
        margins = probe.predictions.double() * probe.data.labels
        least = torch.where(probe.counts > 0, margins, torch.inf).amin(1)
        lengths = length(probe.drawn_weights, self.q)
        is_defined = least.isfinite() & (lengths > 0)
        return probe.data.over_targets(torch.where(is_defined, least / lengths, torch.nan)[None])[0]
