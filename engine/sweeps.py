"""A hypothesis that goes through signed examples by a compiled loop, many at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.compiled import Examples, Members, Records, loops
from engine.costs import Cost
from engine.hypothesis import Descent, Weighted
from engine.lazy import torch
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.problems.sylvester import Sylvester
from engine.recorder import ByWeights
from engine.streams import Streams

if TYPE_CHECKING:
    from engine.experiment import Learner

EXAMPLES = 64
"""A weight vector goes through at most so many examples before it is the turn of the next."""

WORTH_THREADS = 1 << 18
"""Fewer changes of weights than this stay on one thread."""

PASSES = 16
"""A count of mistakes costs about as much as so many examples."""


def installed() -> bool:
    """Whether there is a compiler."""
    return find_spec("numba") is not None


class Sweep:
    """A learner whose steps on ±1 examples are a `Motion`, with labels xᵀw* and square loss.

    The examples are rows of Sylvester's matrix, on all of which the average loss is ‖w − w*‖². The few
    weights where w* is not 0 are kept apart, and 0 stands in their place: the others are errors themselves,
    so that nothing cancels in the sum.
    """

    def __init__(
        self,
        learner: Learner,
        loss: Cost,
        data: Data,
        streams: Streams,
        examples: Instances,
        labels: torch.Tensor,
    ) -> None:
        """For these examples of the data and their labels [B, n]."""
        assert learner.architecture is not None, "Learner admits no other combination"
        assert learner.update is not None, "Learner admits no other combination"
        motion = learner.update.motion(learner.architecture)
        assert motion is not None, "only a learner with a motion is given this path"
        assert data.star is not None, "only labels that are xᵀw* are given this path"
        assert isinstance(examples, Sylvester), "only rows of Sylvester's matrix are given this path"
        start = Descent(learner, loss, data, streams)
        self._motion, self._data, self._examples, self._labels = motion, data, examples, labels
        self._halves = tuple(half.clone() for half in motion.halves(start.params, start.state))
        batch = len(labels)
        self._places, self._sizes = (
            part[:, None].expand(-1, data.variants, -1, -1).reshape(batch, -1).contiguous()
            for part in data.star
        )
        self._apart = tuple(half.gather(1, self._places) for half in self._halves)
        for half in self._halves:
            half.scatter_(1, self._places, 0.0)
        self._loops = loops(motion, len(self._halves) == 2, str(data.instances.dtype).removeprefix("torch."))
        rate = next(iter(start.rates.values()))
        self._rates = np.broadcast_to(np.asarray(rate, np.float64).reshape(-1), batch).copy()
        self._swept = 0
        self._to_come: deque[tuple[torch.Tensor, torch.Tensor]] = deque()
        weights = self.weights()
        self._ahead = examples.at(slice(0, 1)).products(weights)[:, 0].double().numpy()
        loss_at_start = data.instances.mean_square(data.from_star(weights))
        assert loss_at_start is not None, "only where every row comes equally often is this path given"
        self.loss = loss_at_start
        self._kept = weights[: data.variants * data.targets : data.targets]

    @property
    def exhausted(self) -> bool:
        """Whether `step` has come to the last of the examples that were swept."""
        return not self._to_come

    def sweep(self, keep: Sequence[bool]) -> None:
        """Go through the next examples, one per entry; after those marked the first weights are kept."""
        count = len(keep)
        numbers = torch.arange(self._swept, self._swept + count + 1).clamp_(max=self._examples.n - 1)
        high, low = self._examples.factors(numbers)
        examples = Examples(self._swept, high.numpy(), low.numpy())
        slots = np.where(keep, np.cumsum(keep) - 1, -1)
        a, batch = self._halves[0], len(self._labels)
        kept = a.new_empty(sum(keep), self._data.variants, a.shape[1])
        losses = np.empty((batch, count))
        records = Records(losses, slots, kept.numpy(), self._data.targets)
        self._in_parts(self._loops.sweep, count, self._as_arrays(), examples, records)
        self._swept += count
        nothing = kept[:0]
        for step, slot in enumerate(slots.tolist()):
            self._to_come.append((torch.from_numpy(losses[:, step]), kept[slot] if slot >= 0 else nothing))

    def step(self) -> None:
        """Go on to the next of the examples that were swept."""
        self.loss, self._kept = self._to_come.popleft()

    def kept(self) -> torch.Tensor:
        """The weights of the first replica and target [V, d]."""
        assert len(self._kept), "sweeps are told where these will be asked for"
        return self._kept

    def weights(self) -> torch.Tensor:
        """The weights [B, d]."""
        assert self.exhausted, "sweeps end where these will be asked for"
        return self._difference(self._halves).scatter_(1, self._places, self._difference(self._apart))

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.products(self.weights())

    def right(self) -> torch.Tensor:
        """How many of all rows are predicted on the side of their ±1 labels, less those on the other, [B]."""
        assert self.exhausted, "sweeps end where this will be asked for"
        rows, right = self._data.instances, torch.empty(len(self._labels), dtype=torch.float64)
        tie = torch.finfo(rows.dtype).eps ** 0.5
        self._in_parts(
            self._loops.balance, PASSES, self._as_arrays(), self._sides.numpy(), tie, right.numpy()
        )
        return right * (rows.n / rows.d)

    @cached_property
    def _sides(self) -> torch.Tensor:
        """The labels of Sylvester's rows [B, d], which are those of their instances but for signs."""
        rows, labels = self._data.instances, self._data.labels
        assert isinstance(rows, Sylvester), "only Sylvester's rows are given this path"
        signed = labels.view(len(rows.order), -1, rows.n) * rows.row_signs[:, None]
        places = rows.order[:, None].expand_as(signed)
        sides = signed.new_empty(*signed.shape[:2], rows.d).scatter_(2, places, signed)
        return sides.view(len(labels), rows.d)

    def _in_parts(self, go: Callable[..., None], passes: int, *arrays: Any) -> None:
        """Have a compiled loop go over all members, which takes `passes` over the weights, on all threads."""
        batch, d = self._halves[0].shape
        group = batch // self._data.replicas
        threads = torch.get_num_threads() if batch * d * passes >= WORTH_THREADS else 1
        if threads == 1:
            go(*arrays, 0, batch, group)
            return
        ends = [batch * part // threads for part in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            for part in [pool.submit(go, *arrays, *members, group) for members in pairwise(ends)]:
                part.result()

    def _difference(self, halves: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """a^L − b^L, or a^L, in memory of its own."""
        a, *b = (half.clone() if self._motion.power == 1 else half**self._motion.power for half in halves)
        return a - b[0] if b else a

    def _as_arrays(self) -> Members:
        """The same memory, as the loop takes it."""
        (a, b), (a_apart, b_apart) = ((part[0], part[-1]) for part in (self._halves, self._apart))
        tensors = a, b, a_apart, b_apart, self._places, self._sizes, self._labels
        return Members._make([*(tensor.numpy() for tensor in tensors), self._rates, self._ahead])


class Told(ByWeights):
    """Mean square loss, and mistakes, as a sweep tells them."""

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        assert isinstance(hypothesis, Sweep), "only sweeps tell their losses"
        self._losses.append(hypothesis.loss)
        self._mistakes.told(hypothesis.right)
