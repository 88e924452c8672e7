"""How far a change of the set-up moves the curves of a picture, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.core.expressions import number
from engine.pictures import wording
from engine.pictures.view import CurveView, View

LEVEL = 0.1
"""The loss that runs are compared by: how many examples it takes to stay below."""


class _Move(NamedTuple):
    """A curve, and its number in the earlier run and in the later one; infinite for never."""

    name: str
    called: str
    before: float
    after: float

    def written(self, unit: str = "") -> str:
        """Both numbers, and the unit of the last one that there is: "116 → 231 examples"."""
        if math.isinf(self.after):
            return f"{number(self.before)}{unit} → never"
        return f"{'never' if math.isinf(self.before) else number(self.before)} → {number(self.after)}{unit}"


def comparison(change: str, earlier: View, view: View, claimed: str | None = None) -> str:
    """Say what differs, and how it moves the highest curve that both runs have and the claimed one.

    Along examples it is how many of them the loss takes to stay below LEVEL, else the value at the end.

    Args:
        change: the difference, as in "d 128 → 256".
        claimed: the curve that the claim of the picture is about; the lowest curve takes its place where
            there is none, or where it is the highest.
    """
    before = {curve.name: curve for curve in earlier.curves if not curve.training.is_reference}
    pairs = [(before[curve.name], curve) for curve in view.curves if curve.chosen and curve.name in before]
    if arrivals := _two(_arrivals(view, pairs), claimed):
        units = [f" {wording.UNITS[view.axes.clock]}s" if view.axes.clock in wording.UNITS else "", ""]
        moves = [f"{move.called} {move.written(unit)}" for move, unit in zip(arrivals, units, strict=False)]
        clause = f" until loss stays below {wording.level(view, LEVEL)}"
        return wording.shortened(f"{change}: {', '.join(moves)}", clause)
    if values := _two(_last_values(view, pairs), claimed):
        moves = [f"{move.written()} for {move.called}" for move in values]
        return f"{change}: at the end, {wording.predicate(view)} {wording.listed(moves)}"
    return ""


def _two(moves: Sequence[_Move], claimed: str | None) -> list[_Move]:
    """The move to the highest number, and that of the claimed curve or to the lowest number."""
    if len(moves) < 2:
        return list(moves)
    highest = max(moves, key=lambda move: move.after)
    others = [move for move in moves if move is not highest]
    return [highest, min(others, key=lambda move: (move.name != claimed, move.after))]


def _arrivals(view: View, pairs: Sequence[tuple[CurveView, CurveView]]) -> list[_Move]:
    """When losses stay below LEVEL, of curves that do so in one of the runs; empty for other pictures."""
    if view.picture.x != view.axes.clock or view.picture.measure.name != "loss":
        return []
    moves = [
        _Move(
            curve.name,
            wording.called(view, curve),
            *(wording.arrival(run, LEVEL) for run in (earlier, curve)),
        )
        for earlier, curve in pairs
    ]
    return [move for move in moves if not math.isinf(min(move.before, move.after))]


def _last_values(view: View, pairs: Sequence[tuple[CurveView, CurveView]]) -> list[_Move]:
    """The last value of each curve in both runs."""
    finite_values = [[run.y[np.isfinite(run.y)] for run in pair] for pair in pairs]
    return [
        _Move(curve.name, wording.called(view, curve), *(float(y[-1]) for y in ys))
        for (_, curve), ys in zip(pairs, finite_values, strict=True)
        if all(map(len, ys))
    ]
