"""Traces: curves that grow while the engine writes and other threads read, without locks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.groups import Group
from engine.core.parts import Finding, Verdict
from engine.measures import Measure
from engine.pictures.view import fate
from engine.results.measure_series import Arrays, MeasureSeries, replicas_kept
from engine.training.descent import kept_records

Floats = NDArray[np.float64]

NOTHING = np.empty(0)


class Curve:
    """Training run of a learner at one rate: every measure and clock at its records, by replica.

    Arrays are allocated for `capacity` records; `length` is the number of valid entries. The writer fills
    entries first and raises `length` last, so that a reader never sees a half-written record. Clocks measure
    the progress of training, in examples `k`, epochs and so on, if the learner has them; the first is that of
    the x-axis. The values of a replica are NaN after it diverges; other replicas continue.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        replicas: int,
        verdict: Verdict,
        learner: str | None = None,
        rate: float | None = None,
        backend: str = "dense",
        indices: Mapping[str, Mapping[str, Floats]] = MappingProxyType({}),
    ) -> None:
        """Create the curve `name`: the only curve of `learner`, or that with `rate` if it tries several.

        Args:
            backend: name of the backend that computes it.
            indices: coordinates of each index of measures with indices, by the names of measure and index.
        """
        self.name = name
        self.learner = learner or name
        self.rate = rate
        self.best = rate is None
        self.grid: dict[float, float] = {}
        self.verdict = verdict
        self.backends = [backend]
        """Names of the backends that compute it, in order of use."""

        self.is_restored = False
        """Whether it was read from a cache."""

        self.uncached_weight_bytes = 0
        """Bytes of its weights if a cache has the curve without them; else 0."""

        self.replicas = replicas
        self.divergences = np.full(replicas, np.nan)
        """Place of divergence of every replica on the x-axis [R]; NaN for replicas that did not diverge."""

        self.inaccurate = np.zeros(replicas, bool)
        """Replicas [R] that did not diverge, but ended early because their numbers became inaccurate."""

        self.ended = False
        self.oracle_tuned = False
        """Whether the curve becomes that of the best of several rates, once all rates are complete."""
        self.length = 0
        self.weights_length = 0
        self.capacity = capacity
        self._clocks: dict[str, Floats] = {}
        self._series: dict[str, MeasureSeries] = {}
        self._weights: NDArray[np.floating[Any]] | None = None
        self._weights_x = np.empty(0)
        self._arrays: dict[str, Arrays] = {}
        self._indices = indices

    @property
    def backend(self) -> str:
        """Text with the names of the curve's backends."""
        return " then ".join(self.backends)

    @property
    def complete(self) -> bool:
        """Whether the curve has all its records."""
        return self.length == self.capacity

    @property
    def diverged_at(self) -> float | None:
        """Place of the first divergence of a replica; None without any."""
        return float(np.nanmin(self.divergences)) if self.diverged else None

    @property
    def diverged(self) -> int:
        """Number of replicas that have diverged."""
        return int(np.count_nonzero(~np.isnan(self.divergences)))

    @property
    def fate(self) -> str:
        """Verb for the fate of the replicas that ended early."""
        return fate(self.diverged, int(self.inaccurate.sum()))

    @property
    def sound(self) -> int:
        """Number of records before the first divergence, where means are over all replicas."""
        at = self.diverged_at
        return self.length if at is None else int(np.searchsorted(self.x, at))

    @property
    def x(self) -> Floats:
        """Clock of the x-axis."""
        return next(iter(self._clocks.values()), NOTHING)[: self.length]

    @property
    def clocks(self) -> dict[str, Floats]:
        """Clocks at every record [S], by name.

        If replicas differ, the value is the least among replicas that have not diverged.
        """
        return {clock: self._least(times[: self.length]) for clock, times in self._clocks.items()}

    @property
    def own_clocks(self) -> dict[str, Floats]:
        """Clocks that differ between replicas, [S, R]."""
        return {clock: times[: self.length] for clock, times in self._clocks.items() if times.ndim > 1}

    def _least(self, times: Floats) -> Floats:
        if times.ndim == 1:
            return times
        gone = self.x[:, None] >= np.where(np.isnan(self.divergences), np.inf, self.divergences)
        return np.asarray(np.where(gone, np.inf, times).min(1))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures along the curve."""
        return tuple(self._series)

    def mean(self, measure: str) -> Floats | None:
        """Return the mean [S] of a measure over replicas, NaN where not measured; None if never measured."""
        series = self._series.get(measure)
        return None if series is None else series.mean[: self.length]

    def stderr_of(self, measure: str) -> Floats | None:
        """Return the standard error [S] of the mean; None if never measured, or for a single replica."""
        series = self._series.get(measure)
        return None if series is None or series.stderr is None else series.stderr[: self.length]

    def values(self, measure: str) -> Floats | None:
        """Return a measure of every stored replica [S, R]; None if it was not measured."""
        series = self._series.get(measure)
        return None if series is None else series.values[: self.length]

    def why_first_only(self, measure: str) -> str:
        """Return the reason why `values` of a measure hold only the first replica; empty if they hold all."""
        values = self.values(measure)
        if values is None or values.shape[1] == self.replicas:
            return ""
        reason = f"{measure} was stored for the first of {self.replicas} replicas only"
        if self.is_restored and replicas_kept(self.length, self.replicas) > 1:
            return f"{reason}: no picture and no claim of the cached run reads the others; compute it again"
        return f"{reason}: the run has too many evaluation points for more; take fewer"

    @property
    def weights_x(self) -> Floats:
        """Places of the weights on the x-axis."""
        return self._weights_x[: self.weights_length]

    @property
    def weights(self) -> NDArray[np.floating[Any]] | None:
        """Weights of the first replica and target [S, d] at `weights_x`; None without such a vector."""
        return None if self._weights is None else self._weights[: self.weights_length]

    def array(self, measure: str) -> Arrays | None:
        """Return a measure with indices, at the records where it was measured; None if never measured."""
        return self._arrays.get(measure)

    @property
    def all_indices(self) -> Mapping[str, Mapping[str, Floats]]:
        """Coordinates of each index of measures with indices, by the names of measure and index."""
        return self._indices

    def indices(self, measure: str) -> Mapping[str, Floats]:
        """Return the coordinates of each index of a measure, in the order of the array's dimensions."""
        return self._indices.get(measure, {})

    def append(
        self,
        clocks: Mapping[str, Floats],
        measures: Mapping[str, Floats],
        weights: Mapping[int, NDArray[np.floating[Any]]] = MappingProxyType({}),
        arrays: Mapping[str, Mapping[int, Floats]] = MappingProxyType({}),
    ) -> None:
        """Publish S records: clocks [S] or [S, R] and measures [S, R], by name.

        The names are those of the first records.

        Args:
            weights: [d] of the first replica, by the record among the S.
            arrays: measures with indices [R or 1, *index], by name and record; all-NaN arrays are omitted.
        """
        start, x = self.length, next(iter(clocks.values()))
        if not start:  # readers may go through the names meanwhile
            self._clocks = {
                clock: np.empty((self.capacity, *times.shape[1:])) for clock, times in clocks.items()
            }
            self._series = {measure: MeasureSeries(self.capacity, self.replicas) for measure in measures}
        for name, times in clocks.items():
            self._clocks[name][start : start + len(x)] = times
        for name, numbers in measures.items():
            self._series[name].fill(start, numbers)
        for record, vector in weights.items():
            self._keep(x[record], vector)
        for name, by_record in arrays.items():
            records = [record for record, numbers in by_record.items() if not np.isnan(numbers).all()]
            if records:
                new = Arrays(x[records], np.stack([by_record[record] for record in records]))
                old = self._arrays.get(name)
                # A new dict, not an update in place: another thread may be iterating over the old one.
                self._arrays = {**self._arrays, name: new if old is None else old.followed_by(new)}
        # Last: readers take `length` first and trust every entry below it.
        self.length = start + len(x)

    def complete_early(self) -> None:
        """Count the present records as complete, even if more were planned."""
        self.capacity = self.length

    def copy(self, winner: Curve, grid: Mapping[float, float]) -> None:
        """Become a copy of the best rate's curve, and store the mean along the curve for every rate."""
        self.grid = dict(grid)
        self.rate, self.divergences, self.inaccurate = winner.rate, winner.divergences, winner.inaccurate
        self._clocks, self._series = winner._clocks, winner._series
        self.backends, self.is_restored = winner.backends, winner.is_restored
        self.uncached_weight_bytes = winner.uncached_weight_bytes
        self._weights, self._weights_x = winner._weights, winner._weights_x
        self._arrays = winner._arrays
        self.length, self.weights_length = winner.length, winner.weights_length
        self.capacity = winner.capacity
        self.ended = True

    def snapshot(self) -> Curve:
        """Return a shallow copy of the curve with the records so far.

        Records that are written later lie beyond the `length` of the copy.
        """
        snapshot = copy.copy(self)  # in one step, so that the writer comes before it or after it
        snapshot.divergences, snapshot.inaccurate = self.divergences.copy(), self.inaccurate.copy()
        return snapshot

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the contents of the curve, by names that `restore` understands."""
        contents: dict[str, NDArray[Any]] = {
            "divergences": self.divergences,
            "backends": np.array(self.backends, str),
        }
        if self.complete:
            contents["complete"] = np.array(True)
        if self.inaccurate.any():
            contents["inaccurate"] = self.inaccurate
        for name, times in self._clocks.items():
            contents[f"clock/{name}"] = times[: self.length]
        for name, series in self._series.items():
            contents[f"values/{name}"] = series.values[: self.length]
            if series.stderr is not None:
                contents[f"mean/{name}"] = series.mean[: self.length]
                contents[f"stderr/{name}"] = series.stderr[: self.length]
        for name, recorded in self._arrays.items():
            contents[f"x/{name}"], contents[f"array/{name}"] = recorded
        if (weights := self.weights) is not None:
            contents["weights"], contents["weights_x"] = weights, self.weights_x
        return contents

    def restore(self, arrays: Mapping[str, NDArray[Any]], ended: bool = True) -> None:
        """Become the curve that `as_arrays` stored, with the same number of replicas; `ended` or growing.

        Raises: KeyError.
        """
        self.divergences = arrays["divergences"]
        self.inaccurate = arrays.get("inaccurate", self.inaccurate)
        self.backends = arrays["backends"].tolist()
        clocks: dict[str, Floats] = {}
        all_series: dict[str, MeasureSeries] = {}
        for key, array in arrays.items():
            kind, _, name = key.partition("/")
            if kind == "clock":
                clocks[name] = array
            elif kind == "values":
                # Capacity 0: the arrays that were read replace the buffers, which need not be allocated.
                series = all_series[name] = MeasureSeries(0, self.replicas)
                series.values, series.mean = array, array[:, 0]
                if self.replicas > 1:
                    series.mean, series.stderr = arrays[f"mean/{name}"], arrays[f"stderr/{name}"]
            elif kind == "array":
                self._arrays[name] = Arrays(arrays[f"x/{name}"], array)
        if "weights" in arrays:
            self._weights, self._weights_x = arrays["weights"], arrays["weights_x"]
            self.weights_length = len(self._weights)
        elif "weight_bytes" in arrays:
            self.uncached_weight_bytes = int(arrays["weight_bytes"])
        self._clocks, self._series = clocks, all_series  # another thread may be reading the old ones
        self.length = len(next(iter(clocks.values())))
        if "complete" in arrays:
            self.complete_early()
        self.ended, self.is_restored = ended, True

    def mean_along(self, measure: str) -> float:
        """Return the mean of a measure along the curve, for comparing rates; infinity after a divergence."""
        mean = self.mean(measure)
        # Of a diverged curve the mean over the remaining replicas would flatter the rate.
        return float("inf") if self.diverged or mean is None or not len(mean) else float(mean.mean())

    def _keep(self, x: float, weights: NDArray[np.floating[Any]]) -> None:
        """Store weights at a place; `kept_records` limits their number."""
        if self._weights is None:
            slots = len(kept_records(self.capacity, len(weights), weights.itemsize))
            self._weights_x = np.empty(slots)
            self._weights = np.empty((slots, len(weights)), weights.dtype)
        self._weights_x[self.weights_length] = x
        self._weights[self.weights_length] = weights
        self.weights_length += 1


def settle(curves: Sequence[Curve], shown: Curve | None, compared_by: str) -> None:
    """Mark the best of a learner's complete curves, by a measure's mean along them.

    Args:
        shown: curve that becomes a copy of the best; None if all are shown.
    """
    means = {curve: curve.mean_along(compared_by) for curve in curves}
    best = min(curves, key=means.__getitem__)
    best.best = True
    if shown is not None:
        shown.copy(best, {curve.rate or 0.0: mean for curve, mean in means.items()})


class Along(NamedTuple):
    """Values of a theory line, and their places."""

    clocks: dict[str, Floats]
    """Clocks at these places [S], that of the x-axis first."""

    indices: dict[str, Floats]
    """Coordinates of each index of the measure, in the order of the array's dimensions."""

    values: Floats
    """[R, S, *index], or [1, S, *index] for a line that is the same for all replicas."""


