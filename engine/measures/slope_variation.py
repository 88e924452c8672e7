"""The total variation of the slope of predictions, as a function of a scalar input."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, Probe
from engine.measures.function import function, needs_fixed_points

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

SAME = 1e-6
"""Instances closer to each other than this share of their range count as one point."""


class SlopeVariation(Measure, frozen=True, tag="slope-variation"):
    """∫|f″| = Σ_i |s_{i+1} − s_i| for the slopes s_i of the predictions f between neighbouring instances x.

    Instances have one entry x. The measure is the total variation of f′ over the range of the instances. If f
    bends up and down between two neighbouring instances, these bends partly cancel. Unit: that of a label
    over that of x. Source: SESS19; theory/implicit-bias#relu-interpolation.
    """

    label: ClassVar[str] = "∫|f″|"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return needs_fixed_points(problem)

    def value(self, probe: Probe) -> torch.Tensor:
        x, y = function(probe)
        apart = x.diff() > SAME * (x[-1] - x[0])
        different = torch.cat((apart.new_ones(1), apart))
        x, y = x[different], y[different].double()
        slopes = y.diff(dim=0) / x.diff()[:, None, None]
        return slopes.diff(dim=0).abs().sum(0)
