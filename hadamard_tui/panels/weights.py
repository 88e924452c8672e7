"""Panel: all weights of the selected learner during training.

The weights of the target's features are coloured and drawn on top. Some runs record no change of weights: a
solver fits the learner only once, or the run records only its start and its end. The chart then shows the
weights at the playhead against the index of the feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace
from rich.text import Text

from engine.core.streams import Streams
from hadamard_tui.charts.plots.look import still_limits
from hadamard_tui.charts.plots.series_builder import Plot, colour_of, others
from hadamard_tui.charts.series import Axes, Series, are_whole, limits
from hadamard_tui.panels.panel import Panel, nothing, record_at_playhead

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.matrices import Matrix
    from engine.problems.targets import Target
    from engine.results.trace import Curve
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext

MOST_LINES = 256
"""Maximum number of weights that are drawn: about as many as a screen has rows of dots.

If a learner has more weights, an evenly spaced selection is drawn.
"""

MOST_MARKED = 8
"""Maximum number of features of a target that are marked. If the target has more, none are marked."""

MARK = "★"
"""Mark of the weights of the target's features."""

MOST_POINTS = 1 << 15
"""Maximum number of points of all curves together. A screen has fewer dots."""


def show(context: PanelContext) -> Plot | Text:
    curve = context.curve
    if not curve.length:
        return nothing(f"{curve.name} has not begun yet.")
    if curve.uncached_weight_bytes:
        return nothing(uncached(curve))
    if curve.weights is None:
        why = f"The learner “{curve.name}” is not linear in the instance, so it has no weight per feature."
        return nothing(
            f"{why} The weights of nets are in the panel “network”." if _may_be_net(context) else why
        )
    if not _do_weights_change(context):
        return _plot_by_feature(context)
    series = weight_series(context)
    options = replace(context.chart_options, x_log=context.loss.resolved.x_log)
    low, high = options.x_limits(curve.weights_x if curve.ended else context.trace.x)
    x_log = bool(options.x_log) and low > 0
    on = Axes(
        _chart_title(context), context.trace.x_label, "weight", (low, high), _axis_limits(series), x_log
    )
    return Plot(series, on, _note_on_scale(context), context.playhead)


def uncached(curve: Curve) -> str:
    size = curve.uncached_weight_bytes / (1 << 20)
    reason = f"This run is from the cache, without the weights of {curve.name}, which take {size:.0f} MB."
    return f"{reason} To see weights, run other seeds, which are computed anew."


def _selected_learner(context: PanelContext) -> Learner:
    return next(learner for learner in context.experiment.learners if learner.name == context.curve.learner)


def _may_be_net(context: PanelContext) -> bool:
    return _selected_learner(context).solver is None  # nets take steps, and are not solved


def _do_weights_change(context: PanelContext) -> bool:
    solved_once = _selected_learner(context).solver is not None and context.experiment.protocol.clock != "k"
    return len(context.trace.x) > 2 and not solved_once


def _plot_by_feature(context: PanelContext) -> Plot:
    curve, marked = context.curve, target_features(context.experiment)
    assert curve.weights is not None, "a curve without weights has nothing to draw"
    record = max(0, int(np.searchsorted(curve.weights_x, context.place, side="right")) - 1)
    weights = curve.weights[record]
    features = np.arange(len(weights))
    rest = np.delete(features, marked)
    tint, other = colour_of(context.loss.view.curve(curve.name)), "other " if marked else ""
    series = [Series(_weight_count(len(rest), other), rest.astype(float), weights[rest], others(), "points")]
    if marked:
        series_name = f"{_weights_named(marked, 'the target')}{_value_range(weights[list(marked)])}"
        at = np.array(marked)
        series.append(Series(series_name, at.astype(float), weights[at], tint, "points", mark=MARK))
    x = features.astype(float)
    on = Axes(
        _chart_title(context), "feature", "weight", limits(x), _axis_limits(series), x_whole=are_whole(x)
    )
    return Plot(series, on, _note_on_scale(context))


def _note_on_scale(context: PanelContext) -> str:
    return "y stays linear: weights may be negative" if context.chart_options.y_log else ""


def _chart_title(context: PanelContext) -> str:
    problem, curve_name = context.experiment.problem, context.curve.name
    count = problem.target.columns(problem.matrix)
    if count == 1:  # the title explains the mark, because a low chart has no legend
        mark = f" ({MARK} the target)" if target_features(context.experiment) else ""
        return f"Weights of {curve_name}{mark}"
    feature = first_feature(problem.target, problem.matrix, context.experiment.run.seed)
    called = "" if feature is None else f": feature {feature}"
    return f"Weights of {curve_name} for target 1 of {count}{called}"


