"""What a learner is said to tend to: a solution on the rows that it has seen."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.problems.data import Data
from engine.solvers import Solver


class Limit:
    """The weights of a solver on the rows seen, for every member of the batch, solved for once."""

    def __init__(self, solver: Solver, data: Data) -> None:
        self.solver, self._data = solver, data
        self._seen: torch.Tensor | None = None
        self._weights: torch.Tensor | None = None

    def __call__(self, counts: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        """The weights [B, d] for how often every row was seen [B or 1, n], from weights [B, d] at the start.

        NaN before the first example.
        """
        seen = counts > 0
        if self._weights is None or self._seen is None or not torch.equal(seen, self._seen):
            self._seen, self._weights = seen, self._solved(seen, start)
        return self._weights

    def _solved(self, seen: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        if not seen.any(1).all():
            return torch.full_like(start, torch.nan)
        data = self._data
        numbers = _numbers(seen.expand(len(data.labels), -1).view(data.replicas, -1, seen.shape[1])[:, 0])
        instances, labels = data.examples(numbers)
        if self.solver.structure().from_start:
            labels = labels - instances.products(start)
        hypothesis = self.solver.begin(data)
        hypothesis.learn(instances, labels)
        weights = hypothesis.weights()
        assert weights is not None, "only solvers of weights are named"
        return weights + start if self.solver.structure().from_start else weights


def _numbers(seen: torch.Tensor) -> torch.Tensor:
    """The numbers of the rows seen [R, k]; where a replica has seen fewer, its first row stands for others.

    An example that is given again changes no solution that fits, nor a margin.
    """
    by_replica = [row.nonzero()[:, 0] for row in seen]
    count = max(len(numbers) for numbers in by_replica)
    return torch.stack(
        [torch.cat((numbers, numbers[:1].expand(count - len(numbers)))) for numbers in by_replica]
    )
