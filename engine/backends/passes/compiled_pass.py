"""A model that is trained on ±1 examples by a compiled loop. One call can train on many examples."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.backends.loops import kept_at
from engine.backends.passes import code_of
from engine.backends.passes.kernels import LOW, Members, Records, learn, sylvester_rows
from engine.core.cost import square_lengths
from engine.core.lazy import torch
from engine.hypotheses.hypothesis import Weighted
from engine.problems.hadamard_matrices import Sylvester
from engine.problems.instances import Instances
from engine.training.descent import Descent, TrainingInputs
from engine.training.evaluators import Measures, Mistakes
from engine.training.recorder import Recorder

WORTH_THREADS = 1 << 18
"""Number of weight changes from which on several threads are faster than one."""

AHEAD, CHANGES = 128, 1 << 26
"""Largest number of examples, and approximate largest number of weight changes, in one call."""

KEPT_AHEAD = 32 << 20
"""Maximum bytes of weights that one call stores, unless the weights after one example need more."""

COUNT = 8
"""Time to count the right predictions of all rows, in units of the time to learn an example."""


class Reached(NamedTuple):
    """State after a training example: losses, weights, and counts of right predictions."""

    losses: torch.Tensor
    """Means of ‖w − w*‖² over targets, [R, V]."""
    first_weights: torch.Tensor | None = None
    """Weights [V, d] of the V variants, in the first replica and for the first target. None if not stored."""
    right: torch.Tensor | None = None
    """Number of right minus number of wrong predictions of all rows, [B]. None if they are not counted."""


class CompiledPass:
    """Weight vectors w in training by a `MultiplicativeStep`, for labels xᵀw* and square loss.

    The examples x are rows of a Sylvester matrix, with entries ±1. The average loss over all rows of this
    matrix is ‖w − w*‖².
    """

    def __init__(self, inputs: TrainingInputs, examples: Instances, counts: bool) -> None:
        """Store the examples in the order of training.

        If `counts` is set, count mistakes of the initial weights.
        """
        learner, data = inputs.learner, inputs.data
        architecture, update = learner.trained
        multiplicative_step = update.multiplicative_step(architecture)
        assert multiplicative_step is not None, "only a learner with a multiplicative_step is served"
        assert data.w_star is not None, "only labels that are xᵀw* are served"
        assert isinstance(examples, Sylvester), "only rows of Sylvester's matrix are served"
        # All targets start from the same weights, so a descent for one target suffices to create these
        # weights.
        start = Descent(replace(inputs, data=replace(data, labels=data.labels[:: data.targets], targets=1)))
        self._data, self.examples = data, examples
        halves = multiplicative_step.halves(start.params, start.state)  # the same for all targets, [R·V, d]
        if multiplicative_step.power == 2:
            halves = tuple(half.square() for half in halves)
        weights = halves[0] - halves[1] if len(halves) == 2 else halves[0]
        self._halves = torch.stack(halves, 1).repeat_interleave(data.targets, 0)
        self._places, self._sizes = (
            part[:, None].expand(-1, data.variants, -1, -1).reshape(len(self._halves), -1).contiguous()
            for part in data.w_star
        )
        places = self._places[:, None].expand(-1, len(halves), -1)
        self._apart = self._halves.gather(2, places)
        self._halves.scatter_(2, places, 0.0)
        rate = next(iter(start.rates.values()))  # both halves have the same rate
        rates = np.broadcast_to(np.asarray(rate, np.float64).reshape(-1), len(weights))
        self._members = Members(
            self._halves.numpy(),
            self._apart.numpy(),
            self._places.numpy(),
            self._sizes.numpy(),
            np.repeat(2 * multiplicative_step.scale * rates, data.targets),
            exponential=multiplicative_step.exponential,
            squared=multiplicative_step.power == 2,
        )
        self._learnt = 0
        self._labels = self._transformed_labels() if counts else np.empty((data.replicas, 1, 0), np.int8)
        self.to_come: deque[Reached] = deque()
        _, _, right = self._learn_examples([False], [counts])
        dtype = str(weights.dtype).removeprefix("torch.")
        code_of(learner, dtype).note(*kept_at(sylvester_rows), *kept_at(learn))
        losses = data.over_targets(self._squared_errors()[None])[0]
        self.reached = Reached(losses, weights[: data.variants], right[0] if counts else None)

    def _squared_errors(self) -> torch.Tensor:
        """Return ‖w − w*‖² of all weight vectors, [R·B] in float64."""
        errors_apart = _weights_of_halves(self._apart) - self._sizes
        return square_lengths(errors_apart) + square_lengths(_weights_of_halves(self._halves))

    @property
    def exhausted(self) -> bool:
        """Whether the current state follows the last example that `learn_ahead` has trained on.

        `learn_ahead` trains on several examples and stores the state after each; `step` goes to the next
        state.
        """
        return not self.to_come

    @property
    def at_once(self) -> int:
        """Largest number of examples on which one call of `learn_ahead` may train."""
        kept_bytes = self._data.variants * self._halves[0, 0].nbytes
        return min(AHEAD, max(1, min(CHANGES // self._halves.numel(), KEPT_AHEAD // kept_bytes)))

    def learn_ahead(self, keep: Sequence[bool], count: Sequence[bool]) -> None:
        """Train on the next K examples, where K is the length of `keep` and of `count`.

        The weights are stored after each example that is marked in `keep`. Mistakes on all rows are counted
        after each example that is marked in `count`.
        """
        losses, weights, right = self._learn_examples([False, *keep], [False, *count])
        first_weights, counted = iter(weights), iter(right)
        for loss, is_kept, is_counted in zip(self._data.over_targets(losses), keep, count, strict=True):
            self.to_come.append(
                Reached(loss, next(first_weights) if is_kept else None, next(counted) if is_counted else None)
            )

    def _learn_examples(
        self, keep: Sequence[bool], count: Sequence[bool]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Train on the next K examples, and return losses, weights and counts of right predictions.

        `keep` and `count` have K + 1 entries: one for the state before the first example, and one for the
        state after each example. The losses are [K, B]. The weights [slots, V, d] have one slot for each true
        entry of `keep`. The counts [slots, B] have one slot for each true entry of `count`.
        """
        steps, (members, _, d) = len(keep) - 1, self._halves.shape
        numbers = slice(self._learnt, self._learnt + steps)
        signs = np.empty((self._data.replicas, steps, d), np.int8)
        rows, row_signs = self.examples.order[:, numbers], self.examples.row_signs[:, numbers]
        sylvester_rows(rows.numpy(), row_signs.numpy(), signs)
        weights = self._halves.new_empty(sum(keep), self._data.variants, d)
        losses = torch.empty(steps, members, dtype=torch.float64)
        right = torch.empty(sum(count), members, dtype=torch.float64)
        records = Records(
            losses.numpy(),
            _slot_numbers(keep),
            weights.numpy(),
            self._data.targets,
            _slot_numbers(count),
            right.numpy(),
            self._labels,
            torch.finfo(weights.dtype).eps ** 0.5,
        )
        self._learn_in_threads(signs, records, steps + COUNT * sum(count))
        self._learnt += steps
        return losses, weights, right.mul_(self._data.instances.n / d)

    def _learn_in_threads(self, signs: NDArray[np.int8], records: Records, passes: int) -> None:
        """Train all weight vectors on the examples, divided among threads.

        `passes` is the work for each weight vector, in units of the work for one training example. This
        number decides whether several threads save time.
        """
        # A small amount of work ends before further threads would have started.
        worth = self._halves.numel() * passes >= WORTH_THREADS
        threads = min(len(self._halves), torch.get_num_threads() if worth else 1)
        ends = (len(self._halves) * share // threads for share in range(threads + 1))

        def learn_share(members: tuple[int, int]) -> None:
            scratch = self._halves.new_empty(2, self._halves.shape[2]).numpy()
            learn(self._members, signs, records, scratch, *members)

        if threads == 1:
            learn_share((0, len(self._halves)))
            return
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(learn_share, pairwise(ends)):
                pass

    def step(self) -> None:
        """Advance to the state after the next example, on which `learn_ahead` has already trained."""
        self.reached = self.to_come.popleft()

    def first_weights(self) -> torch.Tensor:
        assert self.reached.first_weights is not None, "it is declared before where these will be needed"
        return self.reached.first_weights

    def weights(self) -> torch.Tensor:
        assert self.exhausted, "examples are learnt ahead up to where these will be needed"
        return _weights_of_halves(self._halves).scatter(1, self._places, _weights_of_halves(self._apart))

    def predict(self, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights())

    def right(self) -> torch.Tensor:
        """Return the number of right minus the number of wrong predictions of each of B models, [B]."""
        assert self.reached.right is not None, "it is declared before where this will be needed"
        return self.reached.right

    def _transformed_labels(self) -> NDArray[np.int8]:
        """Return the signs of the labels xᵀw* of all rows x of the Sylvester matrix, [R, targets, d].

        The rows are in the order in which `transform`, in kernels.py, writes its results.
        """
        rows = self._data.instances
        assert isinstance(rows, Sylvester), "only Sylvester's rows are served"
        assert self._data.w_star is not None, "only labels that are xᵀw* are served"
        labels = rows.of_matrix(*self._data.w_star).sign_().to(torch.int8)
        if rows.d >= LOW * LOW:
            labels = labels.view(*labels.shape[:2], -1, LOW).mT.flatten(2)
        turned: NDArray[np.int8] = labels.contiguous().numpy()
        return turned


def _weights_of_halves(halves: torch.Tensor) -> torch.Tensor:
    """Return the weights w [B, d]: a − b for `halves` [B, 2, d], or a for `halves` [B, 1, d]."""
    return halves[:, 0] - halves[:, 1] if halves.shape[1] == 2 else halves[:, 0]


def _slot_numbers(marked: Sequence[bool]) -> NDArray[np.int64]:
    """Return the numbers 0, 1, 2 … for the marked entries in their order, and −1 for all other entries."""
    places = np.array(marked, bool)
    return np.where(places, places.cumsum() - 1, -1)


class CompiledEvaluator:
    """Evaluator that returns the losses and mistakes that `CompiledPass` has computed during training."""

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error"})

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._losses: list[torch.Tensor] = []

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        assert isinstance(hypothesis, CompiledPass), "only a compiled pass computes its losses"
        self._losses.append(hypothesis.reached.losses)
        self._mistakes.count_by(hypothesis.right)

    def looks(self, record: int) -> bool:
        return False  # `CompiledPass` itself counts mistakes

    def measured(self) -> Measures:
        losses, self._losses = self._losses, []
        return ({"loss": [torch.stack(losses)]} if losses else {}) | self._mistakes.measured()


class CompiledLearner:
    """Learner that trains on the examples in order. One compiled call trains on many examples."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        data = inputs.data
        self._mistakes = Mistakes(data, inputs.loss, records, inputs.measures)
        examples = data.instances if order is None else data.instances.pick(order)
        self.hypothesis = CompiledPass(inputs, examples, self._mistakes.counts(0))
        self.recorder = Recorder(inputs, self.hypothesis, records, order, CompiledEvaluator(self._mistakes))
        self._records = records

    def learn(self, k: int) -> Iterable[None]:
        """Advance to the state after example number k.

        If the model has not been trained on this example, train on it and on later examples. Stop at the next
        evaluation that needs more than losses and mistakes, or after `at_once` examples.
        """
        if self.hypothesis.exhausted:
            end = min(self._records, k + self.hypothesis.at_once)
            last = next((record for record in range(k, end) if self.recorder.looks(record)), end - 1)
            ahead = range(k, last + 1)
            keep, count = map(self.recorder.keeps, ahead), map(self._mistakes.counts, ahead)
            self.hypothesis.learn_ahead([*keep], [*count])
        self.hypothesis.step()
        return ()
