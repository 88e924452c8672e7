"""Which curves are power laws, where others go, which end near what they are relative to, and which are 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from engine.pictures.view import CurveView
from engine.results.clause import Clause, Named
from engine.results.ranges import Range, known, values_of
from engine.results.wording import first_of, grouped, listed, percent, plural

T = TypeVar("T")

QUIET = 1e-11
"""A curve that stays below this is 0 but for rounding."""

NEAR = 0.1
"""A ratio that differs from 1 by less is near it."""

FITS = 0.99
"""The share of the variance of log y that a power law has to explain to be told."""

BENT = 0.25
"""By so much of itself the exponent may differ from those in each third of the logarithms of x."""

POINTS, SPAN = 4, 4.0
"""A power law takes at least so many places, the last at least so many times the first."""

FEW = 2
"""So many curves have their ranges told in brief; of more the lowest and the highest end."""


class Shapes:
    """The clauses on where the curves of a view go."""

    def __init__(self, names: Named) -> None:
        self._names = names

    def __iter__(self) -> Iterator[Clause]:
        zero, names = self._rounding, self._names
        quiet = [curve for curve in names.learners if np.abs(values_of(curve)).max() <= max(zero, QUIET)]
        ending = self._ending()
        laws, others = list[tuple[CurveView, float]](), list[CurveView]()
        for curve in (one for one in names.learners if one not in [*quiet, *ending]):
            exponent = _power_law(curve) if names.view.x_log and names.view.y_log else None
            if exponent is None:
                others.append(curve)
            else:
                laws.append((curve, exponent))
        if laws:
            yield Clause(self._laws(laws, names.name), self._laws(laws, names.brief))
        if others:
            yield self._ranges(others)
        if ending:
            far = max(abs(float(values_of(curve)[-1]) - 1) for curve in ending)
            near = "at" if far <= names.view.rounding else f"within {percent(100 * far)} of"
            yield self._of_all(ending, f"ends {near} {names.view.divisor}")
        if quiet:
            yield self._of_all(quiet, "is 0 but for rounding")

    def _of_all(self, curves: Sequence[CurveView], predicate: str) -> Clause:
        """What is so of several curves."""
        long, brief = ([name(curve) for curve in curves] for name in (self._names.name, self._names.brief))
        said = plural(predicate, curves)
        return Clause(f"{listed(long)} {said}", f"{listed(brief)} {said}")

    def _ending(self) -> list[CurveView]:
        """The curves that end near what the picture is relative to."""
        view = self._names.view
        if not view.divisor or not view.along_records:
            return []
        return [curve for curve in self._names.learners if abs(values_of(curve)[-1] - 1) <= NEAR]

    @property
    def _rounding(self) -> float:
        """What is 0 but for rounding: of the greatest value what arithmetic may move; its square where only a
        logarithmic axis shows values that are so small, unless they say how far two runs are apart."""
        view = self._names.view
        squares = view.y_log and view.picture.measure.under is None
        share = view.rounding ** (2 if squares else 1)
        return share * max((float(np.abs(values_of(one)).max()) for one in self._names.learners), default=0.0)

    def _laws(self, laws: Sequence[tuple[CurveView, float]], name: Callable[[CurveView], str]) -> str:
        """Power laws, those together whose exponents have the same first decimal."""
        x = self._names.view.x_name
        base = f"({x})" if " " in x else x
        said = list[str]()
        for tenth, some in grouped((round(law[1], 1), law) for law in laws).items():
            those = [name(curve) for curve, _ in some]
            power = f"{some[0][1]:.2f}" if len(some) == 1 else f"{tenth:.1f}"
            said.append(f"{listed(those)} {'' if said else plural('goes', those) + ' '}like {base}^{power}")
        return listed(said)

    def _ranges(self, curves: Sequence[CurveView]) -> Clause:
        """From where to where curves go: of many those that change most, and between what others end."""
        names, view = self._names, self._names.view
        named = bool(view.names)
        ranges = [Range(curve, names.place, self._rounding, view.y_log, named) for curve in curves]
        every = {curve.name: one for curve, one in zip(curves, ranges, strict=True)}
        spans = {(one.x[0], one.x[-1]) for one in every.values()}
        brief, by_letter = (
            self._in_brief([(name(curve), every[curve.name]) for curve in curves])
            for name in (names.brief, names.letter)
        )
        first = f"{names.letter(curves[0])} {every[curves[0].name].going}"
        briefer = (by_letter, first) if len(curves) > 1 else (first,)
        if len(curves) == 1 or len(spans) > 1 or view.names:
            alike = grouped((every[one.name].told(view.x_name, True), one) for one in curves)
            along = ""
        else:
            alike = grouped((every[one.name].told("", True), one) for one in curves)
            begin, end = next(iter(spans))
            along = f"along {names.at(float(begin))} to {names.place(float(end))}: "
        most = sorted(alike, key=lambda said: -every[alike[said][0].name].change)
        told, left = first_of(most)
        groups = [(said, some) for said, some in alike.items() if said in told]
        rest = [one for said, some in alike.items() if said not in told for one in some]
        text = along + _together(groups, names.name)
        if left:
            ends = sorted((float(every[one.name].y[-1]), one.name) for one in rest)
            least, greatest = (every[name].last for _, name in (ends[0], ends[-1]))
            where = f"at {least}" if least == greatest else f"between {least} and {greatest}"
            text += f", and {len(rest)} more end {where}"
        return Clause(text, brief, named=not along, briefer=briefer)

    def _in_brief(self, ranges: Sequence[tuple[str, Range]]) -> str:
        """The ends of a few curves; of more the lowest and the highest of those that go as far as any."""
        if len(ranges) <= FEW:
            alike = grouped((one.going, name) for name, one in ranges)
            return _together(list(alike.items()), str)
        at, farthest = "", max(float(one.x[-1]) for _, one in ranges)
        if not self._names.view.along_records:
            ranges = [(name, one) for name, one in ranges if one.x[-1] == farthest]
            at = f" at {self._names.at(farthest)}"
        if len(ranges) == 1:
            return f"{ranges[0][0]} {ranges[0][1].going}"
        by_end = sorted(ranges, key=lambda one: float(one[1].y[-1]))
        (low, least), (high, most) = by_end[0], by_end[-1]
        if least.last == most.last:
            those = [name for name, _ in ranges]
            return f"{listed(those)} {plural('ends', those)} at {least.last}{at}"
        return f"{low} ends lowest, with {least.last}{at}, {high} highest, with {most.last}"


def _together(groups: Sequence[tuple[str, Sequence[T]]], name: Callable[[T], str]) -> str:
    """Subjects with their predicates; a verb that is the same as before is not told again."""
    said, before = list[str](), ""
    for predicate, some in groups:
        those = [name(one) for one in some]
        verb, _, tail = plural(predicate, those).partition(" ")
        said.append(f"{listed(those)} {tail if verb == before else f'{verb} {tail}'}")
        before = verb
    return ", ".join(said)


def _power_law(curve: CurveView) -> float | None:
    """The exponent of y ∝ x^a by least squares in logarithms, where that is what a curve is all along."""
    there = known(curve) & (curve.y > 0) & (curve.x > 0)
    x, y = np.log(curve.x[there]), np.log(curve.y[there])
    if len(x) < POINTS or np.ptp(x) < np.log(SPAN) or np.ptp(y) == 0:
        return None
    slope, height = np.polyfit(x, y, 1)
    if float(np.var(y - slope * x - height)) > (1 - FITS) * float(np.var(y)):
        return None
    thirds = np.minimum((3 * (x - x.min()) / np.ptp(x)).astype(int), 2)
    parts = [(x[thirds == part], y[thirds == part]) for part in range(3)]
    slopes = [np.polyfit(*part, 1)[0] for part in parts if len(part[0]) > 1 and np.ptp(part[0]) > 0]
    return float(slope) if all(abs(one - slope) <= BENT * abs(slope) for one in slopes) else None
