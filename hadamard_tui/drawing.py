"""From a trace to series: which curve gets which colour, style and letter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.experiment import Problem
from engine.problems.targets.feature import Feature
from engine.trace import BoundCurve, Curve, Trace
from hadamard_tui import palette
from hadamard_tui.charts.series import Axes, LineStyle, Series

MOST_LINES = 256
"""More weights than a screen has dots are thinned to so many."""

NAMES = {"lower": "lower bound", "upper": "upper bound", "conjecture": "conjecture"}


def mark(number: int) -> str:
    """The letter of learner `number`, the same in charts and tables."""
    return chr(ord("A") + number % 26)


def colour(number: int) -> str:
    """The colour of learner `number`."""
    colours = palette.current().learners
    return colours[number % len(colours)]


def loss_series(trace: Trace, shown: float) -> list[Series]:
    """The learners' curves up to x = `shown`, with a band of ± one standard error, then the bounds.

    Bounds come last: their dashes stay visible on a curve that runs along them.
    """
    return [
        *(_learner(number, curve, shown) for number, curve in enumerate(trace.curves)),
        *(_bound(bound) for bound in trace.bounds if bound.on_problem.holds),
    ]


def _bound(bound: BoundCurve) -> Series:
    style: LineStyle = "dotted" if bound.sense == "conjecture" else "dashed"
    return Series(f"{bound.kind} {bound.formula}", bound.x, bound.loss, palette.current().theory, style=style)


def _learner(number: int, curve: Curve, shown: float) -> Series:
    count = int(np.searchsorted(curve.x, shown, side="right"))
    x, loss = curve.x[:count], curve.loss[:count]
    band = None
    if curve.stderr is not None:
        error = curve.stderr[:count]
        band = (loss - error, loss + error)
    return Series(curve.name, x, loss, colour(number), band=band, mark=mark(number))


def loss_axes(trace: Trace, series: Sequence[Series]) -> Axes:
    """Axes from 0 to a little above the highest start; a curve that leaves them is cut at the border."""
    starts = [float(one.y[0]) for one in series if len(one.y)] or [1.0]
    highest = [float(np.nanmax(one.y)) for one in series if len(one.y)] or [1.0]
    top = min(max(highest), 2 * max(starts))
    step = max(starts) / 4 or 0.25
    return Axes(
        "Average loss over all rows",
        trace.x_label,
        trace.y_label,
        (0.0, max(trace.last, 1.0)),
        (0.0, max(step, np.ceil(top / step - 1e-6) * step) * 1.04),
    )


def weight_series(curve: Curve, shown: float, problem: Problem) -> list[Series]:
    """Every weight of one learner up to x = `shown`; the target's weight on top, in colour."""
    if curve.weights is None:
        return []
    count = int(np.searchsorted(curve.weights_x, shown, side="right"))
    x, weights = curve.weights_x[:count], curve.weights[:count]
    d = weights.shape[1]
    target = None
    if isinstance(problem.target, Feature) and not problem.matrix.rotate:
        target = problem.target.index
    others = [i for i in range(d) if i != target]
    if len(others) > MOST_LINES:
        others = [others[i] for i in np.linspace(0, len(others) - 1, MOST_LINES).astype(int)]
    other = "other " if target is not None else ""
    name = f"{len(others)} {other}weights" + (f" of {d}" if len(others) < d - 1 else "")
    lines = [
        Series(name if i == others[0] else "", x, weights[:, i], palette.current().others, faint=True)
        for i in others
    ]
    if target is not None:
        lines.append(Series(f"weight {target}, the target", x, weights[:, target], colour(1), mark="★"))
    return lines


def weight_axes(trace: Trace, name: str, series: Sequence[Series]) -> Axes:
    """Axes that hold every weight seen so far, in quarter steps so that they move rarely."""
    values = np.concatenate([one.y[np.isfinite(one.y)] for one in series] or [np.empty(0)])
    low, high = (min(values.min(), 0.0), max(values.max(), 0.25)) if len(values) else (0.0, 1.0)
    limits = (np.floor(low * 4 + 1e-3) / 4 - 0.05, np.ceil(high * 4 - 1e-3) / 4 + 0.05)
    return Axes(f"Weights of {name}", trace.x_label, "weight", (0.0, max(trace.last, 1.0)), limits)
