"""Excess risk: the expected loss of the learner's weights, minus the expected loss of the true weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, MeasureStructure, Probe, needs_teacher

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class ExcessRisk(Measure, frozen=True, tag="excess-risk"):
    """The excess risk (w − w*)ᵀΣ(w − w*): expected square loss of w on new instances, minus that of w*.

    Labels must depend on xᵀw*, or on its sign, possibly with noise. The measure does not use the rows of the
    data, so the matrix family of the problem must state Σ = E xxᵀ. Averaged over targets. Unit: that of xᵀw*,
    squared. Source: WGL20 §4; theory/implicit-bias#kernel-and-rich.
    """

    label: ClassVar[str] = "excess risk"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True)

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if problem.matrix.second_moment is None:
            return "the matrix declares its second moment, as `gaussian` does"
        return needs_teacher(problem)

    def value(self, probe: Probe) -> torch.Tensor:
        data, moment = probe.data, probe.data.second_moment
        assert moment is not None, "it is refused elsewhere"
        errors = data.from_teacher(probe.drawn_weights).double()
        if isinstance(moment, torch.Tensor):
            return data.over_targets(((errors @ moment) * errors).sum(1)[None])[0]
        return data.over_targets(moment * errors.square().sum(1)[None])[0]
