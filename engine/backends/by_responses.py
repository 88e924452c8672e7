"""Backend for rules whose weights are linear in past gradients, on orthogonal examples.

The response of a rule says by how much one gradient has moved the weights after 1, 2, 3 … steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.backends import Backend, Needs, why_no_single_pass
from engine.backends.structured import is_large, rotated, why_not_rotated
from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.memory import CELLS, Sizes
from engine.hypotheses.hypothesis import Weighted
from engine.measures import Measure
from engine.problems.data import Data
from engine.problems.instances import Instances, ScaledIdentity
from engine.training.descent import Descent, TrainingInputs
from engine.training.evaluators import ByPredictions, Measures, Mistakes, includes
from engine.training.recorder import Recorder
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment


class ByResponses(Backend):
    """Backend for a linear neuron and a rule with `Update.response`, in one pass over orthogonal examples.

    Each example is seen once. The prediction for an example is constant until the example is seen. Later,
    only the gradient of this example changes the prediction, by the rule's response to a single gradient. So
    the changes of all predictions, and the mean square loss after every step, are known before the first
    step.
    """

    place: ClassVar[int] = 25
    words: ClassVar[str] = (
        "computed by adding the effects of single gradients, because the examples are orthogonal"
    )
    knows: ClassVar[frozenset[str]] = Backend.knows | {"layer_rates"}
    needs: ClassVar[Needs] = Needs(predictions=False, new_tensors=False)

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        if reason := why_not_rotated(learner, experiment):
            return reason
        rule, net = learner.update, learner.architecture
        if rule is None or net is None:
            return "this backend requires an architecture and an update rule"
        if rule.response(1) is None or not net.structure().trains_weights:
            return "this backend requires a linear neuron, and a rule whose steps are linear in the gradients"
        if experiment.protocol.schedule().drawn_independently:
            return "examples may be seen twice"
        return why_no_single_pass(experiment) or super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        needs = measure.needs()
        return not (needs.parameters or needs.coordinates or needs.under)

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the bytes of initial and present predictions, their changes, and one evaluation."""
        return sizes.batch * 4 * sizes.n * sizes.item

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        return is_large(learner, experiment)

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        return experiment.protocol.training_run(rotated(inputs), ResponsesLearner)


