"""The share of a net's gradient that correlates with a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.core.params import Params
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class GradientAlignment(Measure, frozen=True, tag="gradient-alignment"):
    """‖E_x f ∇ŷ‖²/E_x ‖∇ŷ‖²: the share of the predictions' gradient that correlates with the labels f.

    Means are over all rows, and ∇ is the gradient with respect to all trained parameters. f is scaled so that
    E f² = 1. To first order, a step Δθ changes E_x f ŷ by at most ‖Δθ‖ √(E_x ‖∇ŷ‖²) times the square root of
    this share. Source: AB22; theory/symmetry#alignment.
    """

    label: ClassVar[str] = "gradient share correlated with the labels"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if learner.architecture is not None and learner.architecture.outputs > 1:
            return "every net predicts a single target"
        return None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (2 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        data, net, tensors = probe.data, probe.architecture, probe.tensors
        n = data.instances.n
        labels = data.labels / data.labels.double().square().mean(1, keepdim=True).sqrt().to(data.labels)
        seen = _squared_lengths(net.gradient(tensors, data.instances, lambda _: labels / n))
        total = torch.zeros_like(seen)
        for row in range(n):
            total += _squared_lengths(
                net.gradient(tensors, data.instances.at(slice(row, row + 1)), torch.ones_like)
            )
        return data.over_targets((n * seen / total)[None])[0]


def _squared_lengths(gradients: Params) -> torch.Tensor:
    """Return the squared length of each net's gradient, summed over all tensors, [B]."""
    return torch.stack([gradient.double().square().flatten(1).sum(1) for gradient in gradients.values()]).sum(
        0
    )
