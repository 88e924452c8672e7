"""Traces: the results of a run. The engine writes a trace while other threads read it without locks."""

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
    """Training run of a learner at one rate: its clocks and measures at every record (evaluation point).

    A clock is a measure of training progress, such as the number of examples `k` or of epochs. The first
    clock is the x-axis. A measure has one value per replica. After a replica diverges, its values are NaN,
    and the other replicas continue.

    Arrays are allocated for `capacity` records; `length` is the number of valid entries. The writer fills
    entries first and raises `length` last, so that a reader never sees a half-written record.
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
        """Create an empty curve.

        Args:
            learner: name of the learner; by default, the name of the curve.
            rate: rate of the curve if the learner tries several rates; otherwise None.
            indices: coordinates along the dimensions of array-valued measures, by measure and by index name.
        """
        self.name = name
        self.learner = learner or name
        self.rate = rate
        self.best = rate is None
        self.grid: dict[float, float] = {}
        self.verdict = verdict
        self.backends = [backend]
        """Names of the backends that computed the curve, in the order of use."""

        self.is_restored = False
        """Whether the curve was read from a cache."""

        self.uncached_weight_bytes = 0
        """Size in bytes of the weights that the cache leaves out for this curve; 0 if it stores them."""

        self.replicas = replicas
        self.divergences = np.full(replicas, np.nan)
        """x position at which each replica ended early [R]; NaN for replicas that did not end early."""

        self.inaccurate = np.zeros(replicas, bool)
        """Whether each replica [R] ended early because its numbers became inaccurate.

        Replicas that ended early for another reason have diverged.
        """

        self.ended = False
        self.oracle_tuned = False
        """Whether the curve is to become a copy of the curve with the learner's best rate.

        It has no records until the curves of all rates are complete, because only then the best rate is
        known.
        """
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
        return " then ".join(self.backends)

    @property
    def complete(self) -> bool:
        return self.length == self.capacity

    @property
    def diverged_at(self) -> float | None:
        return float(np.nanmin(self.divergences)) if self.diverged else None

    @property
    def diverged(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.divergences)))

    @property
    def fate(self) -> str:
        """Phrase that says how replicas ended early, such as "diverged". A count may precede it."""
        return fate(self.diverged, int(self.inaccurate.sum()))

    @property
    def sound(self) -> int:
        """Number of records before the first divergence of a replica. Means at these cover all replicas."""
        at = self.diverged_at
        return self.length if at is None else int(np.searchsorted(self.x, at))

    @property
    def x(self) -> Floats:
        return next(iter(self._clocks.values()), NOTHING)[: self.length]

    @property
    def clocks(self) -> dict[str, Floats]:
        """Values of each clock at every record [S], by clock name.

        If replicas differ, each value is the least over the replicas that have not diverged.
        """
        return {clock: self._earliest_time(times[: self.length]) for clock, times in self._clocks.items()}

    @property
    def own_clocks(self) -> dict[str, Floats]:
        """Values [S, R] of the clocks that differ between replicas, at S records, by clock name."""
        return {clock: times[: self.length] for clock, times in self._clocks.items() if times.ndim > 1}

    def _earliest_time(self, times: Floats) -> Floats:
        if times.ndim == 1:
            return times
        gone = self.x[:, None] >= np.where(np.isnan(self.divergences), np.inf, self.divergences)
        return np.asarray(np.where(gone, np.inf, times).min(1))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the recorded measures that are numbers, not arrays."""
        return tuple(self._series)

    def mean(self, measure: str) -> Floats | None:
        """Return the mean [S] of a measure over replicas, NaN where it was not measured.

        The result is None if the measure was never recorded.
        """
        series = self._series.get(measure)
        return None if series is None else series.mean[: self.length]

    def stderr_of(self, measure: str) -> Floats | None:
        series = self._series.get(measure)
        return None if series is None or series.stderr is None else series.stderr[: self.length]

    def values(self, measure: str) -> Floats | None:
        """Return the values [S, R] of a measure, or None if the measure was never recorded.

        If the values of all replicas would need too much memory, only those of the first replica are stored,
        and the shape is [S, 1].
        """
        series = self._series.get(measure)
        return None if series is None else series.values[: self.length]

    def why_first_only(self, measure: str) -> str:
        """Return why a measure was stored for the first replica only, or "" if it was stored for all."""
        values = self.values(measure)
        if values is None or values.shape[1] == self.replicas:
            return ""
        reason = f"{measure} was stored for the first of {self.replicas} replicas only"
        if self.is_restored and replicas_kept(self.length, self.replicas) > 1:
            return f"{reason}: the cached run did not need the other replicas; compute the run again"
        return f"{reason}: the run has too many evaluation points to store all replicas; take fewer points"

    @property
    def weights_x(self) -> Floats:
        return self._weights_x[: self.weights_length]

    @property
    def weights(self) -> NDArray[np.floating[Any]] | None:
        """Weight vectors [S, d] of the first replica and target at the positions `weights_x`.

        None if no weights are stored.
        """
        return None if self._weights is None else self._weights[: self.weights_length]

    def array(self, measure: str) -> Arrays | None:
        return self._arrays.get(measure)

    @property
    def all_indices(self) -> Mapping[str, Mapping[str, Floats]]:
        return self._indices

    def indices(self, measure: str) -> Mapping[str, Floats]:
        return self._indices.get(measure, {})

    def append(
        self,
        clocks: Mapping[str, Floats],
        measures: Mapping[str, Floats],
        weights: Mapping[int, NDArray[np.floating[Any]]] = MappingProxyType({}),
        arrays: Mapping[str, Mapping[int, Floats]] = MappingProxyType({}),
    ) -> None:
        """Append S records (evaluations), and make them visible to the threads that read the curve.

        Every call must have the same names of clocks and measures as the first call.

        Args:
            clocks: values [S], or [S, R] if replicas differ, by clock name.
            measures: values [S, R], by measure name.
            weights: weights [d] of the first replica, by record. The first record of this call is 0.
            arrays: arrays [R or 1, *index] of measures with indices, by measure name and record. Arrays that
                are all NaN are not stored.
        """
        start, x = self.length, next(iter(clocks.values()))
        if not start:  # new dicts, because another thread may be iterating over the old ones
            self._clocks = {
                clock: np.empty((self.capacity, *times.shape[1:])) for clock, times in clocks.items()
            }
            self._series = {measure: MeasureSeries(self.capacity, self.replicas) for measure in measures}
        for name, times in clocks.items():
            self._clocks[name][start : start + len(x)] = times
        for name, numbers in measures.items():
            self._series[name].fill(start, numbers)
        for record, vector in weights.items():
            self._add_weights(x[record], vector)
        for name, by_record in arrays.items():
            records = [record for record, numbers in by_record.items() if not np.isnan(numbers).all()]
            if records:
                new = Arrays(x[records], np.stack([by_record[record] for record in records]))
                old = self._arrays.get(name)
                # A new dict, not an update in place: another thread may be iterating over the old one.
                self._arrays = {**self._arrays, name: new if old is None else old.followed_by(new)}
        # This must be last: readers take `length` first, and then read all entries below it.
        self.length = start + len(x)

    def complete_early(self) -> None:
        self.capacity = self.length

    def copy(self, winner: Curve, grid: Mapping[float, float]) -> None:
        """Turn this curve into a copy of `winner`, the curve with the learner's best rate.

        Args:
            grid: for every rate, the mean of the measure by which rates are compared.
        """
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
        """Return a shallow copy of the curve that does not grow.

        The copy and the curve share their arrays. Records are added only beyond the `length` of the copy.
        """
        snapshot = copy.copy(self)  # one step, so that the writer cannot interfere
        snapshot.divergences, snapshot.inaccurate = self.divergences.copy(), self.inaccurate.copy()
        return snapshot

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the content of the curve as arrays, from which `restore` can recreate it."""
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
        """Replace the content by arrays that `as_arrays` returned. Raises: KeyError.

        Args:
            arrays: arrays of a curve with the same number of replicas.
            ended: whether the training run has ended; False if the curve may still grow.
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
                # Capacity 0: no buffers are needed, because the restored arrays replace them.
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
        """Return the mean of a measure over records and replicas, by which learning rates are compared.

        The result is infinite if a replica diverged, or if the measure has no values.
        """
        mean = self.mean(measure)
        # If replicas diverged, the mean over the remaining replicas would make the rate look too good.
        return float("inf") if self.diverged or mean is None or not len(mean) else float(mean.mean())

    def _add_weights(self, x: float, weights: NDArray[np.floating[Any]]) -> None:
        if self._weights is None:
            slots = len(kept_records(self.capacity, len(weights), weights.itemsize))
            self._weights_x = np.empty(slots)
            self._weights = np.empty((slots, len(weights)), weights.dtype)
        self._weights_x[self.weights_length] = x
        self._weights[self.weights_length] = weights
        self.weights_length += 1


