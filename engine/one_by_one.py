"""A linear neuron that meets orthogonal examples one by one: each moves its own prediction and no other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engine.costs import Cost
from engine.hypothesis import Descent, Hypothesis
from engine.lazy import torch
from engine.problems.axes import Axes
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.recorder import Measures, over_targets, sides
from engine.streams import Streams
from engine.updates import Striding

if TYPE_CHECKING:
    from engine.experiment import Learner


class OneByOne:
    """A linear neuron with a rule that strides, on n = d orthogonal instances of length √d.

    A step w ← w − s x_k changes ŷ_k by −s d, and no other prediction, since x_jᵀx_k = 0. So it keeps the
    predictions of all rows and costs a few operations for every target, whatever d is.
    """

    def __init__(self, learner: Learner, loss: Cost, data: Data, streams: Streams) -> None:
        assert isinstance(data.instances, Axes), "only orthogonal instances are strangers to one another"
        update: object = learner.update
        assert isinstance(update, Striding), "only rules that add multiples of examples do this"
        start = Descent(learner, loss, data, streams)
        self._update, self._loss, self._data = update, loss, data
        by_row = data.instances.n, data.replicas, -1
        self._predictions = start.predict(data.instances).T.reshape(by_row).contiguous()
        self._labels = data.labels.T.reshape(by_row).contiguous()
        rate = start.rates["w"]
        self._rate = rate.view(data.replicas, -1) if isinstance(rate, torch.Tensor) else rate
        self._memory = torch.zeros_like(self._predictions[0])
        self._replicas = torch.arange(data.replicas, device=data.labels.device)
        self.change: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
        """Labels, and predictions before and after the last step, [B] each."""

    def meet(self, rows: torch.Tensor) -> None:
        """Learn the row of this number [R] in every replica."""
        place = rows, self._replicas
        labels, before = self._labels[place], self._predictions[place]
        slope = self._loss.slope(before, labels)
        stride, self._memory = self._update.stride(slope, self._rate, self._memory)
        after = before - stride * self._data.instances.d
        self._predictions[place] = after
        self.change = labels.flatten(), before.flatten(), after.flatten()

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        raise AssertionError("it meets rows by their numbers")

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        """The weights [B, d] for instances along the axes: predictions of these over their length."""
        return self._predictions.flatten(1).T / math.sqrt(self._data.instances.d)

    def kept(self) -> torch.Tensor:
        """Those of the first replica and target [V, d]."""
        first = self._predictions[:, 0, :: self._data.targets]
        return first.T / math.sqrt(self._data.instances.d)


class Tally:
    """Average losses and errors over all rows, brought up to date by the one row that changed."""

    def __init__(self, data: Data, loss: Cost, hypothesis: OneByOne) -> None:
        self._data, self._loss = data, loss
        predictions = hypothesis.predict(data.instances)
        self._total = loss.average(predictions, data.labels) * data.instances.n  # [B] in float64
        self._right = self._sides(predictions, data.labels).sum(1) if data.values != "any" else None
        self._losses: list[torch.Tensor] = []
        self._shares: list[torch.Tensor] = []

    def _sides(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return sides(predictions, labels, self._data.values, self._loss).double()

    def take(self, hypothesis: Hypothesis, seen: int | torch.Tensor) -> None:
        assert isinstance(hypothesis, OneByOne), "a tally follows single changes"
        if hypothesis.change is not None:
            labels, before, after = hypothesis.change
            self._total = self._total + self._loss.value(after, labels).double()
            self._total -= self._loss.value(before, labels)
            if self._right is not None:
                self._right = self._right + self._sides(after, labels) - self._sides(before, labels)
        self._losses.append(self._total)
        if self._right is not None:
            self._shares.append(self._right)

    def looks(self, record: int) -> bool:
        return False

    def measured(self) -> Measures:
        n, found = self._data.instances.n, {}
        if self._losses:
            found["loss"] = [over_targets(self._data, torch.stack(self._losses) / n)]
        if self._shares:
            found["error"] = [over_targets(self._data, (1 - torch.stack(self._shares) / n) / 2)]
        self._losses, self._shares = [], []
        return found
