"""How close curves come to their lines of theory, exactly or in a limit, and how far they are from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.captions.clause import Clause, Named
from engine.captions.ranges import known
from engine.captions.standing import is_bound_in_limit
from engine.captions.wording import first_of, grouped, listed, percent, plural
from engine.core.notation import number
from engine.pictures.view import QUIET, CurveView, LineView, View

KINDS = {"exact": ("the exact value", "the exact values"), "asymptotic": ("its limit", "their limits")}
"""What lines of a direction are, of one curve and of several."""

Floats = NDArray[np.float64]

MOST_PERCENT = 1000
"""From so many percent on a distance is given as it is."""

NEAR_ZERO = 0.1
"""Theory that comes below this share of its greatest value is near 0 there."""

APART = 3
"""Of curves of which one is so many times as far off as another both are named."""


def followed(names: Named) -> Iterator[Clause]:
    """The clause on the lines that are exact, or on limits where none is; nothing where there is neither."""
    direction, pairs = _with_lines(names)
    if not pairs:
        return
    close = [(curve, _gap(curve, line, names.view)) for curve, line in pairs]
    limits = {line.limit for line in names.view.lines if line.direction == direction}
    where = f" {next(iter(limits))}" if len(limits) == 1 and any(limits) else ""
    of_one, of_several = KINDS[direction]
    what = f"{of_several if len(close) > 1 else of_one}{where}"
    alike = list(grouped((gap.in_words, names.name(curve)) for curve, gap in close).items())
    first, _ = first_of(alike)
    groups = [f"{listed(those)} {plural(how, those)}" for how, those in first]
    told = {how for how, _ in first}
    left = [gap for _, gap in close if gap.in_words not in told]
    said = ", ".join(groups)
    if left:
        others = f"{len(left)} other{'s' if len(left) > 1 else ''}"
        said += f", and {others} {plural(Gap.widest(left), left)} {'theirs' if len(left) > 1 else 'its own'}"
    who = names.brief(close[0][0]) if len(close) == 1 else f"{len(close)} curves"
    near = f"{who} {plural(Gap.widest([gap for _, gap in close]), close)} {what}"
    yield Clause(f"against {what}, {said}", near, of_theory=True, named=False)


def without_line(names: Named) -> list[CurveView]:
    """The curves of which `followed` says nothing: no line is exact of them, or a limit."""
    own = {curve.name for curve, _ in _with_lines(names)[1]}
    return [curve for curve in names.learners if curve.name not in own]


def _with_lines(names: Named) -> tuple[str, list[tuple[CurveView, LineView]]]:
    """The first direction of which curves have lines, and these curves with them."""
    lines = [line for line in names.view.lines if not is_bound_in_limit(line)]
    for direction in KINDS:
        own = [line for line in lines if line.direction == direction]
        if pairs := [(curve, line) for line in own for curve in _own(names, line)]:
            return direction, pairs
    return "", []


def _own(names: Named, line: LineView) -> list[CurveView]:
    """The curves that a line is, or tends to: that of which it is made, or those that it binds."""
    about = [curve for curve in names.learners if line.says(curve)]
    return [curve for curve in about if line.curve or line.binds(curve)]


def _gap(curve: CurveView, line: LineView, view: View) -> Gap:
    """How far a curve is from a line that is its own."""
    values = np.interp(curve.x, line.x, line.y)
    there = known(curve) & (curve.x >= line.x[0]) & (curve.x <= line.x[-1]) & np.isfinite(values)
    theory = values[there]
    stderr = None if curve.stderr is None else curve.stderr[there]
    gap = Gap.between(curve.y[there], theory, stderr, view.quantity.rounding, view.axes.y_log)
    return gap._replace(end=None) if line.direction == "exact" else gap


class Far(NamedTuple):
    """A distance from the theory."""

    size: float
    share: float | None = None
    """The same in percent of the theory; None where that comes near 0, and of 0 nothing is a share."""

    @property
    def height(self) -> float:
        """The share, or else the size."""
        return self.size if self.share is None else self.share

    @property
    def in_words(self) -> str:
        """The same in words."""
        return number(self.size) if self.share is None else percent(self.share)


class Gap(NamedTuple):
    """How far a curve is from what theory says of it."""

    most: Far | None
    """None where there is no value yet."""

    end: Far | None = None
    """How far it is at the end, where that is less than half of the most."""

    errors: str = ""
    """The most in standard errors, in words; nothing where these are rounding."""

    @property
    def in_words(self) -> str:
        """All of it, as a predicate; first where a curve comes to that starts elsewhere."""
        if self.most is None:
            return "has no value yet"
        if not self.most.size:
            return "is the same to rounding"
        if self.end is not None:
            if not self.end.size:
                return f"comes to it from at most {self.most.in_words} off{self.errors}"
            return f"ends {self.end.in_words} off, {self.most.in_words} at most{self.errors}"
        return f"is off by at most {self.most.in_words}{self.errors}"

    @classmethod
    def between(cls, y: Floats, theory: Floats, stderr: Floats | None, rounding: float, is_log: bool) -> Gap:
        """That of values from those of the theory.

        On a logarithmic axis every value has its share. Otherwise theory may fall to 0, and then the gap is
        given as it is.
        """
        if not len(y):
            return cls(None)
        gap, heights = np.abs(y - theory), np.abs(theory)
        highest = max(float(np.abs(y).max()), float(heights.max()))
        zero = max(rounding * max(abs(float(y[0])), float(heights.max())), highest if highest <= QUIET else 0)
        gap[gap <= zero] = 0.0
        if not gap.any():
            return cls(Far(0.0, 0.0))
        if is_log or heights.min() > NEAR_ZERO * heights.max():
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = 100 * np.where(gap > 0, gap / heights, 0.0)
        else:
            shares = np.full_like(gap, np.inf)
        errors = ""
        apart = gap > 0
        if stderr is not None and (stderr[apart] > zero).all():
            errors = f", {float((gap[apart] / stderr[apart]).max()):.1f} standard errors"
        in_shares = bool(shares.max() < MOST_PERCENT)
        most = Far(float(gap.max()), float(shares.max()) if in_shares else None)
        end = Far(float(gap[-1]), float(shares[-1]) if in_shares else None)
        return cls(most, end if end.height < most.height / 2 else None, errors)

    @classmethod
    def widest(cls, gaps: Sequence[Gap]) -> str:
        """Within what all are of the theory, as a predicate: at their ends, where all come closer; of curves
        that are far apart in this the closest is named as well."""
        ends = [one.end for one in gaps if one.end is not None]
        some = ends if len(ends) == len(gaps) else [one.most for one in gaps if one.most is not None]
        verb = "ends" if len(ends) == len(gaps) else "is"
        if not some:
            return "has no value yet of"
        if not any(one.size for one in some):
            return f"{verb} at"
        if any(one.share is None for one in some):
            some = [Far(one.size) for one in some]
        least, most = (found(some, key=lambda one: one.height) for found in (min, max))
        nearest = f"{least.in_words} to " if APART * least.height < most.height else ""
        return f"{verb} within {nearest}{most.in_words} of"
