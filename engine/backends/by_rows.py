"""Backend for training on single examples, by inner products of the instances.

All weight vectors of a replica share these inner products.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from engine.backends import Backend, Needs, weight_vectors, why_no_single_pass
from engine.core.lazy import torch
from engine.core.linear_algebra import with_rows
from engine.core.memory import Sizes
from engine.hypotheses.hypothesis import Weighted
from engine.measures import Measure
from engine.problems.instances import DenseInstances, Instances
from engine.training.descent import Descent, TrainingInputs
from engine.training.evaluators import ByPredictions, ByWeights, includes
from engine.training.recorder import Recorder
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.spec.experiment import Experiment

AHEAD = 64
"""Number of examples whose inner products with all rows are computed together."""

SQUARES, PASS = 10, 90
"""Time of a record for each prediction, for square loss and for other losses.

The unit is the time of one multiplication in a matrix product.
"""

WORTH = 1 << 30
"""Least number of multiplications that the backend must save to be used.

These multiplications take some hundredths of a second.
"""


class ByRows(Backend):
    """Backend for a linear neuron whose rule adds multiples of single examples, in one pass.

    A step w ← w − s x changes the predictions of all n rows by −s Xx. The products Xx are the same for all
    rates and targets. So an evaluation takes n d multiplications once for each replica, and a small multiple
    of n for each rate and target. Other backends take n d multiplications for each rate and target.
    """

    place: ClassVar[int] = 40
    words: ClassVar[str] = "computed from inner products of the instances"
    knows: ClassVar[frozenset[str]] = Backend.knows | {"layer_rates"}
    needs: ClassVar[Needs] = Needs(matrix=True, predictions=False)

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        rule, net = learner.update, learner.architecture
        if rule is None or net is None:
            return "this backend requires an architecture and an update rule"
        structure = rule.structure()
        along = experiment.problem.matrix.structure().entries_are_signs or structure.along_gradients
        if (
            rule.scalar_step(net) is None
            or structure.own_start
            or not net.structure().starts_at_zero
            or not along
        ):
            return "this backend requires a start at 0, and steps that add multiples of single examples"
        return why_no_single_pass(experiment) or super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        needs = measure.needs()
        return not (needs.parameters or needs.under or (needs.weights and not measure.schedule().expensive))

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the bytes of weights, predictions, errors, steps, and one block's products with all rows."""
        per_member = 3 * sizes.d + 6 * sizes.n + 4 * AHEAD
        return (sizes.batch * per_member + sizes.replicas * AHEAD * (3 * sizes.n + sizes.d)) * sizes.item

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        n, d = experiment.n, experiment.d
        records, vectors = experiment.protocol.extent(n).records, weight_vectors(learner, experiment)
        is_square = experiment.loss.is_square
        per_vector = d * (d if is_square and n >= 2 * d else n) - n * (SQUARES if is_square else PASS)
        saved = vectors * per_vector - experiment.run.replicas * n * d
        return records * saved >= WORTH

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        if not isinstance(inputs.data.instances, DenseInstances):
            inputs = replace(inputs, data=inputs.data.dense())
        return experiment.protocol.training_run(inputs, RowsLearner)


