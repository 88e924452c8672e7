"""0/1 error: the share of wrong predictions on all rows, on rows seen, or on rows never seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta
from msgspec.structs import replace as replace_fields

from engine.core.cost import Cost, by_instance
from engine.core.lazy import torch
from engine.core.parts import Values
from engine.measures import Measure, MeasureSchedule, MeasureStructure, OfRows, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.data import Data
    from engine.problems.problem import Problem


class Error(OfRows, frozen=True, tag="error"):
    """The share of misclassified rows, for labels of two classes or one-hot labels of several classes.

    For labels ±1, the class is the sign of the prediction. For labels 0 and 1, the class is 1 if the
    prediction is above the decision boundary of the loss. A prediction on the boundary counts as one half of
    an error. For one-hot labels, a row is misclassified if another class has the largest prediction. If t
    predictions are equally large, each of these classes is chosen with probability 1/t.

    Rounding errors can move a prediction off the boundary, for example to the correct side on unseen Hadamard
    rows. So a prediction within √eps of the boundary counts as on the boundary, where eps is machine epsilon.
    A seen row counts once for each time that training used this row. On seen rows, the error has no value
    before the first example. On unseen rows, it has no value after all rows were seen. If some labels were
    corrupted, the field `labels` selects the corrupted labels (`given`) or the labels before corruption
    (`true`). Source: theory/conventions#diagnostics, theory/parities-and-noise#wrong-labels.
    """

    labels: Annotated[
        Literal["given", "true"],
        Meta(title="labels", description="the labels that are learned, or the labels before corruption"),
    ] = "given"

    label: ClassVar[str] = "0/1 error"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(always=self.rows == "all" and self.labels == "given")

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        measures = cls(), cls(rows="train"), cls(rows="test")
        return (*measures, *(replace_fields(measure, labels="true") for measure in measures))

    names: ClassVar[Mapping[str, str]] = {"all": "error", "train": "train-error", "test": "test-error"}

    @property
    def name(self) -> str:
        return self.names[self.rows] if self.labels == "given" else f"true-{self.names[self.rows]}"

    def label_with(self, loss: str) -> str:
        return super().label_with(loss) + (", true labels" if self.labels == "true" else "")

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        classes = problem.label_values != "any" or problem.one_hot
        return None if classes else "labels are two classes: +1 and −1, or 0 and 1"

    def value(self, probe: Probe) -> torch.Tensor:
        data = probe.data
        if self.labels == "true" and data.true_labels is not None:
            data = replace(data, labels=data.true_labels)
        right = right_less_wrong(probe.predictions, data, probe.loss).double()
        mean = self.mean_over_rows(right, probe)
        return data.over_targets(((1 - mean) / 2)[None])[0]


def right_less_wrong(predictions: torch.Tensor, data: Data, loss: Cost) -> torch.Tensor:
    """Return P(right) − P(wrong) for each prediction […, B, n]: 1 if it is right, and −1 if it is wrong.

    In a tie, a class is drawn at random from those with the largest prediction, so the result is between −1
    and 1. The one-hot labels of a row are predicted together, so all targets of the row have the same value.
    """
    if not data.one_hot:
        return sides(predictions, data.labels, data.values, loss)
    return _right_less_wrong_probability(predictions, data.labels, data.targets)


def sides(predictions: torch.Tensor, labels: torch.Tensor, values: Values, loss: Cost) -> torch.Tensor:
    """Return +1 for each prediction on the side of its label, −1 on the other side, and 0 for a tie.

    Labels are ±1, or 0 and 1 if `values` is "bits". A prediction is tied if it is within √eps of the decision
    boundary, because rounding moves predictions off the boundary.
    """
    if values == "bits":
        predictions, labels = predictions - loss.bit_boundary, 2 * labels - 1
    margins = predictions * labels
    tie = torch.finfo(margins.dtype).eps ** 0.5
    return torch.nn.functional.hardshrink(margins, tie).sign_()


def _right_less_wrong_probability(
    predictions: torch.Tensor, labels: torch.Tensor, targets: int
) -> torch.Tensor:
    """Return 2p − 1 for each prediction, for the probability p that the true class of its row is predicted.

    If the true class is among t classes that share the largest prediction, p is 1/t. Otherwise p is 0.
    """
    scores, classes = by_instance(predictions, targets), by_instance(labels, targets)
    tie = torch.finfo(predictions.dtype).eps ** 0.5
    largest = (scores >= scores.amax(-2, keepdim=True) - tie).double()
    share: torch.Tensor = (largest * (classes > 0)).sum(-2, keepdim=True) / largest.sum(-2, keepdim=True)
    return (2 * share - 1).expand_as(scores).reshape(predictions.shape)
