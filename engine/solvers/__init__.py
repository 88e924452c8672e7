"""Solvers: learners without a learning rate, which fit all examples seen so far.

If a learner with an update rule should converge to the solution of a solver, `Limit` computes this solution
for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.linear_algebra import one_thread
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import LearnerKind, Part, Values, Verdict
from engine.core.stopping import aside, go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances

Floats = NDArray[np.float64]

QUICK = 1 << 12
"""Largest number of entries of X for which a problem is solved in the current thread.

A larger problem is solved in a separate thread, which is abandoned if the run is stopped.
"""


class SolverStructure(NamedTuple):
    """Properties of a solver's solutions, such as linearity. Theorems, backends and charts use them."""

    learner_kind: LearnerKind = "other"
    """Kind of learner that the solver belongs to."""

    labels: Values = "any"
    """Label values that the solver requires."""

    learns_one_hot: bool = False
    """Whether the solver also learns one-hot labels of several classes, if it requires label values."""

    linear_in_instance: bool = True
    """Whether predictions are xᵀw, whatever the solver's fields are. The hypothesis then returns w."""

    linear_in_labels: bool = False
    """Whether predictions are linear in the labels seen: ŷ = A y, where A [n, k] depends on instances only.

    Predictions of m targets are then the matrix A Y, whose rank is at most k, as the SVD bounds require.
    """

    projects: bool = False
    """Whether w starts at 0, and an instance x orthogonal to earlier ones projects w onto {w : xᵀw = y}."""

    by_products: bool = False
    """Whether the solver reads only inner products and single rows of the instances, not the whole matrix."""

    of_kernel: bool = False
    """Whether the solution is a function in the Hilbert space of a kernel, and so has a norm there."""

    of_margins: bool = False
    """Whether the solver constrains the margins of the examples instead of fitting their labels."""

    names_norm: bool = False
    """Whether solutions minimise the function `norm` of the weights, which need not be a norm."""

    from_start: bool = False
    """Whether the solution nearest to a start w₀ is w₀ plus the solution for the labels y − Xw₀."""

    prior_noise: float | None = None
    """Noise variance λ, if predictions are the posterior mean of a Gaussian process. None for other solvers.

    The method `values` is the covariance of the process.
    """

    has_posterior: bool = False
    """Whether the hypothesis is the mean of a posterior over weights whose spread and evidence are known."""

    continuous: bool = True
    """Whether small changes of the examples, such as rounding, change predictions only a little."""


class Solver(Part, frozen=True):
    """Learner without a learning rate, which fits all examples seen so far."""

    declares: ClassVar[frozenset[str]] = frozenset(("structure", "norm", "invariance"))

    def structure(self) -> SolverStructure:
        """Return the properties of the solver's solutions."""
        return SolverStructure()

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the norm (or potential) of weights [B, d], as float64 [B]. Solutions minimise this norm."""
        raise NotImplementedError

    def values(self, rows: torch.Tensor, other_rows: torch.Tensor) -> torch.Tensor:
        """Return the kernel K [R, n, k] between `rows` [R, n, d] and `other_rows` [R, k, d].

        Only kernel solvers implement this method.
        """
        raise NotImplementedError

    def refuses(self, d: int) -> str | None:
        """Return why the solver cannot learn from d features, or None if it can."""
        return None

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        """Return an untrained hypothesis (model) for all replicas and targets of `data`.

        The hypothesis may use all instances of `data`, but never the labels.

        Args:
            streams: random streams for a solver that draws numbers. If None, the seeds are 0, 1, and so on.
        """
        raise NotImplementedError

    def operations(self, sizes: Sizes) -> float:
        """Estimate the multiplications of a run that solves again after every example; 0 if they are few."""
        return 0.0

    def size(self, n: int, d: int) -> int:
        """Return how many float64 numbers the solver stores per replica, for n instances of d features.

        The d weights of each target are not counted. The default suffices for solvers that store a kernel
        matrix, or solve a linear program on all features.
        """
        return 8 * n * d + 3 * n * n + 50 * d * d

    def bytes_held(self, sizes: Sizes) -> int:
        """Return the memory in bytes that the solver needs, including temporary arrays."""
        return DERIVED * (2 * sizes.replicas * self.size(sizes.n, sizes.d) + sizes.batch * sizes.d)

    def invariance(self) -> Verdict:
        """Return whether rotations of the instances leave predictions unchanged, and why."""
        reason = f"the class of {self.kind} does not define the method `invariance`"
        return Verdict(False, reason, undecided=True)


def one_by_one(instances: Instances, labels: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield examples one by one, in float64: an instance x [R, d, 1] with its labels y [R, m, 1].

    Args: instances [R, n, d]; their labels [R·m, n]. Raises: Stopped.
    """
    by_replica = labels.view(instances.replicas, -1, instances.n)
    for number in range(instances.n):
        go_on()
        yield instances.rows[:, number, :, None].double(), by_replica[:, :, number, None].double()


TOGETHER = 64
"""Largest number of examples that `in_blocks` yields at a time."""