class Predictions:
    """A linear neuron, stored as its predictions for all rows instead of its weights.

    Examples are learned in blocks of AHEAD examples. Predictions for all rows are updated once per block. P
    are the predictions before the present block, and S are the sizes s of the steps w ← w − s x in the block.
    K are the inner products of the block's examples and all rows. So the present predictions are P − S K. For
    the block's examples, P − S K is computed at every step. For other rows, P − S K is computed only when
    needed. For square loss with labels y, ‖P − S K − y‖² follows from ‖P − y‖², (P − y) Kᵀ and K Kᵀ.
    """

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None) -> None:
        """Prepare the pass. `order` [R, n] lists the rows in the order of training.

        None means the order of the data.
        """
        learner, data = inputs.learner, inputs.data
        architecture, update = learner.trained
        scalar_step = update.scalar_step(architecture)
        assert scalar_step is not None, "the backend serves no other learner"
        start = Descent(inputs)
        self._scalar_step, self._loss, self._data, self._order = scalar_step, inputs.loss, data, order
        by_replica = data.replicas, data.variants * data.targets, -1
        weights = start.weights()
        assert weights is not None, "a linear neuron has weights"
        self._added = 0  # number of steps that are already added to the weights
        self._weights = weights.view(by_replica)
        self._first = self._weights[0, :: data.targets]  # of the first replica and target, before the block
        self._labels = data.labels.view(by_replica)
        self._predictions = torch.zeros_like(self._labels)  # P [R, G, n]; weights start at 0
        rate = next(iter(start.rates.values()))
        self._rate = rate.view(by_replica[:2]) if isinstance(rate, torch.Tensor) else rate
        self._memory = torch.zeros_like(self._labels[:, :, 0])
        examples = data.instances.n if order is None else order.shape[1]
        self._all_steps = self._predictions.new_zeros(*self._labels.shape[:2], examples)
        self._learnt, self._place = 0, 0  # numbers of examples learned before the block, and in it
        self._block_predictions = self._block_labels = self._along = self._steps = self._predictions[:, :, :0]
        self._squares = self._memory.double()
        self._begin_block()

    def learn_next(self) -> None:
        self._make_step(self._place)
        self._place += 1
        if self._place == AHEAD:
            self._predictions, self._first = self._present_predictions(), self.first_weights()
            self._learnt, self._place = self._learnt + AHEAD, 0
            self._begin_block()

    def _make_step(self, place: int) -> None:
        before, labels = self._block_predictions[:, :, place], self._block_labels[:, :, place]
        slope = self._loss.slope(before, labels)
        steps, self._memory = self._scalar_step(slope[None], self._rate, self._memory)
        step = steps[0]
        self._block_predictions = torch.baddbmm(
            self._block_predictions, step[:, :, None], self._among[:, place, None], alpha=-1
        )
        self._steps[:, :, place] = step
        if self._loss.is_square:
            self._update_sums(step.double(), place)

    def _begin_block(self) -> None:
        """Compute the inner products of the block's examples with all rows."""
        block = slice(self._learnt, self._learnt + AHEAD)
        self._steps = self._all_steps[:, :, block]  # S
        self._examples = self._rows_of_examples(block)  # [R, b, d]
        self._products = with_rows(self._examples, self._data.instances.rows)  # K [R, b, n]
        self._among, self._block_predictions, self._block_labels = (
            self._values_of_rows(values, block)
            for values in (self._products, self._predictions, self._labels)
        )
        if self._loss.is_square:
            errors, products = (self._predictions - self._labels).double(), self._products.double()
            self._squares = torch.linalg.vecdot(errors, errors)  # [R, G]
            self._along = errors @ products.mT  # of errors with K, [R, G, b]
            self._lengths = products @ products.mT  # [R, b, b]

    def _update_sums(self, step: torch.Tensor, place: int) -> None:
        """Update ‖P − S K − y‖² and (P − S K − y) Kᵀ after a step."""
        change = self._lengths[:, None, place, place] * step - 2 * self._along[:, :, place]
        # Computed in float64, and clamped at 0: as the loss falls to 0, nearly equal squares are subtracted.
        self._squares = (self._squares + step * change).clamp_(min=0)
        self._along.baddbmm_(step[:, :, None], self._lengths[:, place, None], alpha=-1)

    def mean_square(self) -> torch.Tensor:
        return self._squares.flatten() / self._data.instances.n

    def _present_predictions(self) -> torch.Tensor:
        """Return the present predictions P − S K of all rows, [R, G, n]."""
        if not self._place:
            return self._predictions
        learnt = slice(0, self._place)
        return torch.baddbmm(
            self._predictions, self._steps[:, :, learnt], self._products[:, learnt], alpha=-1
        )

    def _values_of_rows(self, values: torch.Tensor, examples: slice) -> torch.Tensor:
        if self._order is None:
            return values[:, :, examples]
        rows = self._order[:, None, examples].expand(-1, values.shape[1], -1)
        return values.gather(2, rows)

    def _rows_of_examples(self, examples: slice) -> torch.Tensor:
        instances = self._data.instances
        selected = instances.at(examples) if self._order is None else instances.pick(self._order[:, examples])
        return selected.rows

    def predict(self, instances: Instances) -> torch.Tensor:
        if instances is self._data.instances:
            return self._present_predictions().flatten(0, 1)
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        """Add the stored steps to the weights, and return the weights [B, d]."""
        pending = slice(self._added, self._learnt + self._place)
        if pending.start < pending.stop:
            steps, rows = self._all_steps[:, :, pending], self._rows_of_examples(pending)
            self._weights = torch.baddbmm(self._weights, steps, rows, alpha=-1)
            self._added = pending.stop
        return self._weights.flatten(0, 1)

    def first_weights(self) -> torch.Tensor:
        learnt = slice(0, self._place)
        steps = self._steps[0, :: self._data.targets, learnt]
        return torch.addmm(self._first, steps, self._examples[0, learnt], alpha=-1)