def settle(curves: Sequence[Curve], shown: Curve | None, compared_by: str) -> None:
    """Mark the best of a learner's complete curves: the curve with the least mean of a measure.

    Args:
        curves: curves of one learner, one for each rate.
        shown: curve that is to become a copy of the best curve, or None.
        compared_by: name of the measure whose means are compared.
    """
    means = {curve: curve.mean_along(compared_by) for curve in curves}
    best = min(curves, key=means.__getitem__)
    best.best = True
    if shown is not None:
        shown.copy(best, {curve.rate or 0.0: mean for curve, mean in means.items()})


class Along(NamedTuple):
    """Values of a theory line, with the positions (clock values and indices) at which they are known."""

    clocks: dict[str, Floats]
    """Values of each clock [S]; the first clock is the x-axis."""

    indices: dict[str, Floats]
    """Coordinates along the dimensions `*index` of `values`, in their order, by index name."""

    values: Floats
    """Values [R, S, *index], or [1, S, *index] for a line that is the same for all replicas."""


class Statement(NamedTuple):
    """What a theory line (a curve that theory predicts) states about a measure.

    The statement is the same for all learners and replicas.
    """

    kind: str
    direction: str
    """Relation of the line to the measure, such as "lower" for a lower bound."""

    in_expectation: bool
    """Whether the line is about an expectation, from which single runs may deviate."""

    formula: str
    source: str
    measure: str
    """Name of the measure that the line is about."""

    group: Group | None = None
    """Symmetry group under which a learner must be invariant for the line to apply to it.

    It is None for a line with other conditions.
    """

    name: str = ""
    """Name that distinguishes the line from other lines of its kind; empty if it is the only one."""

    title: str = ""
    """Name in charts and captions; if empty, the kind is shown."""

    limit: str = ""
    """Description of the limit in which an asymptotic line holds."""

    summary: str | None = "mean"
    """Summary over replicas that the line is about; None for a line about every summary."""

    running: str | None = None
    """Statistic of all records so far that the line is about, such as "mean".

    It is None if the line is about the value at each record.
    """

    @property
    def called(self) -> str:
        return self.title or self.kind


