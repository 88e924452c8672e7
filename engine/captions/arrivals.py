"""Who comes down to a tenth of the start and when, who does not, and who rises on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.captions.clause import Clause, Named
from engine.captions.ranges import ERRORS, known, values_of
from engine.captions.wording import MOST, first_of, grouped, listed, plural
from engine.core.notation import number
from engine.pictures.view import CurveView
from engine.pictures.view_names import x_name

SHARE = 0.1
"""A curve that starts at y₀ > 0 has come down once it is below SHARE·y₀."""

ALIKE = 0.5
"""Curves start alike if they do so within this share of the greatest, as 0 and ½ on labels 0 and 1 do."""

RISEN = 1.1
"""So many times the start, and the end, is above them."""

FEW = 2
"""So many different heights are named; of more the least and the greatest."""


class Arrival(NamedTuple):
    """A curve that ends below a height."""

    curve: CurveView
    x: float
    """Where it first is."""

    lasting: float
    """From where on it stays."""

    counted: bool
    """Whether that is known to an example or a step."""

    @property
    def rises(self) -> bool:
        """Whether it is above the height once more."""
        return self.lasting > self.x


class Arrivals:
    """The curves of a view that start alike above 0, by whether they come down to a tenth of that."""

    def __init__(self, names: Named) -> None:
        self._names = names
        self.height = self._threshold()
        """The tenth; None where curves start apart, and where none comes down."""

        if self.height is not None:
            found = [(curve, self._arrival(curve, self.height)) for curve in names.learners]
            self._there = sorted((one for _, one in found if one is not None), key=lambda one: one.x)
            self._others = [curve for curve, one in found if one is None and not curve.ends.diverged]

    def __iter__(self) -> Iterator[Clause]:
        if self.height is not None:
            yield self._come_down(self.height)
            yield from self._risen()

    @property
    def all_come(self) -> bool:
        """Whether there is a tenth, and every curve comes down to it."""
        return self.height is not None and len(self._there) == len(self._names.learners)

    def _threshold(self) -> float | None:
        curves = self._names.learners
        if not self._names.along_clock or not curves:
            return None
        starts = np.array([curve.y[0] for curve in curves])
        if not (np.isfinite(starts).all() and starts.min() > 0) or np.ptp(starts) > ALIKE * starts.max():
            return None
        low = float(f"{SHARE * starts.max():.1g}")
        return low if any(self._arrival(curve, low) is not None for curve in curves) else None

    def _arrival(self, curve: CurveView, low: float) -> Arrival | None:
        """Where a curve first is below a height, and for good; None if it is not at its end."""
        below = curve.y < low - self._names.rounding
        if not below[-1]:
            return None
        first, last = int(below.argmax()), int(np.flatnonzero(~below)[-1]) + 1 if not below.all() else 0
        counted = first == 0 or self._names.follows(float(curve.x[first]), float(curve.x[first - 1]))
        return Arrival(curve, float(curve.x[first]), float(curve.x[last]), counted)

    def _come_down(self, low: float) -> Clause:
        """Who is below a tenth of the start, in order of time, and who is not."""
        names, others = self._names, self._others
        long, brief = (
            f"{self._below(low, name)}{self._left_above(name)}" for name in (names.name, names.brief)
        )
        forms = ((names.brief, MOST), (names.letter, MOST), (names.letter, 2), (names.letter, 1))
        shorter = [self._below(low, name, most, in_brief=True) for name, most in forms]
        ends = [""]
        if others:
            are_not = f"{plural('is', others)} not"
            letters = listed([names.letter(curve) for curve in others])
            ends = [
                self._left_above(names.letter),
                f"; {letters} {are_not}",
                f"; {len(others)} {are_not}",
                "",
            ]
        briefer = [f"{said}{end}" for said in shorter for end in ends]
        alone = self._said([(number(self._there[0].x), self._there[:1])], low, names.letter, True)
        return Clause(long, brief, briefer=(*briefer, alone))

    def _below(
        self, low: float, name: Callable[[CurveView], str], most: int = MOST, in_brief: bool = False
    ) -> str:
        """Those that are below a height: of many the first and how many others.

        Not in brief, of those that rise once more it is said from where on they stay.
        """

        def place(one: Arrival) -> str:
            again = one.rises and not in_brief
            return number(one.x) + (f" (for good after {number(one.lasting)})" if again else "")

        shown, left = first_of(list(grouped((place(one), one) for one in self._there).items()), most)
        count = len(self._there) - sum(len(ones) for _, ones in shown)
        text = self._said(shown, low, name, in_brief)
        return f"{text} and {count} more by {number(self._there[-1].x)}" if left else text

    def _said(
        self,
        shown: Sequence[tuple[str, list[Arrival]]],
        low: float,
        name: Callable[[CurveView], str],
        in_brief: bool,
    ) -> str:
        """Those that are below a height, by the place where each of them is."""
        when = "after" if all(one.counted for one in self._there) else "by"
        first = "first " if in_brief and any(one.rises for _, ones in shown for one in ones) else ""
        (place, ones), *later = shown
        those = [name(one.curve) for one in ones]
        verb = f"{plural('is', those)} {first}below"
        text = f"{listed(those)} {verb} {number(low)} {when} {x_name(self._names.view)} = {place}"
        return text + "".join(
            f", {listed([name(one.curve) for one in some])} {when} {at}" for at, some in later
        )

    def _left_above(self, name: Callable[[CurveView], str]) -> str:
        """Where those are that do not come down: below the start, and above it."""
        above = [curve for curve in self._others if _is_above_start(curve)]
        below = [curve for curve in self._others if curve not in above]
        return f"{self._at_end(below, 'is still', name)}{self._at_end(above, 'ends above the start,', name)}"

    def _at_end(self, curves: Sequence[CurveView], how: str, name: Callable[[CurveView], str]) -> str:
        """Where some curves end; nothing of none."""
        heights = sorted((float(values_of(curve)[-1]), curve.number, name(curve)) for curve in curves)
        found = grouped((number(height), who) for height, _, who in heights)
        if len(found) > FEW:
            least, *_, greatest = found
            those = [name(curve) for curve in curves]
            return f"; {listed(those)} {plural(how, those)} between {least} and {greatest}"
        if not found:
            return ""
        (at, those), *more = found.items()
        also = "".join(f", {listed(some)} at {height}" for height, some in more)
        return f"; {listed(those)} {plural(how, those)} at {at}{also}"

    def _risen(self) -> Iterator[Clause]:
        """Who is far above the start and the end on the way."""
        peaks = [(_peak(curve), curve) for curve in self._names.learners]
        risen = sorted((one for one in peaks if one[0] > RISEN), key=lambda one: -one[0])
        if risen:
            curve, values = risen[0][1], values_of(risen[0][1])
            at = self._names.at(float(curve.x[known(curve)][values.argmax()]))
            most = f"up to {number(float(values.max()))} on the way"
            left = risen[1:]
            others = f", and {len(left)} more {plural('is', left)} above the start" if left else ""
            yield Clause(
                f"{self._names.name(curve)} is {most}, at {at}{others}",
                f"{self._names.brief(curve)} is {most}",
            )


def _is_above_start(curve: CurveView) -> bool:
    """Whether a curve ends above its start by more than its errors."""
    values = values_of(curve)
    error = 0.0 if curve.stderr is None else ERRORS * float(curve.stderr[known(curve)][-1])
    return bool(values[-1] - error > RISEN * values[0])


def _peak(curve: CurveView) -> float:
    """The greatest value, less what its error may account for, relative to the greater of the ends."""
    values, top = values_of(curve), int(values_of(curve).argmax())
    error = 0.0 if curve.stderr is None else ERRORS * float(curve.stderr[known(curve)][top])
    return float((values[top] - error) / max(values[0], values[-1]))