class SolvedPredictions(Predictions):
    """Predictions for plain gradient steps w ← w − η c x on square loss, with c = 2(ŷ − y).

    A linear system gives all steps s_j of a block at once. K_j are the inner products of example j with all
    rows. Step j changes the sum of squared errors by s_j (s_j ‖K_j‖² − 2 (P − S_(<j) K − y) K_jᵀ).
    """

    def _make_step(self, place: int) -> None:
        """Do nothing, because all steps of the block are already computed."""

    def _begin_block(self) -> None:
        super()._begin_block()
        targets = self._data.targets
        by_variant = self._data.replicas, self._data.variants, targets
        rate = self._rate
        rates = rate.view(by_variant)[:, :, :1, None] if isinstance(rate, torch.Tensor) else rate
        errors = (self._block_predictions - self._block_labels).view(*by_variant, -1)
        self._steps.copy_(block_steps(self._among, errors, rates).reshape(self._block_predictions.shape))
        self._compute_squared_errors(self._steps.double())
        self._firsts = after_each(self._first, self._steps[0, ::targets], self._examples[0])  # [V, b, d]

    def _compute_squared_errors(self, steps: torch.Tensor) -> None:
        """Compute the sums of squared errors before the block and after each of its steps, [b + 1, R, G]."""
        along = self._along - steps @ torch.triu(self._lengths, 1)
        lengths = self._lengths.diagonal(dim1=1, dim2=2)[:, None]
        changes = steps * (lengths * steps - 2 * along)
        after = torch.cat([self._squares[..., None], changes], 2).cumsum(2).clamp_(min=0)
        self._squares_after = after.movedim(2, 0).contiguous()

    def mean_square(self) -> torch.Tensor:
        return self._squares_after[self._place].flatten() / self._data.instances.n

    def first_weights(self) -> torch.Tensor:
        return self._firsts[:, self._place - 1].clone() if self._place else self._first


class SquaresEvaluator(ByWeights):
    """Evaluator of the mean square loss, which `Predictions` computes at every step."""

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        assert isinstance(hypothesis, Predictions), "only these follow it"
        self._losses.append(hypothesis.mean_square()[None])
        self._mistakes.take(lambda: hypothesis.predict(self._data.instances))


class RowsLearner:
    """Learner that trains on one example at a time, in the order of training."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        rule = inputs.learner.update
        solved = rule is not None and rule.structure().plain and inputs.loss.is_square
        self.hypothesis = (SolvedPredictions if solved else Predictions)(inputs, order)
        parts = inputs.data, inputs.loss, records, inputs.measures
        squares = inputs.loss.is_square and not includes(inputs.measures, "train", "unseen")
        evaluator = SquaresEvaluator(*parts) if squares else ByPredictions(*parts, order)
        self.recorder = Recorder(inputs, self.hypothesis, records, order, evaluator)

    def learn(self, k: int) -> Iterable[None]:
        """Train on example number k, which must be the next one of the pass."""
        self.hypothesis.learn_next()
        return ()


def block_steps(inner: torch.Tensor, errors: torch.Tensor, rates: torch.Tensor | float) -> torch.Tensor:
    """Return the factors η c_j [R, V, T, b] in b successive steps w ← w − η c_j x_j for square loss.

    Starting from weights w₀, the predictions are ŷ_j = x_jᵀw₀ − η Σ_(i<j) c_i x_iᵀx_j. So the slopes c_j =
    2(ŷ_j − y_j) solve the linear system c (I + 2η U) = 2(Xw₀ − y). U is the part of XXᵀ above the diagonal.

    Args:
        inner: the inner products XXᵀ of the b instances of every replica, [R, b, b].
        errors: Xw₀ − y of V variants and T targets, [R, V, T, b].
        rates: η, one number or [R, V, 1, 1].
    """
    system = torch.triu(inner, 1)[:, None] * (2 * rates)  # `unitriangular` adds the diagonal of ones
    system = system.expand(-1, errors.shape[1], -1, -1)
    solved: torch.Tensor = torch.linalg.solve_triangular(
        system, 2 * errors, upper=True, left=False, unitriangular=True
    )
    return rates * solved


def after_each(before: torch.Tensor, steps: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return the weights after each of b steps, […, b, d].

    Step j subtracts a multiple of row j of `rows` […, b, d]; `steps` […, b] holds the factors. `before` […,
    d] are the weights before the first step.
    """
    repeated = steps[..., None, :].expand(*steps.shape, steps.shape[-1])
    return before[..., None, :] - repeated.tril() @ rows


BACKEND = ByRows()
