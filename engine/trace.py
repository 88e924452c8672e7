"""The growing curves: written by the engine, read by anybody, without locks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.parts import Finding, Path, Verdict

Floats = NDArray[np.float64]

ZERO = 1e-12
"""A bound below this is 0 up to rounding, and nothing is a multiple of it."""

MOST_WEIGHT_RECORDS = 1024
MOST_WEIGHT_BYTES = 32 << 20


def stride_of_weights(records: int, d: int, itemsize: int) -> int:
    """Of how many of a curve's records one keeps its weights [d], so that a run keeps a bounded number."""
    most = max(2, min(MOST_WEIGHT_RECORDS, MOST_WEIGHT_BYTES // (d * itemsize)))
    return -(-records // most)


class Spectrum(NamedTuple):
    """Singular values of the weight matrix across targets of the first replica, at some of the records.

    Those that rounding alone could have made are 0.
    """

    x: Floats
    """Where on the x-axis they were computed, [S]."""

    values: Floats
    """Largest first, [S, r]."""

    @property
    def rank(self) -> NDArray[np.int64]:
        """The numerical rank [S]."""
        return np.asarray(np.count_nonzero(self.values, axis=1))

    def followed_by(self, later: Spectrum) -> Spectrum:
        """These and later ones."""
        return Spectrum(np.concatenate([self.x, later.x]), np.concatenate([self.values, later.values]))


class Curve:
    """A learner's average loss along the x-axis, mean and standard error over replicas.

    The arrays are allocated at their full length; `length` says how many entries are valid. The writer fills
    entries first and raises `length` last, so that a reader never sees a half-written one.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        replicas: int,
        verdict: Verdict,
        learner: str | None = None,
        rate: float | None = None,
        path: Path = "dense",
    ) -> None:
        """A curve called `name`: the one of `learner`, or the one with `rate` if it tries several.

        `path` is the way in which it is computed.
        """
        self.name = name
        self.learner = learner or name
        self.rate = rate
        self.best = rate is None
        self.grid: dict[float, float] = {}
        self.verdict = verdict
        self.path = path
        self.diverged_at: float | None = None
        self.ended = False
        self.hindsight = False
        """Whether it becomes the curve of the best of several rates, once all of these are complete."""
        self.length = 0
        self.weights_length = 0
        self._x = np.empty(capacity)
        self._loss = np.empty(capacity)
        self._stderr = np.empty(capacity) if replicas > 1 else None
        self._measures: dict[str, Floats] = {}
        self.capacity = capacity
        self._weights: NDArray[np.floating[Any]] | None = None
        self._weights_x = np.empty(0)
        self._spectrum: Spectrum | None = None

    @property
    def complete(self) -> bool:
        """Whether the curve has all its records."""
        return self.length == self.capacity

    def diverged_by(self, x: float) -> bool:
        """Whether it has diverged and has no record past x."""
        return self.diverged_at is not None and bool((self.x[-1:] <= x).all())

    @property
    def x(self) -> Floats:
        return self._x[: self.length]

    @property
    def loss(self) -> Floats:
        return self._loss[: self.length]

    @property
    def stderr(self) -> Floats | None:
        """Standard error of the mean over replicas; None for a single replica."""
        return None if self._stderr is None else self._stderr[: self.length]

    @property
    def error(self) -> Floats | None:
        """The share of rows that are mistaken; None unless labels are two classes: ±1, or 0 and 1."""
        return self._measure("error")

    @property
    def train(self) -> Floats | None:
        """The average loss over the examples seen, NaN before the first; None unless the run records it."""
        return self._measure("train")

    @property
    def unseen(self) -> Floats | None:
        """The average loss over the rows never seen, NaN after the last; None unless the run records it."""
        return self._measure("unseen")

    def _measure(self, name: str) -> Floats | None:
        return self._measures[name][: self.length] if name in self._measures else None

    @property
    def weights_x(self) -> Floats:
        """Where on the x-axis the weights were kept."""
        return self._weights_x[: self.weights_length]

    @property
    def weights(self) -> NDArray[np.floating[Any]] | None:
        """Weights of the first replica and target [S, d] at `weights_x`; None if there is no such vector."""
        return None if self._weights is None else self._weights[: self.weights_length]

    @property
    def spectrum(self) -> Spectrum | None:
        """The singular values of the weights across targets; None unless the run records them."""
        return self._spectrum

    def at(self, measure: str, x: float) -> float | None:
        """A measure (loss, error, train, unseen, rank) at x; None where it was not recorded."""
        places, values = self.x, self.loss if measure == "loss" else self._measure(measure)
        if measure == "rank" and self.spectrum is not None:
            places, values = self.spectrum.x, self.spectrum.rank.astype(float)
        found = np.flatnonzero(places == x)
        if values is None or not len(found) or np.isnan(values[found[0]]):
            return None
        return float(values[found[0]])

    def append(
        self,
        x: Floats,
        loss: Floats,
        measures: Mapping[str, Floats] = MappingProxyType({}),
        weights: Mapping[int, NDArray[np.floating[Any]]] = MappingProxyType({}),
        spectrum: Floats | None = None,
    ) -> None:
        """Publish records at x [S]: losses [S, R] and, where there are any, the rest.

        Args:
            measures: error, train and unseen, [S, R] each; NaN where one was not measured.
            weights: [d], by the record among the S.
            spectrum: [S, r]; records with NaN have none.
        """
        start, end = self.length, self.length + len(x)
        for name, values in measures.items():
            if name not in self._measures:
                self._measures[name] = np.full(self.capacity, np.nan)
            self._measures[name][start:end] = values.mean(1)
        self._x[start:end] = x
        self._loss[start:end] = loss.mean(1)
        if self._stderr is not None:
            self._stderr[start:end] = loss.std(1, ddof=1) / np.sqrt(loss.shape[1])
        for record, kept in weights.items():
            self._keep(x[record], kept)
        if spectrum is not None:
            computed = ~np.isnan(spectrum[:, 0])
            new = Spectrum(x[computed], spectrum[computed])
            self._spectrum = new if self._spectrum is None else self._spectrum.followed_by(new)
        self.length = end

    def copy(self, winner: Curve, tried: list[Curve]) -> None:
        """Become the curve of the best of the rates that were tried, and remember how the others did."""
        self.grid = {curve.rate or 0.0: curve.mean_loss() for curve in tried}
        self.rate, self.diverged_at = winner.rate, winner.diverged_at
        self._x, self._loss, self._stderr = winner._x, winner._loss, winner._stderr
        self._measures = winner._measures
        self._weights, self._weights_x = winner._weights, winner._weights_x
        self._spectrum = winner._spectrum
        self.length, self.weights_length = winner.length, winner.weights_length
        self.ended = True

    def mean_loss(self) -> float:
        """The mean of the curve, infinite if it diverged: what rates are compared by in hindsight."""
        if self.diverged_at is not None or not self.length:
            return float("inf")
        return float(self.loss.mean())

    def _keep(self, x: float, weights: NDArray[np.floating[Any]]) -> None:
        """Keep weights; their number was bounded by `stride_of_weights`."""
        if self._weights is None:
            slots = -(-self.capacity // stride_of_weights(self.capacity, len(weights), weights.itemsize))
            self._weights_x = np.empty(slots)
            self._weights = np.empty((slots, len(weights)), weights.dtype)
        self._weights_x[self.weights_length] = x
        self._weights[self.weights_length] = weights
        self.weights_length += 1


@dataclass(frozen=True, eq=False)
class BoundCurve:
    """A bound on the x-axis of a trace, and the learners it binds, each with the reason why or why not."""

    kind: str
    sense: str
    in_expectation: bool
    formula: str
    source: str
    on_problem: Finding
    on_learners: dict[str, Finding]
    x: Floats
    loss: Floats

    @property
    def applies_to(self) -> list[str]:
        """The learners that the bound binds here."""
        if not self.on_problem.holds:
            return []
        return [name for name, finding in self.on_learners.items() if finding.holds]

    @cached_property
    def mean(self) -> float:
        """The mean of the bound."""
        return float(self.loss.mean())

    def at(self, x: float) -> float:
        """The bound at x, linear between its points."""
        return float(np.interp(x, self.x, self.loss))


@dataclass(frozen=True, eq=False)
class Trace:
    """All that a run yields: curves of the learners and curves of the theory on the same axes."""

    curves: list[Curve]
    bounds: list[BoundCurve]
    x: Floats
    x_label: str
    y_label: str
    environment: dict[str, str]

    @property
    def frontier(self) -> float:
        """How far every learner that is still at work has come; −1 before the first record.

        A curve of hindsight has no records until its learner is done; nobody waits for it.
        """
        growing = [curve for curve in self.curves if not curve.ended and not curve.hindsight]
        reached = [float(curve.x[-1]) if curve.length else -1.0 for curve in growing or self.curves]
        return min(reached) if growing else max(reached)

    @property
    def last(self) -> float:
        """Where the x-axis ends."""
        return float(self.x[-1])

    def compared(self, learner: str) -> list[BoundCurve]:
        """The bounds that a learner is compared with: those that bind it, else those that it may beat."""
        drawn = [bound for bound in self.bounds if bound.on_problem.holds and bound.sense != "upper"]
        return [bound for bound in drawn if learner in bound.applies_to] or drawn

    def strongest(self, learner: str, x: float) -> BoundCurve | None:
        """The highest at x of the bounds that a learner is compared with; of equals the higher elsewhere."""
        return max(self.compared(learner), key=lambda bound: (bound.at(x), bound.mean), default=None)

    def heights(self, learner: str, x: Floats) -> Floats:
        """The height at every x of the strongest bound; 0 where there is none, or none but for rounding."""
        heights = np.zeros_like(x)
        for bound in self.compared(learner):
            np.maximum(heights, np.interp(x, bound.x, bound.loss), out=heights)
        return np.where(heights > ZERO, heights, 0.0)

    def curve(self, name: str) -> Curve:
        """The curve of this name, or the best one so far of the learner of this name. Raises: KeyError."""
        for curve in self.curves:
            if curve.name == name:
                return curve
        candidates = [curve for curve in self.curves if curve.learner == name]
        if not candidates:
            raise KeyError(name)
        return min(candidates, key=Curve.mean_loss)
