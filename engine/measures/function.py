"""What a learner predicts of numbers, as a function of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.measures import Index, Measure, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Function(Measure, frozen=True, tag="function"):
    """f(x): the predictions for all instances of one entry x, from the least of them to the largest.

    The instances are the same in every replica, as points that are given or equally spaced, and there is one
    target. Unit: that of a label. Source: SESS19; theory-bias.md §51.
    """

    label: ClassVar[str] = "f(x)"

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        places = problem.matrix.fixed_points
        return (Index("input", np.empty(0) if places is None else np.sort(places)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return needs_fixed_points(problem)

    def value(self, probe: Probe) -> torch.Tensor:
        return function(probe)[1].movedim(0, -1)


def needs_fixed_points(problem: Problem) -> str | None:
    """Where f(x) can be seen along x, if that is not here."""
    if problem.matrix.fixed_points is None:
        return "instances are numbers that are the same in every replica, as interval has with spaced points"
    return None if problem.target.columns(problem.matrix) == 1 else "there is one target"


def function(probe: Probe) -> tuple[torch.Tensor, torch.Tensor]:
    """The instances x [n], in order, and what is predicted of them [n, R, V]."""
    x, order = probe.data.instances.rows[0, :, 0].double().sort(stable=True)
    return x, probe.data.over_targets(probe.predictions[:, order].mT)
