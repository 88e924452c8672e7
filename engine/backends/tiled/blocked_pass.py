"""A hypothesis that goes through signed examples by a compiled loop, many at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.backends.loops import kept_at
from engine.backends.tiled.code import code_of
from engine.backends.tiled.kernels import (
    KINDS,
    PLACES,
    Examples,
    Members,
    Records,
    Scratch,
    arrange,
    blocked_pass,
)
from engine.backends.tiled.tiles import Tiling
from engine.backends.tiled.vectors import LANES
from engine.core.lazy import torch
from engine.hypotheses.hypothesis import Weighted
from engine.problems.instances import Instances
from engine.problems.sylvester import Sylvester
from engine.training.descent import Descent
from engine.training.evaluators import Measures
from engine.training.evaluators.mistakes import Mistakes
from engine.training.recorder import Recorder
from engine.training.training_inputs import TrainingInputs
from engine.updates import MultiplicativeStep

WORTH_THREADS = 1 << 18
"""Fewer changes of weights than this stay on one thread."""

AHEAD, CHANGES = 128, 1 << 26
"""Examples that are learnt ahead at most, and changes of weights that they make at most, or about so many."""

KEPT_AHEAD = 32 << 20
"""Bytes of weights that are kept of examples learnt ahead at most, or of one block of them."""

COUNT = 16
"""Counting the predictions of all rows costs about as much as so many examples."""


CHUNKS = 16
"""A long vector is cut into so many chunks, which threads take."""

Ends = tuple[int, int]
"""The first of some things, and the first after them."""


class Reached(NamedTuple):
    """What is known of the weights after an example."""

    losses: torch.Tensor
    """The means of ‖w − w*‖² over targets, [R, V]."""
    kept: torch.Tensor | None = None
    """The weights of the first replica and target [V, d], if they are to be kept."""
    right: torch.Tensor | None = None
    """How many of all rows are right, less how many are wrong [B], if they are counted."""


class BlockedPass:
    """A learner whose steps on ±1 examples are a `MultiplicativeStep`, with labels xᵀw* and square loss.

    The examples are rows of Sylvester's matrix, on all of which the average loss is ‖w − w*‖². The few
    weights where w* is not 0 are kept apart, and 0 stands in their place: the others are errors themselves,
    so that nothing cancels in the sum.
    """

    def __init__(self, inputs: TrainingInputs, examples: Instances, counts: bool) -> None:
        """For these examples of the data; mistakes are counted first here, if they are."""
        learner, data = inputs.learner, inputs.data
        assert learner.architecture is not None, "Learner admits no other combination"
        assert learner.update is not None, "Learner admits no other combination"
        multiplicative_step = learner.update.multiplicative_step(learner.architecture)
        assert multiplicative_step is not None, "only a learner with a multiplicative_step is served"
        assert data.w_star is not None, "only labels that are xᵀw* are served"
        assert isinstance(examples, Sylvester), "only rows of Sylvester's matrix are served"
        start = Descent(replace(inputs, data=replace(data, labels=data.labels[:: data.targets], targets=1)))
        self._data, self.examples = data, examples
        members = data.variants * data.targets
        self._tiling = Tiling(data.replicas, members, examples.d, LANES)
        self._places, self._sizes = (
            part[:, None].expand(-1, data.variants, -1, -1).reshape(data.replicas, members, -1)
            for part in data.w_star
        )
        halves = multiplicative_step.halves(start.params, start.state)  # the same for all targets, [R·V, d]
        if multiplicative_step.power == 2:
            halves = tuple(half.square() for half in halves)
        weights = halves[0] - halves[1] if len(halves) == 2 else halves[0]
        losses = data.over_targets(self._loss_of(weights)[None])[0]
        self._apart = [self._tiling.in_lanes(self._where_w_star_is(half)) for half in halves]
        self._halves = [self._tiling.tiled(half, data.targets) for half in halves]
        for half in self._halves:
            half[self._tiling.at(self._places)] = 0.0
        rate = next(iter(start.rates.values()))
        rates = np.asarray(rate, np.float64).reshape(-1)
        each = np.repeat(np.broadcast_to(rates, len(weights)), data.targets)
        self._members = self._as_arrays(multiplicative_step, each.reshape(data.replicas, members, 1))
        self._scratches: list[Scratch] = []
        self._learnt = 0
        self._sides = self._labels() if counts else np.empty((0, 0, LANES), np.int8)
        self.to_come: deque[Reached] = deque()
        _, _, right = self._learn([False], [counts])
        dtype = str(weights.dtype).removeprefix("torch.")
        code_of(learner, dtype).note(*kept_at(arrange), *kept_at(blocked_pass))
        self.reached = Reached(losses, weights[: data.variants], right[0] if counts else None)

    def _where_w_star_is(self, vectors: torch.Tensor) -> torch.Tensor:
        """Of vectors [R·V, d] that all targets share the entries where w* of a target is not 0, [R, B, r]."""
        by_vector = self._places.reshape(len(vectors), -1)
        return vectors.gather(1, by_vector).view_as(self._sizes)

    def _loss_of(self, weights: torch.Tensor) -> torch.Tensor:
        """‖w − w*‖² of weights [R·V, d] that all targets share, [R·B]."""
        there = self._where_w_star_is(weights).double()
        squares = weights.double().square().sum(1).view(self._data.replicas, -1, 1)
        of_rest = squares.expand(-1, -1, self._data.targets).reshape(there.shape[:2]) - there.square().sum(2)
        return (of_rest.clamp(min=0) + (there - self._sizes).square().sum(2)).flatten()

    @property
    def exhausted(self) -> bool:
        """Whether `step` has come to the last of the examples that were learnt ahead."""
        return not self.to_come

    @property
    def at_once(self) -> int:
        """How many examples may be learnt ahead: whole blocks of them if these are fewer than AHEAD."""
        bits, weights = self._tiling.bits, self._halves[0]
        kept = self._data.variants * self._tiling.d * weights.itemsize
        most = min(CHANGES // weights.numel(), KEPT_AHEAD // kept)
        return min(AHEAD, max(1, most // bits) * bits)

    def learn_ahead(self, keep: Sequence[bool], count: Sequence[bool]) -> None:
        """Learn the next examples, one per entry.

        After those marked the first weights are kept, and predictions of all rows are counted.
        """
        losses, weights, right = self._learn([False, *keep], [False, *count])
        kept, counted = iter(weights), iter(right)
        for loss, is_kept, is_counted in zip(self._data.over_targets(losses), keep, count, strict=True):
            self.to_come.append(
                Reached(loss, next(kept) if is_kept else None, next(counted) if is_counted else None)
            )

    def _learn(
        self, keep: Sequence[bool], count: Sequence[bool]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Losses [K, B] after each of the next K examples, and weights and counts before them and after each.

        Weights [slots, V, d] where they are to be kept, and counts [slots, B] where they are to be made.
        """
        steps, tiling = len(keep) - 1, self._tiling
        examples = arranged(self.examples, tiling, self._learnt, steps)
        weights = self._halves[0].new_empty(sum(keep), self._data.variants, tiling.d)
        losses = torch.empty(steps, *self._sizes.shape[:2], dtype=torch.float64)
        right = torch.empty(sum(count), *self._sizes.shape[:2], dtype=torch.float64)
        records = Records(
            losses.numpy(),
            _slots(keep),
            weights.numpy(),
            self._data.targets,
            _slots(count),
            right.numpy(),
            self._sides,
            torch.finfo(weights.dtype).eps ** 0.5,
        )
        self._in_parts(steps + COUNT * sum(count), examples, records)
        self._learnt += steps
        return losses.flatten(1), weights, right.flatten(1).mul_(self._data.instances.n / tiling.d)

    def step(self) -> None:
        """Go on to the next of the examples that were learnt ahead."""
        self.reached = self.to_come.popleft()

    def kept(self) -> torch.Tensor:
        """The weights of the first replica and target [V, d]."""
        assert self.reached.kept is not None, "it is declared before where these will be needed"
        return self.reached.kept

    def weights(self) -> torch.Tensor:
        """The weights [B, d]."""
        assert self.exhausted, "examples are learnt ahead up to where these will be needed"
        a, *b = map(self._tiling.vectors, self._halves)
        a_apart, *b_apart = self._apart
        weights, apart = (a - b[0], a_apart - b_apart[0]) if b else (a, a_apart)
        return weights.scatter_(1, self._places.flatten(0, 1), self._tiling.of_members(apart).flatten(0, 1))

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.products(self.weights())

    def right(self) -> torch.Tensor:
        """How many of all rows are predicted on the side of their ±1 labels, less those on the other, [B]."""
        assert self.reached.right is not None, "it is declared before where this will be needed"
        return self.reached.right

    def _labels(self) -> NDArray[np.int8]:
        """The ±1 labels xᵀw* of Sylvester's rows, in tiles: but for signs those of their instances."""
        data, rows = self._data, self._data.instances
        assert isinstance(rows, Sylvester), "only Sylvester's rows are served"
        assert data.w_star is not None, "only labels that are xᵀw* are served"
        labels = rows.of_matrix(*data.w_star).sign_().to(torch.int8)  # [R, targets, d]
        of_members = labels[:, None].expand(-1, data.variants, -1, -1)
        in_tiles: NDArray[np.int8] = self._tiling.tiled(of_members.reshape(-1, rows.d)).numpy()
        return in_tiles

    def _in_parts(self, passes: int, examples: Examples, records: Records) -> None:
        """Have all members learn examples, which takes about so many passes over them, on all threads."""
        sums, steps = self._members.sums, len(records.losses)
        tiles, chunks = sums.shape[:2]
        threads = torch.get_num_threads() if self._halves[0].numel() * passes >= WORTH_THREADS else 1
        blocks = range(-(-steps // examples.bits)) if steps else range(-1, 0)
        self._scratches += [self._scratch() for _ in range(max(threads, 1) - len(self._scratches))]

        def go(scratch: Scratch, tiles: Ends, blocks: Ends, chunks: Ends, learns: bool = True) -> None:
            blocked_pass(self._members, examples, records, scratch, tiles, blocks, chunks, learns)

        if threads == 1:
            go(self._scratches[0], (0, tiles), (blocks.start, blocks.stop), (0, chunks))
            return
        with ThreadPoolExecutor(threads) as pool:
            if tiles >= threads or chunks < threads:
                of_threads = _ends(tiles, threads)
                for each in [
                    pool.submit(go, scratch, some, (blocks.start, blocks.stop), (0, chunks))
                    for scratch, some in zip(self._scratches, of_threads, strict=False)
                ]:
                    each.result()
                return
            for block in blocks:  # few long vectors: all threads take chunks of the same
                one, of_threads = (block, block + 1), _ends(chunks, threads)
                of_tiles = [(scratch, (g, g + 1)) for g, scratch in enumerate(self._scratches[:tiles])]
                for each in [pool.submit(go, *tile, one, (0, 0)) for tile in of_tiles]:
                    each.result()
                for each in [
                    pool.submit(go, *tile, one, some, learns=False)
                    for tile in of_tiles
                    for some in of_threads
                ]:
                    each.result()

    def _as_arrays(self, multiplicative_step: MultiplicativeStep, rates: NDArray[np.float64]) -> Members:
        """The same memory, as the loops take it."""
        a, *b = self._halves
        a_apart, *b_apart = self._apart
        tiling, chunks = self._tiling, min(CHUNKS, max(1, self._tiling.rows // PLACES))
        return Members(
            a.numpy(),
            b[0].numpy() if b else None,
            a_apart.numpy(),
            b_apart[0].numpy() if b else None,
            segments=tiling.in_lanes(self._places // tiling.rows).numpy(),
            places=tiling.in_lanes(self._places % tiling.rows).numpy(),
            sizes=tiling.in_lanes(self._sizes).numpy(),
            rates=tiling.in_lanes(torch.from_numpy(2 * rates * multiplicative_step.scale)).numpy(),
            exponential=multiplicative_step.exponential,
            squared=multiplicative_step.power == 2,
            per_tile=tiling.per_tile,
            sums=a.new_empty(len(a), chunks, KINDS, 1 << tiling.bits, LANES).numpy(),
        )

    def _scratch(self) -> Scratch:
        """Memory for one thread."""
        bits, apart = self._tiling.bits, self._sizes.shape[2]

        def floats(*shape: int, dtype: torch.dtype | None = None) -> NDArray[Any]:
            array: NDArray[Any] = self._halves[0].new_ones(*shape, LANES, dtype=dtype).numpy()
            return array

        return Scratch(
            factors=floats(1 << bits),
            ups=floats(bits),
            downs=floats(bits),
            patterns=np.zeros(LANES, np.int32),
            signs=floats(bits),
            apart=floats(bits, apart),
            products=floats(),
            squares=floats(),
            losses=floats(dtype=torch.float64),
            weights=self._halves[0].new_empty(len(self._sides) and self._tiling.rows, LANES).numpy(),
        )


def arranged(examples: Sylvester, tiling: Tiling, first: int, count: int) -> Examples:
    """Examples from number `first` on as the loops take them, and the block that comes after them."""
    whole = -(-count // tiling.bits) * tiling.bits
    numbers = first + np.append(np.arange(whole), count + np.arange(tiling.bits))
    numbers = np.minimum(numbers, examples.n - 1)
    blocks, places = whole // tiling.bits + 1, min(tiling.rows, PLACES)

    def whole_numbers(count: int, dtype: type) -> NDArray[Any]:
        return np.empty((examples.replicas, blocks, count), dtype)

    found = Examples(
        segments=whole_numbers(tiling.count, np.uint8),
        parts=whole_numbers(tiling.rows // places, np.uint8),
        patterns=whole_numbers(places, np.uint8),
        order=whole_numbers(places, np.int32),
        begins=whole_numbers((1 << tiling.bits) + 1, np.int32),
        bits=tiling.bits,
    )
    rows, signs = examples.order[:, numbers].numpy(), examples.row_signs[:, numbers].numpy()
    arrange(rows, signs, tiling.rows, found)
    return found


def _ends(count: int, threads: int) -> list[Ends]:
    """Where the shares of threads in so many things begin and end."""
    return [*pairwise(count * part // threads for part in range(threads + 1))]


def _slots(marked: Sequence[bool]) -> NDArray[np.int64]:
    """The number of each that is marked, counted among these, and −1 of others."""
    places = np.array(marked, bool)
    return np.where(places, places.cumsum() - 1, -1)


class BlockedEvaluator:
    """Mean square loss, and mistakes, as the pass itself computes them."""

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error"})

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._losses: list[torch.Tensor] = []

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        assert isinstance(hypothesis, BlockedPass), "only a blocked pass computes its losses"
        self._losses.append(hypothesis.reached.losses)
        self._mistakes.count_by(hypothesis.right)

    def looks(self, record: int) -> bool:
        return False  # the pass itself counts mistakes

    def measured(self) -> Measures:
        losses, self._losses = self._losses, []
        return ({"loss": [torch.stack(losses)]} if losses else {}) | self._mistakes.measured()


class BlockedLearner:
    """A learner that takes single examples in their order, many of them in one blocked pass."""

    def __init__(self, inputs: TrainingInputs, order: torch.Tensor | None, records: int) -> None:
        data = inputs.data
        self._mistakes = Mistakes(data, inputs.loss, records, inputs.measures)
        examples = data.instances if order is None else data.instances.pick(order)
        self.hypothesis = BlockedPass(inputs, examples, self._mistakes.counts(0))
        self.recorder = Recorder(inputs, self.hypothesis, records, order, BlockedEvaluator(self._mistakes))
        self._records = records

    def learn(self, k: int) -> Iterable[None]:
        """Go on to example number k; where it was not learnt ahead, learn up to what is needed next."""
        if self.hypothesis.exhausted:
            end = min(self._records, k + self.hypothesis.at_once)
            last = next((record for record in range(k, end) if self.recorder.looks(record)), end - 1)
            some = range(k, last + 1)
            keep, count = map(self.recorder.keeps, some), map(self._mistakes.counts, some)
            self.hypothesis.learn_ahead([*keep], [*count])
        self.hypothesis.step()
        return ()