@dataclass(frozen=True, eq=False)
class TheoryLine:
    """Theory line (curve that theory predicts) of a run, and the learners that it applies to.

    If all learners share the line, `values` [S, *index] holds the mean of the line over replicas. Otherwise,
    `of_curves` holds a separate line for every curve that the theorem applies to, by curve name. `on_problem`
    and `on_learners` say whether the theorem applies to the problem and to each learner, and why.
    """

    statement: Statement
    on_problem: Finding
    on_learners: dict[str, Finding]
    x: Floats
    values: Floats
    per_learner: bool = False
    of_curves: dict[str, Along] = field(default_factory=dict)
    along_runs: Callable[[Curve], Along | None] | None = None
    """Function that computes the line from the values of a curve measured so far.

    It is None if the line does not depend on measured values.
    """

    by_replica: Floats | None = None
    """Values of the line for every replica [R, S, *index]; None if all replicas share the line."""

    indices: dict[str, Floats] = field(default_factory=dict)
    """Coordinates of each index of the measure, by index name, if all learners share the line."""

    beyond: Along | None = None
    """Values of the line beyond the last record of the training, if they are known."""

    @property
    def kind(self) -> str:
        return self.statement.kind

    @property
    def applies_to(self) -> list[str]:
        """Names of the learners of this run that the theorem applies to."""
        if not self.on_problem.holds:
            return []
        return [learner_name for learner_name, finding in self.on_learners.items() if finding.holds]

    def by_curve(self, curves: Iterable[Curve]) -> dict[str, Along]:
        """Return the values of the theory line for each curve, or an empty dict if all curves share the line.

        A line that is computed from measured values has values only for the records so far.
        """
        if self.along_runs is None:
            return self.of_curves
        by_curve = {curve.name: self.along_runs(curve) for curve in curves if curve.length}
        return {curve: along for curve, along in by_curve.items() if along is not None}


