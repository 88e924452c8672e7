"""Samples: a measure of a learner, or a line of the theory, at one point of the axes, along all it has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.measures import Measure, measures_in
from engine.pictures import reductions
from engine.protocols import Until
from engine.results.trace import Along, Curve, TheoryLine, Trace

Floats = NDArray[np.float64]


class Samples(NamedTuple):
    """What there is of one curve at one point."""

    clocks: dict[str, Floats]
    """What the clocks say at every record [S], that of the x-axis first, and measures that x names."""

    indices: dict[str, Floats]
    """The coordinates of each index of the measure, in the order of the array's dimensions."""

    values: Floats
    """[R, S, *index]; NaN where nothing was measured."""

    end: dict[str, float] | None = None
    """What the clocks say where the last replica diverged and records end too early; None elsewhere."""

    own: dict[str, Floats] = {}  # noqa: RUF012 - nobody changes it
    """Of the clocks in which replicas differ what they say in each [R, S]; `clocks` has the least."""

    passed: NDArray[np.bool_] | None = None
    """At which records what a reading goes `until` has passed, [R or 1, S]; None where there is no such."""

    why_first_only: str = ""
    """Why values, or what a reading goes `until`, are known of the first replica only; empty if of all."""

    def coordinates(self, each: bool = False) -> dict[str, Floats]:
        """Clocks and indices, shaped so that they multiply values [S, *index] and [R, S, *index].

        Clocks are those of `each` replica, where these differ, or the least.
        """
        rank = 1 + len(self.indices)
        clocks = self.clocks | self.own if each else self.clocks
        shaped = {name: times.reshape(*times.shape, *[1] * (rank - 1)) for name, times in clocks.items()}
        for at, (name, places) in enumerate(self.indices.items(), start=1):
            shaped[name] = places.reshape([-1 if axis == at else 1 for axis in range(rank)])
        return shaped

    def at(self, name: str, value: float) -> Samples:
        """At the record or the place of an index that is nearest to a value; the same for other names."""
        if name in self.clocks:
            record = [int(np.abs(self.clocks[name] - value).argmin())]
            clocks = {clock: times[record] for clock, times in self.clocks.items()}
            own = {clock: times[:, record] for clock, times in self.own.items()}
            passed = None if self.passed is None else self.passed[:, record]
            return self._replace(clocks=clocks, own=own, values=self.values[:, record], passed=passed)
        if name in self.indices:
            axis = 2 + list(self.indices).index(name)
            place = int(np.abs(self.indices[name] - value).argmin())
            others = {other: places for other, places in self.indices.items() if other != name}
            return self._replace(indices=others, values=np.asarray(self.values.take(place, axis)))
        return self

    def held(self) -> Floats:
        """The values as they stay from where what ends them has passed; NaN where it never has."""
        if self.passed is None:
            return np.full_like(self.values, np.nan)
        return reductions.held(self.values, self.passed)

    def of(self, replicas: Sequence[int] | None) -> Samples:
        """Those of some of the replicas; a line, and what was measured of one replica, has no others."""
        if replicas is None or len(self.values) == 1:
            return self
        some, passed = [one for one in replicas if one < len(self.values)], self.passed
        if passed is not None and len(passed) > 1:
            passed = passed[some]
        own = {clock: times[some] for clock, times in self.own.items()}
        return self._replace(own=own, values=self.values[some], passed=passed)

    def to_the_end(self) -> Samples:
        """With a record of nothing where the last replica diverged: what came before is not the last."""
        if self.end is None:
            return self
        clocks = {name: np.append(times, self.end[name]) for name, times in self.clocks.items()}
        nothing = np.full_like(self.values, np.nan, shape=(len(self.values), 1, *self.values.shape[2:]))
        own = {name: np.pad(times, ((0, 0), (0, 1)), mode="edge") for name, times in self.own.items()}
        passed = None if self.passed is None else np.pad(self.passed, ((0, 0), (0, 1)))
        values = np.concatenate([self.values, nothing], 1)
        return Samples(clocks, self.indices, values, own=own, passed=passed)


