"""Backend for training on single orthogonal examples: each step changes only one prediction."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from engine.backends import Backend, Needs, why_no_single_pass
from engine.backends.structured import is_large, rotated, why_not_rotated
from engine.core.lazy import torch
from engine.hypotheses.hypothesis import Weighted
from engine.measures import Measure
from engine.measures.error import sides
from engine.problems.instances import Instances, ScaledIdentity
from engine.training.descent import Descent, TrainingInputs
from engine.training.evaluators import Measures, includes
from engine.training.recorder import Recorder
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment


class OneByOne(Backend):
    """Backend for a linear neuron whose rule adds multiples of examples, in one pass over orthogonal rows.

    A step takes a few operations per target, for any d.
    """

    place: ClassVar[int] = 20
    words: ClassVar[str] = "computed with one prediction per step, because the examples are orthogonal"
    knows: ClassVar[frozenset[str]] = Backend.knows | {"layer_rates"}
    needs: ClassVar[Needs] = Needs(predictions=False, new_tensors=False)

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        if reason := why_not_rotated(learner, experiment):
            return reason
        if experiment.problem.one_hot:
            return "labels are one-hot, with a target for each of several classes"
        if learner.architecture is None or learner.update is None:
            return "this backend requires an architecture and an update rule"
        if learner.update.scalar_step(learner.architecture) is None:
            return "this backend requires a rule whose steps add multiples of single examples"
        return why_no_single_pass(experiment) or super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        needs = measure.needs()
        return not (needs.parameters or needs.rows_seen or needs.under)

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        return is_large(learner, experiment)

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        return experiment.protocol.training_run(rotated(inputs), OrthogonalLearner)


AHEAD = 128
"""Largest number of different rows whose steps are computed together."""


class Changes(NamedTuple):
    """Labels and predictions of the trained rows in K successive steps, one row for each step.

    The predictions are those before and after the step on the row. All three tensors are [K, R, B / R].
    """

    labels: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor


class OrthogonalRows:
    """A linear neuron on n = d orthogonal instances of length √d, stored as its predictions for them.

    A step w ← w − s x_k changes the prediction ŷ_k by −s d. The step changes no other prediction, since
    x_jᵀx_k = 0.
    """

    def __init__(self, inputs: TrainingInputs) -> None:
        learner, data = inputs.learner, inputs.data
        assert isinstance(data.instances, ScaledIdentity), "orthogonal instances come as a scaled identity"
        architecture, update = learner.trained
        scalar_step = update.scalar_step(architecture)
        assert scalar_step is not None, "the backend serves no other learner"
        start = Descent(inputs)
        self._scalar_step, self._loss, self._data = scalar_step, inputs.loss, data
        by_row = data.instances.n, data.replicas, -1
        self._predictions = start.predict(data.instances).T.contiguous().view(by_row)
        self._labels = data.labels.T.contiguous().view(by_row)
        rate = next(iter(start.rates.values()))
        self._rate = rate.view(data.replicas, -1) if isinstance(rate, torch.Tensor) else rate
        self._memory = torch.zeros_like(self._predictions[0])
        self._replicas = torch.arange(data.replicas, device=data.labels.device)
        self._first_weights = self._first_weights_of(self._predictions)  # after the steps written so far
        before = self._predictions[:1].clone()
        self.changes, self.place = Changes(self._labels[:1], before, before), 0
        self._first_weights_after = self._first_weights_of(before)
        self._rows: range | torch.Tensor = range(1)
        self._written = 1

    @property
    def exhausted(self) -> bool:
        """Whether all steps that the last call of `learn_ahead` computed have been made."""
        return self.place + 1 == len(self._rows)

    def learn_ahead(self, rows: range | torch.Tensor) -> None:
        """Compute the steps for several different rows (a range), or for one row per replica ([1, R]).

        The steps can be computed together, because a step for one row changes the prediction of no other row.
        """
        self._write_new_steps()
        self._rows, self.place, self._written = rows, -1, 0
        places = self._index_of_rows(slice(None))
        labels, before = self._labels[places], self._predictions[places].clone()
        slopes = self._loss.slope(before, labels)
        steps, self._memory = self._scalar_step(slopes, self._rate, self._memory)
        self.changes = Changes(labels, before, torch.sub(before, steps, alpha=self._data.instances.d))
        self._first_weights_after = self._first_weights_of(self.changes.after)

    def step(self) -> None:
        """Advance by one of the steps that the last call of `learn_ahead` computed."""
        self.place += 1

    def _index_of_rows(self, selected: slice) -> Any:
        """Return an index into tensors [n, R, …] that selects some rows of the last `learn_ahead` call.

        `selected` contains the positions of these rows among all rows of that call.
        """
        if isinstance(self._rows, range):
            rows = self._rows[selected]
            return slice(rows.start, rows.stop)
        return self._rows[selected], self._replicas

    def _write_new_steps(self) -> None:
        """Apply all steps that were made since the last call to the stored predictions and weights."""
        if self._written <= self.place:
            new = slice(self._written, self.place + 1)
            self._predictions[self._index_of_rows(new)] = self.changes.after[new]
            self._copy_changed_weights(self._first_weights, new)
            self._written = self.place + 1

    def _copy_changed_weights(self, weights: torch.Tensor, new: slice) -> None:
        """Update the entries of `weights` [V, d] that the steps `new` have changed."""
        places = self._index_of_rows(new)
        first = places if isinstance(places, slice) else places[0][:, 0]
        weights[:, first] = self._first_weights_after[:, new]

    def _first_weights_of(self, predictions: torch.Tensor) -> torch.Tensor:
        """Convert predictions [K, R, B / R] to weights [V, K] of the first replica and the first target."""
        first_target = predictions[:, 0, :: self._data.targets].T
        return first_target.contiguous() / math.sqrt(self._data.instances.d)

    def predict(self, instances: Instances) -> torch.Tensor:
        if instances is self._data.instances:
            self._write_new_steps()
            return self._predictions.flatten(1).T.contiguous()
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        """Return the weights [B, d], in the coordinates in which instance j is √d e_j."""
        self._write_new_steps()
        return self._predictions.flatten(1).T / math.sqrt(self._data.instances.d)

    def first_weights(self) -> torch.Tensor:
        weights = self._first_weights.clone()
        if self._written <= self.place:
            self._copy_changed_weights(weights, slice(self._written, self.place + 1))
        return weights


class OrthogonalLearner:
    """Learner that trains on orthogonal examples one at a time, in the order of training."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        self.hypothesis, self._order, self._records = OrthogonalRows(inputs), order, records
        evaluator = ChangeEvaluator(inputs, self.hypothesis)
        self.recorder = Recorder(inputs, self.hypothesis, records, order, evaluator)

    def learn(self, k: int) -> Iterable[None]:
        """Train on example number k.

        If no row occurs twice, also compute the steps for the examples after k.
        """
        if self.hypothesis.exhausted:
            ahead = range(k - 1, min(k - 1 + AHEAD, self._records - 1))
            self.hypothesis.learn_ahead(ahead if self._order is None else self._order[:, k - 1][None])
        self.hypothesis.step()
        return ()


