"""Excess risk: what weights lose to those that made the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, Probe, needs_teacher

if TYPE_CHECKING:
    from engine.spec.learner import Learner
    from engine.spec.problem import Problem


class ExcessRisk(Measure, frozen=True, tag="excess-risk"):
    """The excess risk (w − w*)ᵀΣ(w − w*): mean square loss on new instances, less that of w*.

    Averaged over targets. Labels are made of xᵀw*, by their signs or with noise too, and Σ = E xxᵀ is σ²I, as
    the matrix declares: no rows are needed to measure it. Unit: that of xᵀw*, squared. Source: WGL20 §4;
    theory-bias.md §34.
    """

    label: ClassVar[str] = "excess risk"
    is_risk: ClassVar[bool] = True
    of_weights: ClassVar[bool] = True

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if problem.matrix.second_moment is None:
            return "the matrix declares a second moment σ²I, as gaussian does"
        return needs_teacher(problem)

    def value(self, probe: Probe) -> torch.Tensor:
        data = probe.data
        assert data.second_moment is not None, "it is refused elsewhere"
        errors = data.from_teacher(probe.drawn_weights).double()
        return data.over_targets(data.second_moment * errors.square().sum(1)[None])[0]