def clocks_of(curve: Curve, names: Collection[str]) -> dict[str, Floats]:
    """The clocks of a curve and, of names of measures, their means over replicas at its records."""
    means = {name: curve.mean(measure.name) for name, measure in measures_in(names).items()}
    return curve.clocks | {name: values for name, values in means.items() if values is not None}


def of_curve(
    curve: Curve, measure: Measure, trace: Trace, names: Collection[str] = (), until: Until | None = None
) -> Samples | None:
    """What was measured of a curve, along its clocks and the measures of these names; None if nothing was."""
    passed = None if until is None else _passed(curve, until)
    ended_by = "" if until is None or until.measure is None else curve.why_first_only(until.measure)
    ended = curve.diverged == curve.replicas and curve.length < curve.capacity
    end = trace.clocks_at(float(np.max(curve.divergences)), curve) if ended else None
    if end is not None:
        end |= dict.fromkeys(measures_in(names), np.nan)
    if measure.is_number:
        values = curve.values(measure.name)
        if values is None:
            return None
        own = {name: times.T[: values.shape[1]] for name, times in curve.own_clocks.items()}
        why = curve.why_first_only(measure.name) or ended_by
        return Samples(clocks_of(curve, names), {}, values.T, end, own, passed, why)
    arrays = curve.array(measure.name)
    if arrays is None:
        return None
    records = np.searchsorted(curve.x, arrays.x)
    clocks = {name: times[records] for name, times in clocks_of(curve, names).items()}
    values = np.moveaxis(arrays.values, 1, 0)
    own = {name: times[records].T[: len(values)] for name, times in curve.own_clocks.items()}
    passed = None if passed is None else passed[:, records]
    return Samples(clocks, dict(curve.indices(measure.name)), values, end, own, passed, ended_by)


def _passed(curve: Curve, until: Until) -> NDArray[np.bool_]:
    """At which records of a curve a value was passed, in every replica [R, S] or in all at once [1, S]."""
    values = None if until.measure is None else curve.values(until.measure)
    return until.passed(curve.clocks, {} if values is None else {str(until.measure): values}).T


def of_line(
    line: TheoryLine, trace: Trace, beyond: bool = False, clocks: Collection[str] = ()
) -> dict[str, Samples]:
    """A line of the theory as if it had been measured, of a single replica if it is the same for all.

    By the name of the curve where every curve has its own, else by "". With `beyond` it goes on after the
    last record, as far as it is known. Along `clocks` that are not planned it is, as far as curves have come,
    where they were at its records: the same for all only if these agree.
    """
    own = line.of(trace.curves)
    if not own and not len(line.values):
        return {}
    whole = Along(trace.planned, line.indices, line.values[None] if line.each is None else line.each)
    if beyond and line.beyond is not None:
        further = line.beyond
        extended = {name: np.append(times, further.clocks[name]) for name, times in whole.clocks.items()}
        whole = Along(extended, line.indices, np.append(whole.values, further.values, 1))
    found = {name: Samples(*along) for name, along in (own or {"": whole}).items()}
    measured = set(clocks) - trace.planned.keys()
    return _along_measured(found, line, trace, measured) if measured else found


def _along_measured(
    found: dict[str, Samples], line: TheoryLine, trace: Trace, measured: set[str]
) -> dict[str, Samples]:
    """A line along clocks that were measured, for every curve that it binds and that has them."""
    own: dict[str, Samples] = {}
    for curve in trace.curves:
        samples = found.get(curve.name, found.get(""))
        known = clocks_of(curve, measured)
        if samples is None or curve.learner not in line.applies_to or not measured <= known.keys():
            continue
        records = min(curve.length, samples.values.shape[1])
        clocks = {name: times[:records] for name, times in (samples.clocks | known).items()}
        own[curve.name] = samples._replace(clocks=clocks, values=samples.values[:, :records])
    longest = max(own.values(), key=lambda one: one.values.shape[1], default=None)
    if "" not in found or longest is None:
        return own
    alike = all(_is_start_of(one, longest, measured) for one in own.values())
    return {"": longest} if alike else own


def _is_start_of(some: Samples, longest: Samples, measured: set[str]) -> bool:
    """Whether the clocks that were measured of some agree with those of others that go further."""
    records = some.values.shape[1]
    return all(np.array_equal(some.clocks[name], longest.clocks[name][:records]) for name in measured)
