"""How curves lie beside what a picture has to compare with: levels and lines that it marks, and reference
learners."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.captions.clause import Clause, Named
from engine.captions.ranges import known
from engine.captions.wording import at_most, grouped, listed, plural
from engine.pictures.rounding import ZERO
from engine.pictures.view import Apart, CurveView, Floats

CLOSE, CLOSE_AT_END = 10.0, 5.0
"""Percent: what differs by no more than this share of a line all along is close to it, or at one end."""


_WORDS = re.compile(r"^[a-z]{3}|[,:]")
"""What a line that is called by words, and by no formula, begins with or has: sentences have it in quotes."""


class Line(NamedTuple):
    """What a picture compares curves with."""

    name: str
    x: Floats
    """Increasing; empty for a level."""

    y: Floats
    apart: Apart | None
    """The values of the axes of the curves that it is for; None for all."""


class Stands(NamedTuple):
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


def _lines(names: Named) -> Iterator[Line]:
    """The marks at y, then the curves of reference learners."""
    for mark in names.view.marks:
        if mark.y:
            order = np.argsort(mark.x)
            x, y = np.array(mark.x)[order], np.array(mark.y)
            yield Line(mark.kind or mark.name, x, y[order] if len(x) else y, mark.apart)
    for curve in names.view.curves:
        there = known(curve)
        is_divisor = curve.learner == names.view.picture.relative
        if curve.is_reference and not is_divisor and there.any() and curve.increases:
            yield Line(curve.learner, curve.x[there], curve.y[there], curve.apart)


def _stands(names: Named, curve: CurveView, line: Line) -> Iterator[Stands]:
    """How a curve lies beside a line where both are known: all along, or at its ends; of two that are 0 but
    for rounding nothing is said."""
    there = known(curve)
    x, y = curve.x[there], curve.y[there]
    heights = np.interp(x, line.x, line.y, left=np.nan, right=np.nan) if len(line.x) else line.y + 0 * x
    both = np.isfinite(heights)
    gap, heights = (y - heights)[both], heights[both]
    if not len(gap) or np.abs([*gap, *heights]).max() <= names.view.negligible:
        return
    rounding = names.rounding
    if len(gap) > 1 and np.abs(gap).max() <= rounding:
        yield Stands("follows", "", line.name)
        return
    if np.abs(heights).min() > ZERO:
        shares = 100 * np.abs(gap / heights)
        if shares.max() <= CLOSE:
            yield _close("stays" if len(gap) > 1 else "is", float(shares.max()), line)
            return
        ends = {"begins": 0, "ends": -1} if not names.along_clock else {"ends": -1}
        close = [
            Stands(verb, "at ", line.name)
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
        yield Stands("stays" if len(gap) > 1 else "is", side, line.name)


def _close(verb: str, share: float, line: Line) -> Stands:
    return Stands(verb, "within ", line.name, share)


def _in_words(
    about: Sequence[tuple[Stands, CurveView]], what: str, names: Named, in_brief: bool = False
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
