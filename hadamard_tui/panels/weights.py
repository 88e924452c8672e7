"""Every weight of the selected learner against k; that of the target on top, in colour.

Of a run with one evaluation point every weight is a point, feature by feature.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from rich.text import Text

from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Target
from engine.spec.experiment import Experiment
from hadamard_tui.charts.series import Axes, Series, are_whole, limits
from hadamard_tui.charts.series_builder import Plot, colour_of, others
from hadamard_tui.panels.context import PanelContext
from hadamard_tui.panels.panel import Panel, nothing

MOST_LINES = 256
"""More weights than a screen has dots are thinned to so many."""

MOST_POINTS = 1 << 15
"""All lines together have no more points than this; a screen has fewer dots."""


def show(context: PanelContext) -> Plot | Text:
    """The weights up to what is shown."""
    curve = context.curve
    if not curve.length:
        return nothing(f"{curve.name} has not begun yet.")
    if curve.weights is None:
        why = f"{curve.name} is not linear in the instance, so it has no weight per feature"
        return nothing(f"{why}. The weights of nets are in the panel “network”.")
    if len(context.trace.x) == 1:
        return _by_feature(context)
    series = weight_series(context)
    options = replace(context.chart_options, x_log=context.x_log)
    low, high = options.x_limits(context.trace.x)
    x_log = context.x_log and low > 0
    on = Axes(_title(context), context.trace.x_label, "weight", (low, high), _limits(series), x_log)
    return Plot(series, on, _note(context), context.playhead)


def _by_feature(context: PanelContext) -> Plot:
    """The weights at the only evaluation point, the target's on top."""
    curve, target = context.curve, target_feature(context.experiment)
    assert curve.weights is not None, "a curve without weights has nothing to draw"
    weights = curve.weights[0]
    features = np.arange(float(len(weights)))
    rest = features if target is None else np.delete(features, target)
    tint, other = colour_of(context.drawn(curve)), "" if target is None else "other "
    series = [Series(f"{len(rest)} {other}weights", rest, weights[rest.astype(int)], others(), "points")]
    if target is not None:
        at = features[[target]]
        name = f"weight {target}, the target: {weights[target]:.3f}"
        series.append(Series(name, at, weights[[target]], tint, mark="★"))
    on = Axes(
        _title(context), "feature", "weight", limits(features), _limits(series), x_whole=are_whole(features)
    )
    return Plot(series, on, _note(context))


def _note(context: PanelContext) -> str:
    return "y stays linear: weights may be negative" if context.chart_options.y_log else ""


def _title(context: PanelContext) -> str:
    """Whose weights these are: of several targets those of the first."""
    problem, name = context.experiment.problem, context.curve.name
    count = problem.target.columns(problem.matrix)
    if count == 1:
        return f"Weights of {name}"
    feature = first_feature(problem.target, problem.matrix, context.experiment.run.seed)
    called = "" if feature is None else f": feature {feature}"
    return f"Weights of {name} for target 1 of {count}{called}"


def target_feature(experiment: Experiment) -> int | None:
    """The number of the entry of the instances that the first target is; None if it is none of them."""
    problem = experiment.problem
    if problem.matrix.rotate or problem.matrix.feature_count() != problem.matrix.shape()[1]:
        return None  # what a target names is none of the features that learners see
    return first_feature(problem.target, problem.matrix, experiment.run.seed)


@lru_cache(maxsize=4)
def first_feature(target: Target, matrix: Matrix, seed: int) -> int | None:
    """The number of the feature that the first target is, in the first replica; None if it is none."""
    combination = target.combination(matrix, Streams([seed]))
    if combination is None or combination.places.shape[2] != 1:
        return None
    return int(combination.places[0, 0, 0])


def weight_series(context: PanelContext) -> list[Series]:
    """Every weight of the selected learner up to what is shown; the target's last, so that it is on top.

    The names tell the values at the playhead, where there is one.
    """
    curve, problem = context.curve, context.experiment.problem
    assert curve.weights is not None, "a curve without weights has nothing to draw"
    count = int(np.searchsorted(curve.weights_x, context.shown, side="right"))
    d = curve.weights.shape[1]
    target = target_feature(context.experiment)
    rest = _rest(d, target)
    drawn = rest if target is None else np.append(rest, target)
    every = max(1, -(-count * len(drawn) // MOST_POINTS))
    x = curve.weights_x[:count:every]
    weights = np.ascontiguousarray(curve.weights[:count:every, drawn].T)
    other = "other " if target is not None else ""
    count_of_targets = problem.target.columns(problem.matrix)
    whose = "the target" if count_of_targets == 1 else f"target 1 of {count_of_targets}"
    name = f"{len(rest)} {other}weights" + (f" of {d}" if len(drawn) < d else "")
    if target is None and count_of_targets > 1:
        name += f" for {whose}"
    of_target = f"weight {target}, {whose}"
    if (record := context.marked(curve.weights_x)) is not None:
        now = curve.weights[record]
        of_target += "" if target is None else f": {now[target]:.3f}"
        name += f": {now[rest].min():.3f} … {now[rest].max():.3f}" if len(rest) else ""
    lines = [
        Series("" if number else name, x, line, others(), faint=True)
        for number, line in enumerate(weights[: len(rest)])
    ]
    if target is not None:
        lines.append(Series(of_target, x, weights[-1], colour_of(context.drawn(curve)), mark="★"))
    return lines


def _rest(d: int, target: int | None) -> np.ndarray:
    """Which of d features are drawn beside the target: all, or so many as a screen can tell apart."""
    many = d if target is None else d - 1
    rest = np.linspace(0, many - 1, min(many, MOST_LINES)).astype(int)
    return rest if target is None else rest + (rest >= target)


def _limits(series: list[Series]) -> tuple[float, float]:
    """Limits that hold every weight seen so far, in quarter steps so that they move rarely."""
    values = np.concatenate([one.y[np.isfinite(one.y)] for one in series] or [np.empty(0)])
    low, high = weight_limits(values)
    return low - 0.05, high + 0.05


def weight_limits(values: np.ndarray) -> tuple[float, float]:
    """Limits that hold some weights and 0, in quarter steps so that they move rarely."""
    values = values[np.isfinite(values)]
    low, high = (min(values.min(), 0.0), max(values.max(), 0.25)) if len(values) else (0.0, 1.0)
    return float(np.floor(low * 4 + 1e-3) / 4), float(np.ceil(high * 4 - 1e-3) / 4)


PANEL = Panel(
    "weights", "every weight of the selected learner against k, that of the target in colour", show, place=10
)
