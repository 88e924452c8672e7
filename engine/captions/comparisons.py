"""How curves lie beside marks, reference learners, one another, and their partners in pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.captions.clause import Clause, Named
from engine.captions.ranges import ERRORS, known
from engine.captions.wording import at_most, first_of, grouped, listed, plural, together
from engine.core.notation import number
from engine.pictures import reductions
from engine.pictures.view import ZERO, Apart, CurveView, Floats, along_records, increases, negligible
from engine.pictures.view_names import curve_name

CLOSE, CLOSE_AT_END = 10.0, 5.0
"""Percent: what differs by no more than this share of a line all along is close to it, or at one end."""

_WORDS = re.compile(r"^[a-z]{3}|[,:]")
"""What a line that is called by words, and by no formula, begins with or has: sentences have it in quotes."""

NEAR = 0.01
"""Functions that differ by less than this share of their range are near each other."""


class ReferenceLine(NamedTuple):
    """What a picture compares curves with."""

    name: str
    x: Floats
    """Increasing; empty for a level."""

    y: Floats
    apart: Apart | None
    """The values of the axes of the curves that it is for; None for all."""


class FinalComparison(NamedTuple):
    """How a curve lies beside a line, as a verb and what follows, and how far off it is where it is close."""

    verb: str
    how: str
    line: str
    percent: float | None = None


def comparisons(names: Named) -> Iterator[Clause]:
    """The clauses on marks and reference learners, a clause for each; curves that cross one far off are left
    out."""
    found = [
        (stands, curve)
        for line in _lines(names)
        for curve in names.learners
        if line.apart in (None, curve.apart)
        for stands in _stands(names, curve, line)
    ]
    for line, about in grouped((one.line, (one, curve)) for one, curve in found).items():
        what = f"“{line}”" if _WORDS.search(line) else line
        yield Clause(
            _in_words(about, what, names), _in_words(about, what, names, in_brief=True), of_theory=True
        )


def _lines(names: Named) -> Iterator[ReferenceLine]:
    """The marks at y, then the curves of reference learners."""
    for mark in names.view.axes.marks:
        if mark.y:
            order = np.argsort(mark.x)
            x, y = np.array(mark.x)[order], np.array(mark.y)
            yield ReferenceLine(mark.kind or mark.name, x, y[order] if len(x) else y, mark.apart)
    for curve in names.view.curves:
        there = known(curve)
        is_divisor = curve.learner == names.view.picture.relative
        if curve.training.is_reference and not is_divisor and there.any() and increases(curve):
            yield ReferenceLine(curve.learner, curve.x[there], curve.y[there], curve.apart)


def _stands(names: Named, curve: CurveView, line: ReferenceLine) -> Iterator[FinalComparison]:
    """How a curve lies beside a line where both are known: all along, or at its ends; of two that are 0 but
    for rounding nothing is said."""
    there = known(curve)
    x, y = curve.x[there], curve.y[there]
    heights = np.interp(x, line.x, line.y, left=np.nan, right=np.nan) if len(line.x) else line.y + 0 * x
    both = np.isfinite(heights)
    gap, heights = (y - heights)[both], heights[both]
    if not len(gap) or np.abs([*gap, *heights]).max() <= negligible(names.view):
        return
    rounding = names.rounding
    if len(gap) > 1 and np.abs(gap).max() <= rounding:
        yield FinalComparison("follows", "", line.name)
        return
    if np.abs(heights).min() > ZERO:
        shares = 100 * np.abs(gap / heights)
        if shares.max() <= CLOSE:
            yield _close("stays" if len(gap) > 1 else "is", float(shares.max()), line)
            return
        ends = {"begins": 0, "ends": -1} if not names.along_clock else {"ends": -1}
        close = [
            FinalComparison(verb, "at ", line.name)
            if abs(gap[at]) <= rounding
            else _close(verb, float(shares[at]), line)
            for verb, at in ends.items()
            if shares[at] <= CLOSE_AT_END
        ]
        if close:
            yield from close
            return
    side = "above " if (gap >= -rounding).all() else "below " if (gap <= rounding).all() else ""
    if side:
        yield FinalComparison("stays" if len(gap) > 1 else "is", side, line.name)


def _close(verb: str, share: float, line: ReferenceLine) -> FinalComparison:
    return FinalComparison(verb, "within ", line.name, share)


def _in_words(
    about: Sequence[tuple[FinalComparison, CurveView]], what: str, names: Named, in_brief: bool = False
) -> str:
    """Who stands how to a line, which is called `what` once and then it."""
    said = list[str]()
    for (verb, how), some in grouped(((one.verb, one.how), (one, curve)) for one, curve in about).items():
        those = [names.brief(curve) if in_brief else names.name(curve) for _, curve in some]
        far = max((one.percent for one, _ in some if one.percent is not None), default=None)
        by = "" if far is None else f"{at_most(far)} of "
        subject = listed(those, 1 if in_brief and len(those) > 2 else None)
        said.append(f"{subject} {plural(f'{verb} {how}', those)}{by}{'it' if said else what}")
    return ", ".join(said)


def coinciding(names: Named) -> Iterator[Clause]:
    """The clause on curves that coincide along runs, or on functions that nearly do; nothing where none do.

    Of those that are on a line of theory it is said that they follow it; one that stays says nothing.
    """
    if not along_records(names.view):
        yield from _near(names)
        return
    groups: list[list[CurveView]] = []
    for curve in filter(lambda one: _moves(names, one) and not _is_on_line(names, one), names.learners):
        alike = next((some for some in groups if _coincide(names, some[0], curve)), None)
        if alike is None:
            groups.append([curve])
        else:
            alike.append(curve)
    several = [[names.letter(curve) for curve in some] for some in groups if len(some) > 1]
    if several:
        first, *others = map(listed, several)
        text = f"{first} coincide" + "".join(f", {some} too" for some in others)
        yield Clause(text, text)


def _near(names: Named) -> Iterator[Clause]:
    """How near functions are to the first of those at the same values of axes, where they are near."""
    said, first = list[str](), dict[Apart, CurveView]()
    for curve in (one for one in names.learners if one.training.point is not None):
        other = first.setdefault(curve.apart, curve)
        if other is not curve and np.array_equal(other.x, curve.x) and (known(other) & known(curve)).all():
            gap = float(np.abs(curve.y - other.y).max())
            if names.rounding < gap <= NEAR * np.ptp([*other.y, *curve.y]):
                said.append(f"{names.letter(curve)} is within {number(gap, 2)} of {names.letter(other)}")
    if said:
        yield Clause(listed(said), said[0])


def _moves(names: Named, curve: CurveView) -> bool:
    values = curve.y[known(curve)]
    return bool(len(values) and np.ptp(values) > names.rounding)


def _coincide(names: Named, one: CurveView, other: CurveView) -> bool:
    """Whether two curves have the same values at the same places, all of them."""
    if not np.array_equal(one.x, other.x) or not (known(one) & known(other)).all():
        return False
    return bool((np.abs(one.y - other.y) <= names.rounding).all())


def _is_on_line(names: Named, curve: CurveView) -> bool:
    """Whether a curve is what a line of theory says all along."""
    own = [line for line in names.view.lines if len(line.x) and line.says(curve) and line.binds(curve)]
    gaps = (np.abs(curve.y - np.interp(curve.x, line.x, line.y)) for line in own)
    return any(bool((gap <= names.rounding).all()) for gap in gaps)


class CurvePair(NamedTuple):
    """A learner at the first and at the second value."""

    first: CurveView
    second: CurveView

    def stands(self, rounding: float) -> str:
        """How the second curve ends beside the first, as a predicate.

        The error is one of differences: replicas may have much in common, so that it is far less than that of
        either.
        """
        first, second = self.first, self.second
        both = known(first) & known(second)
        if bool((np.abs(second.y - first.y)[both] <= rounding).all()):
            return "is the same to rounding"
        error = reductions.standard_error(
            second.summary, second.replicas, lambda some: second.over(some)[-1:] - first.over(some)[-1:]
        )
        if error is not None and abs(self.change) <= ERRORS * float(error[0]):
            return "ends the same within standard errors"
        return f"ends at {number(float(second.y[-1]))} instead of {number(float(first.y[-1]))}"

    @property
    def change(self) -> float:
        """How far apart the two end."""
        return float(self.second.y[-1] - self.first.y[-1])


def pairs(names: Named) -> list[CurvePair]:
    """The pairs of a view along runs, one for every learner; none unless every curve is in one and has ended,
    and there are several."""
    view = names.view
    by_value = grouped((curve.apart, curve) for curve in names.learners)
    if not along_records(view) or len(view.picture.split_by) != 1 or len(by_value) != 2:
        return []
    firsts, seconds = ({curve.learner: curve for curve in by_value[value]} for value in sorted(by_value))
    if firsts.keys() != seconds.keys() or len(firsts) < 2 or len(names.learners) != 2 * len(firsts):
        return []
    whole = all(curve.ends.ended and known(curve)[-1] for curve in names.learners)
    alike = all(np.array_equal(firsts[one].x, seconds[one].x) for one in firsts)
    return [CurvePair(firsts[one], seconds[one]) for one in firsts] if whole and alike else []


def compared(names: Named, found: Sequence[CurvePair]) -> Iterator[Clause]:
    """The clause on how pairs end, those that differ most first."""
    view, (one, *_) = names.view, found
    first, second = (curve_name(view, curve).removeprefix(f"{curve.learner}, ") for curve in one)
    by_change = sorted(found, key=lambda pair: -abs(pair.change))
    alike = list(grouped((pair.stands(names.rounding), pair.second.learner) for pair in by_change).items())
    shown, left = first_of(alike)
    count = sum(len(those) for _, those in alike[len(shown) :])
    what, named = f"{second} against {first}: ", "=" in second
    text = what + together(shown, str) + (f", and {count} more differ less" if left else "")
    how, those = shown[0]
    least = f"{what[0].upper() if not named else what[0]}{what[1:]}{listed(those, 1)} {plural(how, those)}"
    yield Clause(text, what + together(shown[:1], str), named=named, brief_named=named, briefer=(least,))
