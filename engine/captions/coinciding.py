"""Which curves are the same to rounding, though no line of theory says so, and which functions nearly are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.captions.clause import Clause, Named
from engine.captions.ranges import known
from engine.captions.wording import listed
from engine.core.notation import number
from engine.pictures.view import Apart, CurveView

NEAR = 0.01
"""Functions that differ by less than this share of their range are near each other."""


def coinciding(names: Named) -> Iterator[Clause]:
    """The clause on curves that coincide along runs, or on functions that nearly do; nothing where none do.

    Of those that are on a line of theory it is said that they follow it; one that stays says nothing.
    """
    if not names.view.along_records:
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
    for curve in (one for one in names.learners if one.point is not None):
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
