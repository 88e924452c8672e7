"""The Brier score of predictions that are logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import MeasureStructure, OfRows, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Brier(OfRows, frozen=True, tag="brier"):
    """(y − tanh(ŷ/2))² for labels y = ±1, averaged over rows and targets.

    A prediction ŷ that was learned with the logistic loss is a logit: y = 1 has the probability σ(ŷ), and
    2σ(ŷ) − 1 = tanh(ŷ/2) is the mean of y. So the score is the square loss of tanh(ŷ/2) as a prediction of y.
    If all predictions are 0, the score is 1. The score is four times the usual Brier score, which is defined
    for labels 0 and 1. A seen row counts once for each time that training used this row. Source: Brier 1950;
    theory/hadamard#random-signs.
    """

    label: ClassVar[str] = "Brier score"

    names: ClassVar[Mapping[str, str]] = {"all": "brier", "train": "brier-seen", "test": "brier-unseen"}

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return None if problem.label_values == "signs" else "labels are ±1, and predictions are logits"

    def value(self, probe: Probe) -> torch.Tensor:
        errors = probe.data.labels.double() - torch.tanh(probe.predictions.double() / 2)
        return probe.data.over_targets(self.mean_over_rows(errors.square(), probe)[None])[0]