class Responses:
    """A linear neuron on n = d orthogonal instances of length √d, stored as its predictions for them.

    The gradient of step s is c_s x_s. After step k, this gradient has moved the prediction ŷ_s by −η c_s d
    ρ_(k−s+1), where ρ is the step response of the rule (`Update.response`). It has moved no other prediction,
    since x_jᵀx_s = 0. Let m_s = η c_s d, and let e_s be ŷ_s − y_s at the start. After k steps, the sum of all
    squared errors is Σ e_s² − 2 Σ_(s≤k) e_s m_s ρ_(k−s+1) + Σ_(s≤k) m_s² ρ²_(k−s+1). Both sums over s ≤ k are
    convolutions.
    """

    def __init__(self, inputs: TrainingInputs, steps: int) -> None:
        learner, data = inputs.learner, inputs.data
        assert isinstance(data.instances, ScaledIdentity), "orthogonal instances come as a scaled identity"
        response = learner.trained.update.response(steps)
        assert response is not None, "the backend serves no other learner"
        # This descent makes no steps. It provides the same start and rates as for every other backend.
        start = Descent(inputs)
        rate = next(iter(start.rates.values()))
        self._data, self._seen = data, 0
        self._first = start.predict(data.instances)  # [B, n]
        self._moves = inputs.loss.slope(self._first, data.labels) * (rate * data.instances.d)
        self._parts = self._first, data.labels, self._moves
        self._response = response
        self._backwards = torch.from_numpy(response[::-1].copy()).to(self._first)

    def learn_next(self) -> None:
        self._seen += 1

    def squares(self) -> torch.Tensor:
        """Return the mean square losses after 0, 1, 2, … steps in float64.

        The result has the shape [steps + 1, replicas, variants].
        """
        steps, together = len(self._response), max(1, CELLS // len(self._data.labels))
        products: list[torch.Tensor] = []  # e², e m and m² of some rows, [3, rows, R, V]
        for row in range(0, self._data.instances.n, together):
            first, labels, moves = (part[:, row : row + together].T.double() for part in self._parts)
            errors = first - labels
            three = (errors * errors, errors * moves, moves * moves)
            products.append(torch.stack([self._data.over_targets(values) for values in three]))
        error_squares, between, moved = torch.cat(products, 1).cpu().numpy()
        squares = np.broadcast_to(error_squares.sum(0), (steps + 1, *error_squares.shape[1:])).copy()
        squares[1:] -= 2 * _convolution(between[:steps], self._response)
        squares[1:] += _convolution(moved[:steps], self._response**2)
        # If the loss is 0, the three sums cancel, and rounding can make their total negative.
        return torch.from_numpy(squares.clip(0) / self._data.instances.n).to(self._first.device)

    def predict(self, instances: Instances) -> torch.Tensor:
        if instances is self._data.instances:
            return self._present_predictions(slice(None))
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        """Return the weights [B, d], in the coordinates in which instance j is √d e_j."""
        return self._present_predictions(slice(None)) / math.sqrt(self._data.instances.d)

    def first_weights(self) -> torch.Tensor:
        first_target = slice(0, self._data.variants * self._data.targets, self._data.targets)
        return self._present_predictions(first_target) / math.sqrt(self._data.instances.d)

    def _present_predictions(self, members: slice) -> torch.Tensor:
        now, seen = self._first[members].clone(), self._seen
        if seen:
            now[:, :seen].addcmul_(self._moves[members, :seen], self._backwards[-seen:], value=-1)
        return now


def _convolution(values: NDArray[np.float64], kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ_(s≤k) values_s kernel_(k−s) for every k, along the first axis, by Fourier transforms."""
    size = 2 * len(kernel)
    shaped = kernel.reshape(-1, *(1,) * (values.ndim - 1))
    spectrum = np.fft.rfft(values, size, axis=0) * np.fft.rfft(shaped, size, axis=0)
    convolved: NDArray[np.float64] = np.fft.irfft(spectrum, size, axis=0)[: len(kernel)]
    return convolved


class ResponsesLearner:
    """Learner that trains on orthogonal examples one at a time, in the order of the rows."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        assert order is None, "every example is seen once, in the order of the rows"
        self.hypothesis = Responses(inputs, records - 1)
        parts = inputs.data, inputs.loss, records, inputs.measures
        squares = inputs.loss.is_square and not includes(inputs.measures, "train", "unseen")
        evaluator = KnownSquares(*parts, self.hypothesis) if squares else ByPredictions(*parts, order)
        self.recorder = Recorder(inputs, self.hypothesis, records, order, evaluator)

    def learn(self, k: int) -> Iterable[None]:
        """Train on example number k, which must be the next one of the pass."""
        self.hypothesis.learn_next()
        return ()


class KnownSquares:
    """Evaluator that computes all mean square losses of the pass before the first training step."""

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error"})

    def __init__(
        self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...], hypothesis: Responses
    ) -> None:
        self._data, self._squares = data, hypothesis.squares()
        self._mistakes = Mistakes(data, loss, records, measures)
        self._published = self._records_taken = 0

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        self._mistakes.take(lambda: hypothesis.predict(self._data.instances))
        self._records_taken += 1

    def looks(self, record: int) -> bool:
        return self._mistakes.counts(record)

    def measured(self) -> Measures:
        new = slice(self._published, self._records_taken)
        self._published = self._records_taken
        losses = {"loss": [self._squares[new]]} if new.start < new.stop else {}
        return losses | self._mistakes.measured()


BACKEND = ByResponses()
