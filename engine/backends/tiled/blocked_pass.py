"""A hypothesis that goes through signed examples by a compiled loop, many at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.backends.tiled.kernels import (
    KINDS,
    Examples,
    Members,
    Records,
    Scratch,
    arrange,
    blocked_pass,
    right_minus_wrong,
)
from engine.backends.tiled.tiles import Tiling
from engine.backends.tiled.vectors import LANES
from engine.core.lazy import torch
from engine.core.multiplicative_step import MultiplicativeStep
from engine.hypotheses.hypothesis import Weighted
from engine.problems.instances import Instances
from engine.problems.sylvester import Sylvester
from engine.training.descent import Descent
from engine.training.evaluators.by_weights import ByWeights
from engine.training.recorder import Recorder
from engine.training.training_inputs import TrainingInputs

WORTH_THREADS = 1 << 18
"""Fewer changes of weights than this stay on one thread."""

AHEAD, CHANGES = 128, 1 << 26
"""Examples that are learnt ahead at most, and changes of weights that they make at most, or about so many."""

PLACES = 1 << 10
"""A part of a segment holds at most so many weights: it is to stay in the cache."""

PASSES = 16
"""A count of mistakes costs about as much as so many examples."""


class BlockedPass:
    """A learner whose steps on ±1 examples are a `MultiplicativeStep`, with labels xᵀw* and square loss.

    The examples are rows of Sylvester's matrix, on all of which the average loss is ‖w − w*‖². The few
    weights where w* is not 0 are kept apart, and 0 stands in their place: the others are errors themselves,
    so that nothing cancels in the sum.
    """

    def __init__(self, inputs: TrainingInputs, examples: Instances) -> None:
        """For these examples of the data."""
        learner, data = inputs.learner, inputs.data
        assert learner.architecture is not None, "Learner admits no other combination"
        assert learner.update is not None, "Learner admits no other combination"
        multiplicative_step = learner.update.multiplicative_step(learner.architecture)
        assert multiplicative_step is not None, "only a learner with a multiplicative_step is served"
        assert data.w_star is not None, "only labels that are xᵀw* are served"
        assert isinstance(examples, Sylvester), "only rows of Sylvester's matrix are served"
        start = Descent(inputs)
        self._data, self._examples = data, examples
        members = data.variants * data.targets
        self._tiling = Tiling(data.replicas, members, examples.d, LANES)
        self._places, self._sizes = (
            part[:, None].expand(-1, data.variants, -1, -1).reshape(data.replicas, members, -1)
            for part in data.w_star
        )
        halves = multiplicative_step.halves(start.params, start.state)
        if multiplicative_step.power == 2:
            halves = tuple(half.square() for half in halves)
        weights = halves[0] - halves[1] if len(halves) == 2 else halves[0]
        loss_at_start = data.instances.mean_square(data.from_w_star(weights))
        assert loss_at_start is not None, "only where every row comes equally often does it serve"
        self.loss, self._kept = loss_at_start, weights[: members : data.targets]
        places = self._places.flatten(0, 1)
        self._apart = [self._tiling.in_lanes(half.gather(1, places).view_as(self._sizes)) for half in halves]
        self._halves = [self._tiling.tiled(half) for half in halves]
        for half in self._halves:
            half[self._tiling.at(self._places)] = 0.0
        rate = next(iter(start.rates.values()))
        self._members = self._as_arrays(multiplicative_step, np.asarray(rate, np.float64).reshape(-1))
        self._scratches: list[Scratch] = []
        self._learnt = 0
        self._to_come: deque[tuple[torch.Tensor, torch.Tensor]] = deque()
        self.learn_ahead([])

    @property
    def exhausted(self) -> bool:
        """Whether `step` has come to the last of the examples that were learnt ahead."""
        return not self._to_come

    @property
    def at_once(self) -> int:
        """How many examples may be learnt ahead: whole blocks of them if these are fewer than AHEAD."""
        bits = self._tiling.bits
        return min(AHEAD, max(1, CHANGES // self._halves[0].numel() // bits) * bits)

    def learn_ahead(self, keep: Sequence[bool]) -> None:
        """Learn the next examples, one per entry; after those marked the first weights are kept."""
        count, tiling = len(keep), self._tiling
        examples = arranged(self._examples, tiling, self._learnt, count)
        slots = np.where(np.array(keep, bool), np.cumsum(keep, dtype=int) - 1, -1)
        kept = self._halves[0].new_empty(sum(keep), self._data.variants, tiling.d)
        losses = torch.empty(self._data.replicas, count, self._sizes.shape[1], dtype=torch.float64)
        records = Records(losses.numpy(), slots, kept.numpy(), self._data.targets)
        self._in_parts(blocked_pass, count, self._members, examples, records)
        self._learnt += count
        nothing = kept[:0]
        for step, slot in enumerate(slots.tolist()):
            self._to_come.append((losses[:, step].flatten(), kept[slot] if slot >= 0 else nothing))

    def step(self) -> None:
        """Go on to the next of the examples that were learnt ahead."""
        self.loss, self._kept = self._to_come.popleft()

    def kept(self) -> torch.Tensor:
        """The weights of the first replica and target [V, d]."""
        assert len(self._kept), "it is said before where these will be asked for"
        return self._kept

    def weights(self) -> torch.Tensor:
        """The weights [B, d]."""
        assert self.exhausted, "examples are learnt ahead up to where these will be asked for"
        a, *b = map(self._tiling.vectors, self._halves)
        a_apart, *b_apart = self._apart
        weights, apart = (a - b[0], a_apart - b_apart[0]) if b else (a, a_apart)
        return weights.scatter_(1, self._places.flatten(0, 1), self._tiling.of_members(apart).flatten(0, 1))

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.products(self.weights())

    def right(self) -> torch.Tensor:
        """How many of all rows are predicted on the side of their ±1 labels, less those on the other, [B]."""
        assert self.exhausted, "examples are learnt ahead up to where this will be asked for"
        rows, right = self._data.instances, np.empty(self._sizes.shape[:2])
        tie = torch.finfo(rows.dtype).eps ** 0.5
        self._in_parts(right_minus_wrong, PASSES, self._members, self._sides.numpy(), tie, right)
        return torch.from_numpy(right.reshape(-1)).mul_(rows.n / rows.d)

    @cached_property
    def _sides(self) -> torch.Tensor:
        """The ±1 labels of Sylvester's rows, in tiles; but for signs they are those of their instances."""
        rows, labels = self._data.instances, self._data.labels
        assert isinstance(rows, Sylvester), "only Sylvester's rows are served"
        signed = labels.view(len(rows.order), -1, rows.n) * rows.row_signs[:, None]
        places = rows.order[:, None].expand_as(signed)
        sides = signed.new_empty(*signed.shape[:2], rows.d).scatter_(2, places, signed)
        return self._tiling.tiled(sides.view(len(labels), rows.d).sign_().to(torch.int8))

    def _in_parts(self, go: Callable[..., None], passes: int, *arrays: Any) -> None:
        """Have a compiled loop go over all members, which takes `passes` over the weights, on all threads."""
        a = self._halves[0]
        threads = torch.get_num_threads() if a.numel() * passes >= WORTH_THREADS else 1
        self._scratches += [self._scratch() for _ in range(threads - len(self._scratches))]
        ends = [len(a) * part // threads for part in range(threads + 1)]
        if threads == 1:
            go(*arrays, self._scratches[0], *ends)
            return
        with ThreadPoolExecutor(threads) as pool:
            parts = zip(self._scratches, pairwise(ends), strict=False)
            for part in [pool.submit(go, *arrays, scratch, *some) for scratch, some in parts]:
                part.result()

    def _as_arrays(self, multiplicative_step: MultiplicativeStep, rates: NDArray[np.float64]) -> Members:
        """The same memory, as the loops take it."""
        a, *b = self._halves
        a_apart, *b_apart = self._apart
        tiling, shape = self._tiling, self._sizes.shape[:2]
        each = np.broadcast_to(2 * rates * multiplicative_step.scale, shape.numel()).reshape(*shape, 1)
        return Members(
            a.numpy(),
            b[0].numpy() if b else None,
            a_apart.numpy(),
            b_apart[0].numpy() if b else None,
            segments=tiling.in_lanes(self._places // tiling.rows).numpy(),
            places=tiling.in_lanes(self._places % tiling.rows).numpy(),
            sizes=tiling.in_lanes(self._sizes).numpy(),
            rates=tiling.in_lanes(torch.from_numpy(each.copy())).numpy(),
            exponential=multiplicative_step.exponential,
            squared=multiplicative_step.power == 2,
            per_tile=tiling.per_tile,
            sums=a.new_empty(len(a), KINDS, 1 << tiling.bits, LANES).numpy(),
        )

    def _scratch(self) -> Scratch:
        """Memory for one thread."""
        bits, rows, apart = self._tiling.bits, self._tiling.rows, self._sizes.shape[2]

        def floats(*shape: int, dtype: torch.dtype | None = None) -> NDArray[Any]:
            array: NDArray[Any] = self._halves[0].new_ones(*shape, LANES, dtype=dtype).numpy()
            return array

        return Scratch(
            factors=floats(1 << bits),
            ups=floats(bits),
            downs=floats(bits),
            signs=floats(bits),
            apart=floats(bits, apart),
            products=floats(),
            squares=floats(),
            losses=floats(dtype=torch.float64),
            weights=floats(rows),
            counts=floats(),
        )


def arranged(examples: Sylvester, tiling: Tiling, first: int, count: int) -> Examples:
    """Examples from number `first` on as the loops take them, and the block that comes after them."""
    whole = -(-count // tiling.bits) * tiling.bits
    numbers = first + np.append(np.arange(whole), count + np.arange(tiling.bits))
    numbers = np.minimum(numbers, examples.n - 1)
    blocks, places = whole // tiling.bits + 1, min(tiling.rows, PLACES)
    found = Examples(
        np.empty((examples.replicas, count, tiling.count), np.int8),
        np.empty((examples.replicas, blocks, places), np.uint8),
        np.empty((examples.replicas, blocks, tiling.rows // places), np.uint8),
        np.empty((examples.replicas, blocks, places), np.int32),
        np.empty((examples.replicas, blocks, (1 << tiling.bits) + 1), np.int32),
        tiling.bits,
    )
    rows, signs = examples.order[:, numbers].numpy(), examples.row_signs[:, numbers].numpy()
    arrange(rows, signs, tiling.rows, found)
    return found


class BlockedEvaluator(ByWeights):
    """Mean square loss, and mistakes, as the pass itself computes them."""

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        assert isinstance(hypothesis, BlockedPass), "only a blocked pass computes its losses"
        self._losses.append(hypothesis.loss[None])
        self._mistakes.count_by(hypothesis.right)


class BlockedLearner:
    """A learner that takes single examples in their order, many of them in one blocked pass."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        data = inputs.data
        self.hypothesis = BlockedPass(inputs, data.instances if order is None else data.instances.pick(order))
        evaluator = BlockedEvaluator(data, inputs.loss, records, inputs.measures)
        self.recorder = Recorder(inputs, self.hypothesis, records, order, evaluator)
        self._records = records

    def learn(self, k: int) -> Iterable[None]:
        """Go on to example number k; where it was not learnt ahead, learn up to what is asked for next."""
        if self.hypothesis.exhausted:
            end = min(self._records, k + self.hypothesis.at_once)
            last = next((record for record in range(k, end) if self.recorder.looks(record)), end - 1)
            self.hypothesis.learn_ahead([self.recorder.keeps(record) for record in range(k, last + 1)])
        self.hypothesis.step()
        return ()