def in_blocks(instances: Instances, labels: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield b examples at a time, in float64: instances X [R, b, d] with their labels y [R, m, b].

    Args: instances [R, n, d]; their labels [R·m, n]. Raises: Stopped.
    """
    by_replica = labels.view(instances.replicas, -1, instances.n)
    for X, y in zip(
        torch.split(instances.rows, TOGETHER, 1), torch.split(by_replica, TOGETHER, 2), strict=True
    ):
        go_on()
        yield X.double(), y.double()


class SolvedWeights:
    """Base class of linear hypotheses whose weights a solver computes when they are first needed."""

    _w: torch.Tensor | None
    """Weights [B, d], or None if examples were added after the weights were last computed."""

    def solving(self) -> Iterator[None]:
        """Compute the weights if examples were added since the last call.

        Yield between the fits of different batch members (replicas and targets). Raises: Stopped.
        """
        raise NotImplementedError

    def predict(self, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        for _ in self.solving():
            pass
        assert self._w is not None, "solving ends with them"
        return self._w


class Refit(SolvedWeights):
    """Hypothesis that stores all examples, and refits its weights to them whenever they are needed.

    `solve` maps instances X [k, d] and labels y [k] to the weights [d] of one replica and target. It is only
    called with k > 0. With `memoised`, weights that fit all rows of the data are stored with the data. Other
    runs of a parameter sweep can then use them, so `solve` must have no hyperparameters.
    """

    def __init__(self, data: Data, solve: Callable[[Floats, Floats], Floats], memoised: bool = False) -> None:
        self._solve, self._data = solve, data if memoised else None
        self._rows = [data.instances.rows[:, :0]]
        self._labels = [data.labels[:, :0]]
        self._w = data.labels.new_zeros(len(data.labels), data.instances.d)

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        self._rows.append(instances.rows)
        self._labels.append(labels)
        self._w = None

    def solving(self) -> Iterator[None]:
        if self._w is not None:
            return
        self._rows, self._labels = [torch.cat(self._rows, 1)], [torch.cat(self._labels, 1)]
        rows, labels = (parts[0].double().cpu().numpy() for parts in (self._rows, self._labels))
        key, memo = (self._solve, len(labels)), self._cached_solutions()
        if key in memo:
            self._w = memo[key]
            return
        targets = len(labels) // len(rows)
        solved = []
        for member, y in enumerate(labels):
            if member > 0:
                yield
            solved.append(self._compute_solution(rows[member // targets], y))
        self._w = torch.from_numpy(np.stack(solved)).to(self._rows[0])
        memo[key] = self._w

    def _cached_solutions(self) -> dict[Any, torch.Tensor]:
        """Return `Data.memo` if `memoised` is set and all rows were seen in order; else an empty dict."""
        drawn, (rows,), (labels,) = self._data, self._rows, self._labels
        if drawn is None or labels.shape != drawn.labels.shape or not torch.equal(labels, drawn.labels):
            return {}
        return drawn.memo if torch.equal(rows, drawn.instances.rows) else {}

    def _compute_solution(self, X: Floats, y: Floats) -> Floats:
        return (
            self._solve_in_one_thread(X, y)
            if X.size <= QUICK
            else aside(partial(self._solve_in_one_thread, X, y))
        )

    def _solve_in_one_thread(self, X: Floats, y: Floats) -> Floats:
        with one_thread():
            return self._solve(X, y)


class Limit:
    """Function that computes the weights to which a learner's training should converge.

    This limit is a solver's solution on the rows that the learner has seen. It is computed again only if the
    learner has seen other rows since the last call.
    """

    def __init__(self, solver: Solver, data: Data) -> None:
        self.solver, self._data = solver, data
        self._seen: torch.Tensor | None = None
        self._weights: torch.Tensor | None = None

    def __call__(self, counts: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        """Return the solver's solution [B, d] on the rows seen; NaN until every replica has seen a row.

        Args:
            counts: how often each row was seen, [B or 1, n].
            start: the learner's starting weights, [B, d].
        """
        seen = counts > 0
        if self._weights is None or self._seen is None or not torch.equal(seen, self._seen):
            self._seen, self._weights = seen, self._limit_weights(seen, start)
        return self._weights

    def _limit_weights(self, seen: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        if not seen.any(1).all():
            return torch.full_like(start, torch.nan)
        drawn = self._data
        numbers = _indices_of_seen(
            seen.expand(len(drawn.labels), -1).view(drawn.replicas, -1, seen.shape[1])[:, 0]
        )
        instances, labels = drawn.examples(numbers)
        if self.solver.structure().from_start:
            labels = labels - instances.products(start)
        hypothesis = self.solver.begin(drawn)
        hypothesis.learn(instances, labels)
        weights = hypothesis.weights()
        assert weights is not None, "only solvers of weights are named"
        return weights + start if self.solver.structure().from_start else weights


def _indices_of_seen(seen: torch.Tensor) -> torch.Tensor:
    """Return the indices [R, k] of the rows seen, where k is the largest number of rows seen by a replica.

    If a replica has seen fewer rows, the index of the first row that it has seen is repeated. A repeated
    example does not change an interpolating solution or a margin.
    """
    by_replica = [row.nonzero()[:, 0] for row in seen]
    count = max(len(numbers) for numbers in by_replica)
    return torch.stack(
        [torch.cat((numbers, numbers[:1].expand(count - len(numbers)))) for numbers in by_replica]
    )
