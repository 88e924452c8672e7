"""Backend in numpy for runs on single examples that are so short that importing torch would take longer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.backends import Backend, Needs, weight_vectors
from engine.backends.structured import LARGE
from engine.learners.learner import AtStart, Fitted, Learner, Trained
from engine.measures import Measure
from engine.training.descent import kept_records, rates_of
from engine.training.recorder import Block
from engine.training.training_run import InPieces

if TYPE_CHECKING:
    from engine.problems.examples import Examples
    from engine.spec.experiment import Experiment
    from engine.training.descent import Undrawn
    from engine.training.training_run import Recording

Numbers = NDArray[np.floating[Any]]

FEW, SMALL = 1 << 20, 1 << 25
"""Largest number of predictions, and of multiplications for predictions, with which this backend saves time.

The first number also limits memory, because the predictions of many records are stored at the same time.
"""


class Numpy(Backend):
    """Backend for rules that multiply weights by factors or add multiples of examples, and for projections.

    A projection is the step of least squares on orthogonal instances. The backend requires one pass with
    square loss. Every step and every evaluation take a few operations on whole arrays, without torch.
    """

    place: ClassVar[int] = 5
    needs: ClassVar[Needs] = Needs(torch=False)
    knows: ClassVar[frozenset[str]] = Backend.knows | {"solver"}

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        problem, protocol = experiment.problem, experiment.protocol
        schedule = protocol.schedule()
        if not _has_step(learner, experiment):
            return "this backend has no formula for the steps of this learner on these instances"
        if not schedule.online or schedule.averages_hypotheses or schedule.drawn_independently:
            return (
                f"with these settings, protocol {protocol.kind} is not one pass over the rows in their order"
            )
        if not experiment.loss.is_square or schedule.clips_at is not None:
            return "this backend requires square loss and predictions that are not clipped"
        if problem.one_hot:
            return "labels are one-hot, with a target for each of several classes"
        if experiment.run.device not in ("auto", "cpu"):
            return "this backend runs only on the CPU"
        return super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        return measure.name in ("loss", "error")

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        n, d = experiment.n, experiment.d
        predictions = weight_vectors(learner, experiment) * experiment.protocol.extent(n).records * n
        return n * d < LARGE and predictions <= FEW and predictions * d <= SMALL

    def begin(self, undrawn: Undrawn, experiment: Experiment) -> Recording:
        return NumpyRun(undrawn, experiment)


def _has_step(learner: Learner, experiment: Experiment) -> bool:
    """Return whether `Projected`, `Added` or `Multiplied` can make the learner's steps."""
    match learner.form:
        case Fitted(solver):
            orthogonal = experiment.problem.matrix.structure().is_orthogonal
            return solver.structure().projects and orthogonal
        case AtStart():
            return False
        case Trained(net, rule):
            structure = rule.structure()
    if not structure.by_operators:
        return False
    signs = experiment.problem.matrix.structure().entries_are_signs
    if rule.multiplicative_step(net) is not None:
        return signs
    if rule.scalar_step(net) is None or structure.own_start:
        return False
    return signs or structure.along_gradients


class WeightVectors(Protocol):
    """Weight vectors [R, B, d] that learn one example at a time.

    Each of the R replicas has B vectors, one for every rate and target.
    """

    now: Numbers

    def learn(self, x: Numbers, slopes: Numbers) -> None:
        """Make a step on one instance x [R, d] per replica, with the slopes ∂L/∂ŷ [R, B]."""


class Projected:
    """Least squares on orthogonal instances: each step projects w onto xᵀw = y, w ← w − (ŷ − y) x/‖x‖²."""

    def __init__(self, start: Numbers) -> None:
        self.now = start

    def learn(self, x: Numbers, slopes: Numbers) -> None:
        lengths = (x * x).sum(-1)[:, None]
        self.now = self.now - (slopes / (2 * lengths))[..., None] * x[:, None]


class Added:
    """Weight vectors of a rule whose steps add multiples of examples to them: w ← w − s x."""

    def __init__(self, learner: Learner, start: Numbers, rates: Numbers) -> None:
        architecture, update = learner.trained
        step = update.scalar_step(architecture)
        assert step is not None, "the backend serves no other learner"
        self._step: Any = step
        self.now, self._rates, self._memory = start, rates, np.zeros(start.shape[:2], start.dtype)

    def learn(self, x: Numbers, slopes: Numbers) -> None:
        steps, self._memory = self._step(slopes[None], self._rates, self._memory)
        self.now = self.now - steps[0][..., None] * x[:, None]