class Statement(NamedTuple):
    """The statement of a theory line: the same for every learner and every replica."""

    kind: str
    direction: str
    """Relation of the line to its measure, such as "lower"."""

    in_expectation: bool
    """Whether the line is about the expectation, from which single runs deviate."""

    formula: str
    source: str
    measure: str
    """Name of the measure."""

    group: Group | None = None
    """Group of the invariant learners that the line binds; None for a line that binds by other conditions."""

    name: str = ""
    """Name that distinguishes the line from others of its kind; empty if it is the only one."""

    title: str = ""
    """Name in charts and captions; empty: its kind."""

    limit: str = ""
    """Text for the limit of an asymptotic line."""

    summary: str | None = "mean"
    """Summary over replicas that the line is about; None if it is about every summary."""

    running: str | None = None
    """Summary over all records so far that the line is about; None if it is about each record."""

    @property
    def called(self) -> str:
        """Name in words."""
        return self.title or self.kind


@dataclass(frozen=True, eq=False)
class TheoryLine:
    """Theory line on the x-axis of a trace, and the learners it binds, with the reasons.

    A line that is the same for all learners has `values` [S, *index], the mean over replicas. Other lines
    have `of_curves`, by the name of each curve that they bind.
    """

    statement: Statement
    on_problem: Finding
    on_learners: dict[str, Finding]
    x: Floats
    values: Floats
    per_learner: bool = False
    of_curves: dict[str, Along] = field(default_factory=dict)
    along_runs: Callable[[Curve], Along | None] | None = None
    """Line of a curve so far, for a line computed from measured values; None for other lines."""

    by_replica: Floats | None = None
    """Line of every replica [R, S, *index], if replicas differ."""

    indices: dict[str, Floats] = field(default_factory=dict)
    """Coordinates of each index of the measure, for a line that is the same for all learners."""

    beyond: Along | None = None
    """Continuation after the last record, for training that ends before the theorem does."""

    @property
    def kind(self) -> str:
        """Kind of the line."""
        return self.statement.kind

    @property
    def applies_to(self) -> list[str]:
        """Names of the learners that the line binds here."""
        if not self.on_problem.holds:
            return []
        return [learner_name for learner_name, finding in self.on_learners.items() if finding.holds]

    def by_curve(self, curves: Iterable[Curve]) -> dict[str, Along]:
        """Return the line of each curve so far, by name; empty if the line is the same for all."""
        if self.along_runs is None:
            return self.of_curves
        by_curve = {curve.name: self.along_runs(curve) for curve in curves if curve.length}
        return {curve: along for curve, along in by_curve.items() if along is not None}