@dataclass(frozen=True, eq=False)
class Trace:
    """Results of a run: the curves of its learners, and its theory lines.

    `planned` holds the values of each clock [S] at the evaluation points that the protocol plans, by clock
    name. The first clock is the x-axis. A curve may have fewer evaluation points than planned.
    """

    curves: list[Curve]
    lines: list[TheoryLine]
    planned: dict[str, Floats]
    x_label: str
    environment: dict[str, Any]
    compared_by: str
    """Name of the measure by which the rates of a learner are compared."""
    side_curves: list[Curve] = field(default_factory=list)
    """Curves of additional training runs that only theory lines use."""
    examples: tuple[Floats, Floats] | None = None
    """Inputs and labels of the first replica's training examples, if a picture shows them."""
    measures: tuple[Measure, ...] = ()
    """Measures that are recorded for at least one learner."""

    @property
    def ended(self) -> bool:
        """Whether all training runs have ended."""
        return all(curve.ended for curve in (*self.curves, *self.side_curves))

    @property
    def frontier(self) -> int:
        """Index of the last record that all unfinished curves have, or −1 if one of them has no record yet.

        If all curves have ended, the index is that of the last record of the longest curve. Curves that will
        show the best rate do not count, because they get their records only when the curves of all rates are
        complete.
        """
        growing = [curve for curve in self.curves if not curve.ended and not curve.oracle_tuned]
        reached = [curve.length - 1 for curve in growing or self.curves]
        return min(reached) if growing else max(reached)

    @property
    def reached(self) -> int:
        """Index of the last record to show, or −1 if no curve has a record.

        The index is the `frontier` of the curves that have at least one record. So the slow start of one
        learner does not hide the curves of other learners.
        """
        begun = [curve for curve in self.curves if curve.length]
        return replace(self, curves=begun).frontier if begun else -1

    @property
    def share(self) -> float:
        """Finished share of the planned records. Records after an early end count as finished."""
        finished = sum(curve.capacity if curve.ended else curve.length for curve in self.curves)
        return finished / max(sum(curve.capacity for curve in self.curves), 1)

    def snapshot(self) -> Trace:
        """Return a copy of the trace that does not grow. It shares its arrays with this trace."""
        return replace(self, curves=[curve.snapshot() for curve in self.curves])

    @property
    def x(self) -> Floats:
        """Positions of the planned records on the x-axis."""
        return next(iter(self.planned.values()))

    @property
    def last(self) -> float:
        """Last planned position on the x-axis."""
        return float(self.x[-1])

    def at(self, record: int) -> str:
        """Return the x position of a record as text, such as "k = 64"."""
        return f"{next(iter(self.planned))} = {self.x[record]:g}"

    def clocks_at(self, x: float, curve: Curve | None = None) -> dict[str, float]:
        """Return the value of each clock at the first planned record at or after x.

        If `curve` is given, the result includes the clocks that are measured along this curve. These clocks
        are interpolated linearly at x, and extrapolated beyond the last record. With fewer than two records,
        extrapolated values are NaN.
        """
        record = min(int(np.searchsorted(self.x, x)), len(self.x) - 1)
        planned = {clock: float(times[record]) for clock, times in self.planned.items()}
        if curve is None:
            return planned
        return {clock: _interpolated(x, curve.x, times) for clock, times in curve.clocks.items()} | planned

    @property
    def theorems(self) -> list[TheoryLine]:
        """The first theory line of each kind, to represent its theorem.

        One theorem may have several lines, such as the two edges of a band.
        """
        return list({line.kind: line for line in reversed(self.lines)}.values())[::-1]

    def lines_of(self, measure: str) -> list[TheoryLine]:
        """Return all theory lines about a measure, including lines that do not apply to the problem."""
        return [line for line in self.lines if line.statement.measure == measure]

    def is_bound(self, curve: Curve) -> bool:
        """Return whether a proved lower bound applies to the learner of a curve."""
        return any(
            line.on_problem.holds and line.statement.direction == "lower" and curve.learner in line.applies_to
            for line in self.lines
        )

    def curve(self, name: str) -> Curve:
        """Return the curve called `name`, or the best curve so far of the learner called `name`.

        Raises: KeyError.
        """
        for curve in self.curves:
            if curve.name == name:
                return curve
        candidates = [curve for curve in self.curves if curve.learner == name]
        if not candidates:
            raise KeyError(name)
        return min(candidates, key=lambda curve: curve.mean_along(self.compared_by))


def _interpolated(x: float, places: Floats, heights: Floats) -> float:
    """Interpolate `heights` at `places` linearly at x, and extrapolate them beyond the last point.

    With fewer than two points, extrapolated values are NaN.
    """
    if len(places) and x <= places[-1]:
        return float(np.interp(x, places, heights))
    if len(places) < 2:
        return float("nan")
    slope = (heights[-1] - heights[-2]) / (places[-1] - places[-2])
    return float(heights[-1] + slope * (x - places[-1]))
