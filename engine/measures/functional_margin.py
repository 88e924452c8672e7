"""The functional margin: the least product of a label and its prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class FunctionalMargin(Measure, frozen=True, tag="functional-margin"):
    """min_j y_j f(x_j) over the examples seen so far, for predictions f(x_j), averaged over targets.

    Labels must be ±1. The margin has no value before the first example. It is positive once all examples are
    classified correctly. From then on, training on losses with exponential tails increases the margin without
    bound. The margin measures the progress of training: for f(x) = wᵀx, the distance of w/‖w‖ from its limit
    is of order 1/margin. Unit: that of a prediction. Source: LL20;
    theory/implicit-bias#optimisation-geometry.
    """

    label: ClassVar[str] = "min y·f(x)"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return None if problem.label_values == "signs" else "labels are +1 and −1"

    def value(self, probe: Probe) -> torch.Tensor:
        margins = probe.predictions.double() * probe.data.labels
        least = torch.where(probe.counts > 0, margins, torch.inf).amin(1)
        return probe.data.over_targets(torch.where(least.isfinite(), least, torch.nan)[None])[0]
