"""Training in pieces of work, so that a run can be paused and stopped within a record."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from engine.hypotheses.hypothesis import Hypothesis, Solved
from engine.training.descent import Descent
from engine.training.recorder import Block

if TYPE_CHECKING:
    from engine.core.lazy import torch
    from engine.problems.instances import Instances


class InPieces:
    """A training run that goes on from one piece of work to the next, wherever a call of `advance` ends."""

    def __init__(self) -> None:
        self._pieces = self.pieces()

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Do so many pieces of work, fewer once the time is up; the records completed, maybe none."""
        end = time.perf_counter() + seconds
        for _ in islice(self._pieces, records):
            if time.perf_counter() > end:
                break
        return self.block()

    def pieces(self) -> Iterator[None]:
        """Train to the end; yields after every piece, which has one update, one record or both at most."""
        raise NotImplementedError

    def block(self) -> Block:
        """The records completed since the last block."""
        raise NotImplementedError


@cache
def _solves(kind: type) -> bool:
    """Whether hypotheses of a class are `Solved`; to find out takes as long as a small example."""
    return issubclass(kind, Solved)


def learning(hypothesis: Hypothesis, instances: Instances, labels: torch.Tensor) -> Iterator[None]:
    """Have a hypothesis take in examples: instances [R, n, d] and labels [B, n]; yields between pieces.

    Gradients take them all in one update. Solvers take one after the other, and then solve for one member of
    the batch after the other.
    """
    if isinstance(hypothesis, Descent):
        hypothesis.learn(instances, labels)
        return
    for number in range(instances.n):
        if number > 0:
            yield
        one = slice(number, number + 1)
        hypothesis.learn(instances.at(one), labels[:, one])
    if _solves(type(hypothesis)) and isinstance(hypothesis, Solved):
        yield from hypothesis.solving()
