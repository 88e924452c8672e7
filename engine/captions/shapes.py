"""Which curves are like powers or logarithms, where others go, and which are 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.captions.clause import Clause, Named
from engine.captions.ranges import Range, known, values_of
from engine.captions.wording import at_most, first_of, grouped, listed, plural, together
from engine.pictures.view import QUIET, CurveView, along_records, negligible
from engine.pictures.view_names import x_name

Floats = NDArray[np.float64]

NEAR = 0.1
"""A ratio that differs from 1 by less is near it."""

FITS = 0.99
"""The share of the variance of log y that a law has to explain to be named."""

BENT = 0.25
"""By so much of itself an exponent may differ from those in each third of the logarithms of x; and so much of
the mean of y the constant may be beside a logarithm."""

POINTS, SPAN = 4, 4.0
"""A law takes at least so many places, the last at least so many times the first."""

FEW = 2
"""So many curves have their ranges named in brief; of more the lowest and the highest end."""


class Law(NamedTuple):
    """What a curve is like along x."""

    is_log: bool
    """The logarithm of x, or else a power of it."""

    exponent: float
    left: float
    """The share of the variance of log y that it leaves."""

    @property
    def kind(self) -> str | float:
        """The same of those that are named together."""
        return "log" if self.is_log else round(self.exponent, 1)


class Shapes:
    """The clauses on where the curves of a view go."""

    def __init__(self, names: Named) -> None:
        self._names = names

        zero = self._rounding
        self._quiet = [one for one in names.learners if np.abs(values_of(one)).max() <= max(zero, QUIET)]
        self._ending = self._near_divisor()
        others = [one for one in names.learners if one not in [*self._quiet, *self._ending]]
        is_log = names.view.axes.x_log and names.view.axes.y_log
        self._laws = [(one, law) for one in others if is_log and (law := _law(one)) is not None]
        like_a_law = [one for one, _ in self._laws]
        self._others = [one for one in others if one not in like_a_law]

    def laws(self) -> Iterator[Clause]:
        """What curves are like, and which end near what they are relative to."""
        names, ending = self._names, self._ending
        if self._laws:
            yield Clause(self._law_text(self._laws, names.name), self._law_text(self._laws, names.brief))
        if ending:
            far = max(abs(float(values_of(curve)[-1]) - 1) for curve in ending)
            near = "at" if far <= names.view.quantity.rounding else f"within {at_most(100 * far)} of"
            yield self._of_all(ending, f"ends {near} {names.view.quantity.divisor}")

    def ranges(self) -> Iterator[Clause]:
        """From where to where the others go, and which are 0."""
        if self._others:
            yield self._ranges(self._others)
        if self._quiet:
            yield self._of_all(self._quiet, "is 0 but for rounding")

    def _of_all(self, curves: Sequence[CurveView], predicate: str) -> Clause:
        """What is so of several curves."""
        names, said = self._names, plural(predicate, curves)
        long, brief, letters = (
            f"{listed([name(curve) for curve in curves])} {said}"
            for name in (names.name, names.brief, names.letter)
        )
        return Clause(long, brief, briefer=(letters, f"{len(curves)} {said}"))

    def _near_divisor(self) -> list[CurveView]:
        """The curves that end near what the picture is relative to."""
        view = self._names.view
        if not view.quantity.divisor or not along_records(view):
            return []
        return [curve for curve in self._names.learners if abs(values_of(curve)[-1] - 1) <= NEAR]

    @property
    def _rounding(self) -> float:
        """What is 0 but for rounding: of the greatest value what arithmetic may move; its square where only a
        logarithmic axis shows values that are so small, unless they say how far two runs are apart; no less
        than what counts as 0 of the view."""
        view = self._names.view
        picture = view.picture
        squares = view.axes.y_log and picture.measure.needs().under is None
        share = view.quantity.rounding ** (2 if squares else 1)
        greatest = max((float(np.abs(values_of(one)).max()) for one in self._names.learners), default=0.0)
        return max(share * greatest, negligible(view))

    def _law_text(self, laws: Sequence[tuple[CurveView, Law]], name: Callable[[CurveView], str]) -> str:
        """What curves are like, those together that are like the same: powers to the first decimal."""
        x, said = x_name(self._names.view), list[str]()
        base = x if x.isidentifier() else f"({x})"
        for _, some in grouped((one.kind, (curve, one)) for curve, one in laws).items():
            those, exponent = [name(curve) for curve, _ in some], some[0][1].exponent
            power = f"{base}^{exponent:.{2 if len(some) == 1 else 1}f}"
            law = f"log {base}" if some[0][1].is_log else power
            said.append(f"{listed(those)} {'' if said else plural('goes', those) + ' '}like {law}")
        return listed(said)

    def _ranges(self, curves: Sequence[CurveView]) -> Clause:
        """From where to where curves go: of many those that change most, and between what others end."""
        names, view = self._names, self._names.view
        named = bool(view.axes.names)
        ranges = [Range(curve, names.place, self._rounding, view.axes.y_log, named) for curve in curves]
        every = {curve.name: one for curve, one in zip(curves, ranges, strict=True)}
        spans = {(one.x[0], one.x[-1]) for one in every.values()}
        brief, by_letter = (
            self._in_brief([(name(curve), every[curve.name]) for curve in curves])
            for name in (names.brief, names.letter)
        )
        first = f"{names.letter(curves[0])} {every[curves[0].name].going}"
        briefer = (by_letter, first) if len(curves) > 1 else (first,)
        if len(curves) == 1 or len(spans) > 1 or view.axes.names:
            alike = grouped((every[one.name].in_words(x_name(view), True), one) for one in curves)
            along = ""
        else:
            alike = grouped((every[one.name].in_words("", True), one) for one in curves)
            begin, end = next(iter(spans))
            to = "" if begin == end else f" to {names.place(float(end))}"
            along = f"{'along' if to else 'at'} {names.at(float(begin))}{to}: "
        most = sorted(alike, key=lambda said: -every[alike[said][0].name].change)
        shown, left = first_of(most)
        groups = [(said, some) for said, some in alike.items() if said in shown]
        rest = [one for said, some in alike.items() if said not in shown for one in some]
        text = along + together(groups, names.name)
        if left and any(every[one.name].lies for one in rest):
            text += f", and {len(rest)} more {_lie([every[one.name] for one in rest])}"
        elif left:
            ends = sorted((float(every[one.name].y[-1]), one.name) for one in rest)
            least, greatest = (every[name].last for _, name in (ends[0], ends[-1]))
            where = f"at {least}" if least == greatest else f"between {least} and {greatest}"
            verb = "end" if any(len(one.x) > 1 for one in ranges) else "are"
            text += f", and {len(rest)} more {verb} {where}"
        return Clause(text, brief, named=not along, briefer=briefer)

    def _in_brief(self, ranges: Sequence[tuple[str, Range]]) -> str:
        """The ends of a few curves; of more the lowest and the highest of those that go as far as any."""
        if len(ranges) == 1:
            return f"{ranges[0][0]} {ranges[0][1].in_words(with_turns=True)}"
        if len(ranges) <= FEW:
            alike = grouped((one.going, name) for name, one in ranges)
            return together(list(alike.items()), str)
        if any(one.lies for _, one in ranges):
            return f"{listed([name for name, _ in ranges])} {_lie([one for _, one in ranges])}"
        every, at, farthest = ranges, "", max(float(one.x[-1]) for _, one in ranges)
        if not along_records(self._names.view):
            ranges = [(name, one) for name, one in ranges if one.x[-1] == farthest]
            at = f" at {self._names.at(farthest)}"
        if len(ranges) == 1:
            return f"{listed([name for name, _ in every])} {_lie([one for _, one in every])}"
        ends = "ends" if any(len(one.x) > 1 for _, one in ranges) else "is"
        by_end = sorted(ranges, key=lambda one: float(one[1].y[-1]))
        (low, least), (high, most) = by_end[0], by_end[-1]
        if least.about == most.about:
            those = [name for name, _ in ranges]
            height = least.last if least.last == most.last else f"about {least.about}"
            return f"{listed(those)} {plural(ends, those)} at {height}{at}"
        return f"{low} {ends} lowest, with {least.last}{at}, {high} highest, with {most.last}"


def _lie(ranges: Sequence[Range]) -> str:
    """Between which values functions lie, all of them."""
    return f"lie between {min(one.least for one in ranges)[1]} and {max(one.greatest for one in ranges)[1]}"


def _law(curve: CurveView) -> Law | None:
    """The power of x or the logarithm that a curve is all along, whichever it is nearer to."""
    there = known(curve) & (curve.y > 0) & (curve.x > 0)
    x, y = np.log(curve.x[there]), np.log(curve.y[there])
    if len(x) < POINTS or np.ptp(x) < np.log(SPAN) or np.ptp(y) == 0:
        return None
    found = [law for law in (_power(x, y), _logarithm(x, y)) if law is not None]
    return min((law for law in found if law.left <= 1 - FITS), key=lambda law: law.left, default=None)


def _power(x: Floats, y: Floats) -> Law | None:
    """log y = a log x + b by least squares; None where it bends."""
    slope, height = np.polyfit(x, y, 1)
    thirds = np.minimum((3 * (x - x.min()) / np.ptp(x)).astype(int), 2)
    parts = [(x[thirds == part], y[thirds == part]) for part in range(3)]
    slopes = [np.polyfit(*part, 1)[0] for part in parts if len(part[0]) > 1 and np.ptp(part[0]) > 0]
    if any(abs(one - slope) > BENT * abs(slope) for one in slopes):
        return None
    return Law(False, float(slope), float(np.var(y - slope * x - height) / np.var(y)))


def _logarithm(x: Floats, y: Floats) -> Law | None:
    """y = a log x + b by least squares; None where it falls, or b is no small part of y."""
    slope, height = np.polyfit(x, np.exp(y), 1)
    fitted = slope * x + height
    if slope <= 0 or fitted.min() <= 0 or abs(height) > BENT * float(np.exp(y).mean()):
        return None
    return Law(True, 0.0, float(np.var(y - np.log(fitted)) / np.var(y)))