class Multiplied:
    """Weight vectors w = a^L − b^L of a rule that multiplies the vectors a and b by factors, entry by entry.

    All entries of an example x are ±1. The sign of x_i decides which of two factors multiplies a_i. The other
    factor multiplies b_i.
    """

    def __init__(self, learner: Learner, start: dict[str, Numbers], rates: Numbers) -> None:
        net, rule = learner.trained
        step = rule.multiplicative_step(net)
        assert step is not None, "the backend serves no other learner"
        tensors: Any = start
        self._halves: list[Any] = list(step.halves(*rule.start(tensors)))
        self._rates, self._exponential, self._power = step.scale * rates, step.exponential, step.power
        self.now = self._weights_of_halves()

    def learn(self, x: Numbers, slopes: Numbers) -> None:
        along = (self._rates * slopes)[..., None]
        for half, sign in zip(self._halves, (-1, 1), strict=False):
            with_plus, with_minus = sign * along, -sign * along
            if self._exponential:
                with_plus, with_minus = np.exp(with_plus), np.exp(with_minus)
            else:
                with_plus, with_minus = 1 + with_plus, 1 + with_minus
            half *= np.where(x[:, None] > 0, with_plus, with_minus)
        self.now = self._weights_of_halves()

    def _weights_of_halves(self) -> Numbers:
        a, *b = (half**self._power for half in self._halves) if self._power > 1 else self._halves
        weights: Numbers = a - b[0] if b else a.copy()
        return weights


def _initial_weights(undrawn: Undrawn, examples: Examples) -> WeightVectors:
    learner, (replicas, targets, _) = undrawn.learner, examples.labels.shape
    d, dtype = examples.instances.shape[2], examples.instances.dtype
    if isinstance(learner.form, Fitted):
        return Projected(np.zeros((replicas, targets, d)))
    architecture, update = learner.trained
    rates = np.repeat(np.array(rates_of(learner), dtype), targets)
    drawn = architecture.start(learner.stream_of_start(undrawn.streams), d)
    start = {name: np.repeat(tensor.astype(dtype)[:, None], len(rates), 1) for name, tensor in drawn.items()}
    if update.multiplicative_step(architecture) is not None:
        return Multiplied(learner, start, rates)
    return Added(learner, start["w"], rates)


class NumpyRun(InPieces):
    """Training run that learns the rows once, in their order, and evaluates the learner after each row."""

    def __init__(self, undrawn: Undrawn, experiment: Experiment) -> None:
        super().__init__()
        examples = undrawn.examples()
        self._weights = _initial_weights(undrawn, examples)
        _, self._targets, n = examples.labels.shape
        self._variants = undrawn.variants
        self._x = examples.instances.swapaxes(0, 1).astype(self._weights.now.dtype)  # [n, R, d]
        labels = np.tile(examples.labels, (1, self._variants, 1))
        self._y = labels.transpose(2, 0, 1).astype(self._weights.now.dtype)  # [n, R, B]
        self._rows = examples.instances.astype(np.float64)
        self._labels = labels.swapaxes(1, 2).astype(np.float64)  # [R, n, B]
        self._dtype = examples.instances.dtype
        self._records = experiment.protocol.extent(n).records
        self._keeps = kept_records(self._records, self._rows.shape[2], self._dtype.itemsize)
        self._counted = any(measure.name == "error" for measure in undrawn.measures)
        bits = examples.values == "bits"
        self._boundary = undrawn.loss.bit_boundary if bits else 0.0
        self._sides = 2 * self._labels - 1 if bits else self._labels
        self._records_taken = 0
        self._weights_by_record: dict[int, Numbers] = {}
        self._predictions: list[Numbers] = []

    def pieces(self) -> Iterator[None]:
        for record in range(self._records):
            if record > 0:
                self._learn_row(record - 1)
            self._record_predictions(record)
            yield

    @np.errstate(all="ignore")  # the losses show where a learner diverges
    def _learn_row(self, row: int) -> None:
        """Train on row number `row`. The loss (ŷ − y)² has the slope 2(ŷ − y)."""
        x = self._x[row]
        errors = (self._weights.now @ x[..., None])[..., 0] - self._y[row]
        self._weights.learn(x, errors + errors)

    @np.errstate(all="ignore")
    def _record_predictions(self, record: int) -> None:
        """Predict all rows in float64, after training on the first `record` rows.

        If `record` is in `_keeps`, also store the weights of the first replica.
        """
        weights = self._weights.now.astype(self._dtype)
        if record in self._keeps:
            self._weights_by_record[len(self._predictions)] = weights[0, :: self._targets].copy()
        self._records_taken += 1
        self._predictions.append(self._rows @ weights.astype(np.float64).swapaxes(1, 2))  # [R, n, B]

    @np.errstate(all="ignore")
    def block(self) -> Block:
        records = len(self._predictions)
        predictions = np.array(self._predictions).reshape(records, *self._labels.shape)
        measures = {"loss": self._means_over_targets(np.square(predictions - self._labels).mean(2))}
        if self._counted:
            measures["error"] = self._means_over_targets(self._misclassified_shares(predictions))
        k = np.arange(self._records_taken - records, self._records_taken, dtype=float)
        block = Block({"k": k}, measures, self._weights_by_record, {})
        self._weights_by_record, self._predictions = {}, []
        return block

    def _misclassified_shares(self, predictions: Numbers) -> Numbers:
        """Return the share of misclassified rows. A row with |margin| ≤ √eps counts as one half."""
        margins = (predictions - self._boundary) * self._sides
        ties = np.abs(margins) <= np.finfo(self._dtype).eps ** 0.5
        shares: Numbers = (1 - np.where(ties, 0.0, np.sign(margins)).mean(2)) / 2
        return shares

    def _means_over_targets(self, values: Numbers) -> NDArray[np.float64]:
        means: NDArray[np.float64] = values.reshape(*values.shape[:2], self._variants, self._targets).mean(3)
        return means


BACKEND = Numpy()