@dataclass(frozen=True, eq=False)
class Trace:
    """Results of a run: curves of learners and theory lines on the same axes.

    `planned` has the clocks at the records that the protocol plans [S], by name; the first is the clock of
    the x-axis. Curves hold the records that exist.
    """

    curves: list[Curve]
    lines: list[TheoryLine]
    planned: dict[str, Floats]
    x_label: str
    environment: dict[str, Any]
    compared_by: str
    """Measure by which the rates of a learner are compared."""
    side_curves: list[Curve] = field(default_factory=list)
    """Curves of side runs, which only theory lines use."""
    examples: tuple[Floats, Floats] | None = None
    """Instances and labels of the first replica, if a picture shows them and both are single numbers."""
    measures: tuple[Measure, ...] = ()
    """Measures recorded for any learner, each once."""

    @property
    def ended(self) -> bool:
        """Whether all training runs have ended."""
        return all(curve.ended for curve in (*self.curves, *self.side_curves))

    @property
    def frontier(self) -> int:
        """Index of the last record that every unfinished learner has; −1 before the first.

        Oracle-tuned curves do not count, because they have no records until their learner has ended.
        """
        growing = [curve for curve in self.curves if not curve.ended and not curve.oracle_tuned]
        reached = [curve.length - 1 for curve in growing or self.curves]
        return min(reached) if growing else max(reached)

    @property
    def reached(self) -> int:
        """Index of the last record to show: the frontier of the learners that have records.

        So a learner that is slow to reach its first record does not hide the others.
        """
        begun = [curve for curve in self.curves if curve.length]
        return replace(self, curves=begun).frontier if begun else -1

    @property
    def share(self) -> float:
        """Finished share of the planned records; those of a learner that ended early count as finished."""
        finished = sum(curve.capacity if curve.ended else curve.length for curve in self.curves)
        return finished / max(sum(curve.capacity for curve in self.curves), 1)

    def snapshot(self) -> Trace:
        """Return the trace so far, which does not grow. This is cheap, because the records are shared."""
        return replace(self, curves=[curve.snapshot() for curve in self.curves])

    @property
    def x(self) -> Floats:
        """Places of the planned records on the x-axis."""
        return next(iter(self.planned.values()))

    @property
    def last(self) -> float:
        """End of the x-axis."""
        return float(self.x[-1])

    def at(self, record: int) -> str:
        """Return the place of a record as text."""
        return f"{next(iter(self.planned))} = {self.x[record]:g}"

    def clocks_at(self, x: float, curve: Curve | None = None) -> dict[str, float]:
        """Return the clocks at the record planned at x: planned clocks, and those of a curve.

        Beyond the curve's last record, its clocks are extrapolated linearly; they are NaN with fewer than two
        records.
        """
        record = min(int(np.searchsorted(self.x, x)), len(self.x) - 1)
        planned = {clock: float(times[record]) for clock, times in self.planned.items()}
        if curve is None:
            return planned
        return {clock: _at(x, curve.x, times) for clock, times in curve.clocks.items()} | planned

    @property
    def theorems(self) -> list[TheoryLine]:
        """First line of every kind, because the two edges of a band have the same statement."""
        return list({line.kind: line for line in reversed(self.lines)}.values())[::-1]

    def lines_of(self, measure: str) -> list[TheoryLine]:
        """Return the lines about a measure, including lines that do not hold here."""
        return [line for line in self.lines if line.statement.measure == measure]

    def is_bound(self, curve: Curve) -> bool:
        """Return whether a proved lower bound binds the learner of a curve."""
        return any(
            line.on_problem.holds and line.statement.direction == "lower" and curve.learner in line.applies_to
            for line in self.lines
        )

    def curve(self, name: str) -> Curve:
        """Return the curve called `name`, or the best curve so far of the learner `name`.

        Raises: KeyError.
        """
        for curve in self.curves:
            if curve.name == name:
                return curve
        candidates = [curve for curve in self.curves if curve.learner == name]
        if not candidates:
            raise KeyError(name)
        return min(candidates, key=lambda curve: curve.mean_along(self.compared_by))


def _at(x: float, places: Floats, heights: Floats) -> float:
    """Return the value at x, interpolated or extrapolated linearly; NaN beyond a single place."""
    if len(places) and x <= places[-1]:
        return float(np.interp(x, places, heights))
    if len(places) < 2:
        return float("nan")
    slope = (heights[-1] - heights[-2]) / (places[-1] - places[-2])
    return float(heights[-1] + slope * (x - places[-1]))
