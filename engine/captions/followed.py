"""How close curves come to lines that theory says are theirs: exactly, or else in a limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.captions.clause import Clause, Named
from engine.captions.gap import Gap
from engine.captions.ranges import known
from engine.captions.standing import is_bound_in_limit
from engine.captions.wording import first_of, grouped, listed, plural
from engine.pictures.view import CurveView, LineView, View

KINDS = {"exact": ("the exact value", "the exact values"), "asymptotic": ("its limit", "their limits")}
"""What lines of a direction are, of one curve and of several."""


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
    gap = Gap.between(curve.y[there], theory, stderr, view.rounding, view.y_log)
    return gap._replace(end=None) if line.direction == "exact" else gap