def target_feature(experiment: Experiment) -> int | None:
    """Return the feature that alone determines the first target, or None if there is no such feature."""
    return next(iter(features), None) if len(features := target_features(experiment)) == 1 else None


def target_features(experiment: Experiment) -> tuple[int, ...]:
    """Return the indices of the features whose weighted sum is the first target.

    The result is empty if there are more than MOST_MARKED such features. It is also empty if the features are
    not entries of the instances, for example after a rotation.
    """
    problem = experiment.problem
    if problem.matrix.rotate or problem.matrix.feature_count() != problem.matrix.shape()[1]:
        return ()  # the entries of the learners' inputs are not the features of the target
    features = features_of(problem.target, problem.matrix, experiment.run.seed)
    return features if len(features) <= MOST_MARKED else ()


@lru_cache(maxsize=4)
def features_of(target: Target, matrix: Matrix, seed: int) -> tuple[int, ...]:
    """Return the features whose weighted sum is the first target in the first replica, by increasing index.

    The result is empty if the target is no weighted sum of features.
    """
    combination = target.combination(matrix, Streams([seed]))
    return () if combination is None else tuple(sorted(combination.places[0, 0].tolist()))


def first_feature(target: Target, matrix: Matrix, seed: int) -> int | None:
    features = features_of(target, matrix, seed)
    return features[0] if len(features) == 1 else None


def weight_series(context: PanelContext) -> list[Series]:
    """Return the curves of the selected learner's weights. Those of the target's features are on top."""
    curve, problem = context.curve, context.experiment.problem
    assert curve.weights is not None, "a curve without weights has nothing to draw"
    count = int(np.searchsorted(curve.weights_x, context.shown, side="right"))
    d = curve.weights.shape[1]
    marked = target_features(context.experiment)
    rest = _spread_features(d, marked)
    drawn = np.append(rest, np.array(marked, int))
    stride = max(1, -(-count * len(drawn) // MOST_POINTS))
    x = curve.weights_x[:count:stride]
    weights = np.ascontiguousarray(curve.weights[:count:stride, drawn].T)
    count_of_targets = problem.target.columns(problem.matrix)
    target = "the target" if count_of_targets == 1 else f"target 1 of {count_of_targets}"
    series_name = _weight_count(len(rest), "other " if marked else "") + (
        f" of {d}" if len(drawn) < d else ""
    )
    if not marked and count_of_targets > 1:
        series_name += f" for {target}"
    of_target = _weights_named(marked, target)
    if (record := record_at_playhead(context, curve.weights_x)) is not None:
        now = curve.weights[record]
        of_target += _value_range(now[list(marked)])
        series_name += _value_range(now[rest])
    lines = [
        Series("" if number else series_name, x, weight, others(), faint=True)
        for number, weight in enumerate(weights[: len(rest)])
    ]
    tint = colour_of(context.loss.view.curve(curve.name))
    for number, weight in enumerate(weights[len(rest) :]):
        lines.append(Series("" if number else of_target, x, weight, tint, mark=MARK))
    return lines


def _weights_named(marked: Sequence[int], target: str) -> str:
    numbers = ", ".join(map(str, marked))
    return f"weight {numbers}, {target}" if len(marked) == 1 else f"weights {numbers} of {target}"


def _weight_count(count: int, other: str) -> str:
    return f"{count} {other}weight{'s' * (count != 1)}"


def _value_range(weights: np.ndarray) -> str:
    if not len(weights):
        return ""
    low, high = weights.min(), weights.max()
    return f": {low:.3f}" if len(weights) == 1 else f": {low:.3f} … {high:.3f}"


def _spread_features(d: int, marked: Sequence[int]) -> np.ndarray:
    """Return at most MOST_LINES features that are not in `marked`, evenly spaced."""
    unmarked: np.ndarray = np.delete(np.arange(d), marked)
    positions = np.linspace(0, len(unmarked) - 1, min(len(unmarked), MOST_LINES)).astype(int)
    return np.asarray(unmarked[positions])


def _axis_limits(series: list[Series]) -> tuple[float, float]:
    values = np.concatenate([[0.0], *(curve.y[np.isfinite(curve.y)] for curve in series)])
    return still_limits(values)


def weight_limits(values: np.ndarray) -> tuple[float, float]:
    """Return limits of a colour scale that contain 0 and `values`, for a heat map of weights.

    The limits are multiples of 1/4, so that the scale rarely changes. Values may exceed them by 1/4000.
    """
    values = values[np.isfinite(values)]
    low, high = (min(values.min(), 0.0), max(values.max(), 0.25)) if len(values) else (0.0, 1.0)
    return float(np.floor(low * 4 + 1e-3) / 4), float(np.ceil(high * 4 - 1e-3) / 4)


PANEL = Panel(
    "weights",
    "every weight of the selected learner against k; the target's weight is coloured",
    show,
    place=10,
)
