"""0/1 error: the share of rows that are mistaken."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.parts import Values
from engine.measures import Measure, Probe

if TYPE_CHECKING:
    from engine.spec.learner import Learner
    from engine.spec.problem import Problem


class Error(Measure, frozen=True, tag="error"):
    """The share of rows that are mistaken, for labels of two classes.

    For labels ±1 by the sign of a prediction, for 0 and 1 by its side of the loss's boundary. A prediction on
    the boundary counts one half. Rounding moves it off there, and on unseen Hadamard rows even to the right
    side: up to √eps away still counts as on it. Source: theory.md §10.
    """

    label: ClassVar[str] = "0/1 error"
    always: ClassVar[bool] = True

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        two_classes = problem.label_values != "any"
        return None if two_classes else "labels are two classes: +1 and −1, or 0 and 1"

    def value(self, probe: Probe) -> torch.Tensor:
        data = probe.data
        right = sides(probe.predictions, data.labels, data.values, probe.loss).double().mean(1)
        return data.over_targets(((1 - right) / 2)[None])[0]


def sides(predictions: torch.Tensor, labels: torch.Tensor, values: Values, loss: Cost) -> torch.Tensor:
    """+1 for a prediction on the side of its label, −1 on the other, and 0 for one that is a tie.

    For labels ±1 or, by `values`, 0 and 1. Up to √eps from the boundary is a tie: rounding moves it off.
    """
    if values == "bits":
        predictions, labels = predictions - loss.bit_boundary, 2 * labels - 1
    margins = predictions * labels
    tie = torch.finfo(margins.dtype).eps ** 0.5
    return torch.nn.functional.hardshrink(margins, tie).sign_()