class ChangeEvaluator:
    """Evaluator of losses and error rates, averaged over all rows.

    A training step changes the prediction of a single row, so the evaluator only adds the change at that row.
    """

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error"})

    def __init__(self, inputs: TrainingInputs, hypothesis: OrthogonalRows) -> None:
        data, loss = inputs.data, inputs.loss
        self._data, self._loss = data, loss
        predictions = hypothesis.predict(data.instances)
        # Summed from the same rounded values that later changes subtract, so that a loss can fall to 0.
        totals = loss.value(predictions, data.labels).sum(-1, dtype=torch.float64)  # [B]
        self._total = data.over_targets(totals[None])
        self._balance: torch.Tensor | None = None
        if includes(inputs.measures, "error"):
            self._balance = data.over_targets(
                self._sides_of_predictions(predictions, data.labels).double().sum(1)[None]
            )
        self._waiting: list[tuple[Changes, int, int]] = []  # changes, and the range of their steps

    def _sides_of_predictions(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return sides(predictions, labels, self._data.values, self._loss)

    def _losses_of(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if self._loss.steady:
            return self._loss.value(predictions, labels)
        # Computed record by record: the rounding of an unsteady loss depends on the position in a tensor, and
        # curves must not depend on that position.
        return torch.stack([self._loss.value(*pair) for pair in zip(predictions, labels, strict=True)])

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        assert isinstance(hypothesis, OrthogonalRows), "only single changes are followed"
        changes, first = hypothesis.changes, hypothesis.place
        if self._waiting and self._waiting[-1][0] is changes:
            _, first, _ = self._waiting.pop()
        self._waiting.append((changes, first, hypothesis.place + 1))

    def looks(self, record: int) -> bool:
        return False

    def measured(self) -> Measures:
        if not self._waiting:
            return {}
        waiting_parts = [[change[first:end] for change in changes] for changes, first, end in self._waiting]
        labels, before, after = (torch.cat(parts).flatten(1) for parts in zip(*waiting_parts, strict=True))
        self._waiting.clear()
        n = self._data.instances.n
        changes = self._losses_of(after, labels).double() - self._losses_of(before, labels).double()
        # In float64, because a sum that is updated by differences accumulates the rounding of every step.
        totals = torch.cat((self._total, self._data.over_targets(changes))).cumsum_(0)[1:]
        self._total = totals[-1:].clone()
        # Near 0, rounding can make the total negative.
        measures = {"loss": [totals.clamp(min=0) / n]}
        if self._balance is not None:
            turned = self._sides_of_predictions(after, labels) - self._sides_of_predictions(before, labels)
            balances = torch.cat((self._balance, self._data.over_targets(turned.double()))).cumsum_(0)[1:]
            self._balance = balances[-1:].clone()
            measures["error"] = [(1 - balances / n) / 2]
        return measures


BACKEND = OneByOne()
