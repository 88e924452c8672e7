"""Pairs: the same learners at the two values of the axis that splits the curves, compared at their ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.captions.clause import Clause, Named
from engine.captions.ranges import ERRORS, known
from engine.captions.wording import first_of, grouped, listed, plural, together
from engine.core.notation import number
from engine.pictures import reductions
from engine.pictures.view import CurveView


class Pair(NamedTuple):
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


def pairs(names: Named) -> list[Pair]:
    """The pairs of a view along runs, one for every learner; none unless every curve is in one and has ended,
    and there are several."""
    view = names.view
    by_value = grouped((curve.apart, curve) for curve in names.learners)
    if not view.along_records or len(view.picture.split_by) != 1 or len(by_value) != 2:
        return []
    firsts, seconds = ({curve.learner: curve for curve in by_value[value]} for value in sorted(by_value))
    if firsts.keys() != seconds.keys() or len(firsts) < 2 or len(names.learners) != 2 * len(firsts):
        return []
    whole = all(curve.ended and known(curve)[-1] for curve in names.learners)
    alike = all(np.array_equal(firsts[one].x, seconds[one].x) for one in firsts)
    return [Pair(firsts[one], seconds[one]) for one in firsts] if whole and alike else []


def compared(names: Named, found: Sequence[Pair]) -> Iterator[Clause]:
    """The clause on how pairs end, those that differ most first."""
    view, (one, *_) = names.view, found
    first, second = (view.in_words(curve).removeprefix(f"{curve.learner}, ") for curve in one)
    by_change = sorted(found, key=lambda pair: -abs(pair.change))
    alike = list(grouped((pair.stands(names.rounding), pair.second.learner) for pair in by_change).items())
    shown, left = first_of(alike)
    count = sum(len(those) for _, those in alike[len(shown) :])
    what, named = f"{second} against {first}: ", "=" in second
    text = what + together(shown, str) + (f", and {count} more differ less" if left else "")
    how, those = shown[0]
    least = f"{what[0].upper() if not named else what[0]}{what[1:]}{listed(those, 1)} {plural(how, those)}"
    yield Clause(text, what + together(shown[:1], str), named=named, brief_named=named, briefer=(least,))
