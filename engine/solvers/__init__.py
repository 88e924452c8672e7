"""Solvers: learners that fit all examples seen so far, without a rate."""

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
"""Instances of at most so many numbers are solved for at once, and for more a solver may be left behind."""


class SolverStructure(NamedTuple):
    """What a solver declares of its solutions, for theorems, backends and charts."""

    learner_kind: LearnerKind = "other"
    """Kind of learner that it is."""

    labels: Values = "any"
    """What labels must be."""

    linear_in_instance: bool = True
    """Whether predictions are xᵀw, whatever its fields say, with weights w that the hypothesis has."""

    linear_in_labels: bool = False
    """Whether the predictions are linear in the labels seen: ŷ = A y with A [n, k] made of instances only.

    For m targets they are then the matrix A Y, whose rank is at most k, which is what `svd` bounds need.
    """

    projects: bool = False
    """Whether an instance orthogonal to those before moves w, 0 at first, to the nearest with xᵀw = y."""

    by_products: bool = False
    """Whether it uses inner products and single rows of instances alone, so that they may be an operator."""

    of_kernel: bool = False
    """Whether its fit is an element of the space of a kernel, with a norm there."""

    of_margins: bool = False
    """Whether it is about the margins of the examples, and not about fitting their labels."""

    names_norm: bool = False
    """Whether its solutions are those of least `norm`."""

    from_start: bool = False
    """Whether what is nearest to a start w₀ is w₀ with its solution for the labels y − Xw₀ added."""

    prior_noise: float | None = None
    """λ if it predicts the posterior mean of a Gaussian process with covariance `values`, None if not.

    λ is the variance of the noise that the process expects of labels.
    """

    continuous: bool = True
    """Whether a small change of the examples changes predictions little, so that rounding does, too."""


class Solver(Part, frozen=True):
    """A learner that is given the examples one by one and always holds the fit to those it was given."""

    declares: ClassVar[frozenset[str]] = frozenset(("structure", "norm", "invariance"))

    def structure(self) -> SolverStructure:
        """What it declares of its solutions."""
        return SolverStructure()

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        """The norm [B] of weights [B, d], in float64, that its solutions have least of."""
        raise NotImplementedError

    def values(self, rows: torch.Tensor, other_rows: torch.Tensor) -> torch.Tensor:
        """K of every row of [R, n, d] with every row of [R, k, d], [R, n, k], where it is one of a kernel."""
        raise NotImplementedError

    def refuses(self, d: int) -> str | None:
        """Why this solver cannot learn from instances with d features, in one sentence; None if it can."""
        return None

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        """The hypothesis before the first example, for every replica and target of `data`.

        It may look at all instances of `data`, never at its labels.

        Args:
            streams: for a solver that draws numbers of its own; None for those of seeds 0, 1, …
        """
        raise NotImplementedError

    def operations(self, sizes: Sizes) -> float:
        """Multiplications of a run, about, of a solver that is fitted anew with every example; 0: few."""
        return 0.0

    def size(self, n: int, d: int) -> int:
        """How many float64 numbers it keeps per replica of n instances [n, d], besides d per target.

        By default as many as a kernel and a program on all features take together.
        """
        return 8 * n * d + 3 * n * n + 50 * d * d

    def bytes_held(self, sizes: Sizes) -> int:
        """Bytes that it takes, with what it makes of them while it solves."""
        return DERIVED * (2 * sizes.replicas * self.size(sizes.n, sizes.d) + sizes.batch * sizes.d)

    def invariance(self) -> Verdict:
        """Whether predictions are unchanged by rotations of the instances, and why."""
        reason = f"{self.kind} does not say that rotations change none of its predictions"
        return Verdict(False, reason, undecided=True)


def one_by_one(instances: Instances, labels: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Examples in float64, one after the other: an instance x [R, d, 1] and its labels y [R, m, 1].

    Args: instances [R, n, d]; their labels [R·m, n].
    Raises: Stopped, if they are no longer wanted.
    """
    by_replica = labels.view(instances.replicas, -1, instances.n)
    for number in range(instances.n):
        go_on()
        yield instances.rows[:, number, :, None].double(), by_replica[:, :, number, None].double()


class Solved:
    """Linear predictions by weights that are solved for when they are needed."""

    _w: torch.Tensor | None
    """The weights [B, d]; None where examples came since."""

    def solving(self) -> Iterator[None]:
        """Solve for the weights, if examples came since; yields between members. Raises: Stopped."""
        raise NotImplementedError

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        """The solution [B, d]."""
        for _ in self.solving():
            pass
        assert self._w is not None, "solving ends with them"
        return self._w


class Refit(Solved):
    """Keeps the examples and solves anew for the weights of every replica and target when they are needed.

    `solve` turns instances X [k, d] and labels y [k] into weights [d]; it is not called before there are any.
    If `memoised`, the weights for all rows of the data are stored with the data, for other runs of a sweep
    that have the same data. This is for a `solve` without hyperparameters.
    """

    def __init__(self, data: Data, solve: Callable[[Floats, Floats], Floats], memoised: bool = False) -> None:
        self._solve, self._data = solve, data if memoised else None
        self._rows = [data.instances.rows[:, :0]]
        self._labels = [data.labels[:, :0]]
        self._w = data.labels.new_zeros(len(data.labels), data.instances.d)

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Take in examples: instances [R, n, d] and their labels [B, n]."""
        self._rows.append(instances.rows)
        self._labels.append(labels)
        self._w = None

    def solving(self) -> Iterator[None]:
        """Solve for the weights, if examples came since; yields between members. Raises: Stopped."""
        if self._w is not None:
            return
        self._rows, self._labels = [torch.cat(self._rows, 1)], [torch.cat(self._labels, 1)]
        rows, labels = (parts[0].double().cpu().numpy() for parts in (self._rows, self._labels))
        key, memo = (self._solve, len(labels)), self._memo()
        if key in memo:
            self._w = memo[key]
            return
        targets = len(labels) // len(rows)
        solved = []
        for member, y in enumerate(labels):
            if member > 0:
                yield
            solved.append(self._solution(rows[member // targets], y))
        self._w = torch.from_numpy(np.stack(solved)).to(self._rows[0])
        memo[key] = self._w

    def _memo(self) -> dict[Any, torch.Tensor]:
        """Where weights are kept, if the examples are all rows of the data in their order; else nowhere."""
        data, (rows,), (labels,) = self._data, self._rows, self._labels
        if data is None or labels.shape != data.labels.shape or not torch.equal(labels, data.labels):
            return {}
        return data.memo if torch.equal(rows, data.instances.rows) else {}

    def _solution(self, X: Floats, y: Floats) -> Floats:
        return self._alone(X, y) if X.size <= QUICK else aside(partial(self._alone, X, y))

    def _alone(self, X: Floats, y: Floats) -> Floats:
        with one_thread():
            return self._solve(X, y)
