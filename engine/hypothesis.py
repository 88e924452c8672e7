"""The current hypothesis of a learner: what it predicts now, and how it takes in an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from engine.architectures import Params
from engine.lazy import torch
from engine.losses import Loss
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.streams import Streams

if TYPE_CHECKING:
    from engine.experiment import Learner


class Hypothesis(Protocol):
    """What a protocol needs of a learner, whether it follows gradients or solves."""

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Take in examples: instances [R, n, d] and labels [B, n]."""

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""

    def weights(self) -> torch.Tensor | None:
        """The vectors w [B, d] with predictions xᵀw, or None if predictions are not linear in x."""


class Descent:
    """A hypothesis that an update rule moves along the gradient of the mean loss of the examples given."""

    def __init__(self, learner: Learner, loss: Loss, data: Data, streams: Streams) -> None:
        assert learner.architecture is not None, "Learner admits no other combination"
        assert learner.update is not None, "Learner admits no other combination"
        architecture, update = learner.architecture, learner.update
        self._architecture, self._update, self._loss = architecture, update, loss
        rows = data.instances.rows
        start = architecture.start(streams("init"), data.instances.d)
        params = {
            name: torch.as_tensor(value, dtype=rows.dtype, device=rows.device)
            .repeat_interleave(data.targets, 0)
            .contiguous()
            for name, value in start.items()
        }
        self._params, self._state = update.start(params)
        lr = getattr(update, "lr", 1.0)
        self._rates = {name: lr * learner.layer_rates.get(name, 1.0) for name in params}

    def rotate(self, rotation: torch.Tensor) -> None:
        """Replace the start by the one that corresponds to instances U x; for use before any example."""
        self._params, self._state = self._update.start(self._architecture.rotated(self._params, rotation))

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        gradients = self._architecture.gradient(
            self._params, instances, lambda predictions: self._loss.slope(predictions, labels) / instances.n
        )
        self._params, self._state = self._update.step(self._params, gradients, self._rates, self._state)

    def predict(self, instances: Instances) -> torch.Tensor:
        return self._architecture.predict(self._params, instances)

    def weights(self) -> torch.Tensor | None:
        return self._architecture.weights(self._params)

    @property
    def params(self) -> Params:
        """The trained tensors by name."""
        return self._params


def begin(learner: Learner, loss: Loss, data: Data, streams: Streams) -> Hypothesis:
    """The hypothesis of a learner before the first example."""
    if learner.solver is not None:
        return learner.solver.begin(data)
    return Descent(learner, loss, data, streams)
