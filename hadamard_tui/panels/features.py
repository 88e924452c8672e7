"""Panel: weights of all learners at the playhead as a heat map.

There is a row for each learner, and a column for each feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from hadamard_tui.charts.heat_map import Column, HeatMap
from hadamard_tui.charts.plots.series_builder import letter_of
from hadamard_tui.panels.panel import Panel, nothing
from hadamard_tui.panels.weights import target_feature, uncached, weight_limits

if TYPE_CHECKING:
    from engine.results.trace import Curve
    from hadamard_tui.panels.panel import PanelContext

MOST_FEATURES = 512
"""Maximum number of features that are drawn. It is larger than the number of columns of any screen."""


def show(context: PanelContext) -> HeatMap | Text:
    """Return the heat map of the weights for the first target, or a text if no learner has weights."""
    d = context.experiment.d
    target = target_feature(context.experiment)
    first = min(max((target or 0) - MOST_FEATURES // 2, 0), max(d - MOST_FEATURES, 0))
    features = slice(first, min(first + MOST_FEATURES, d))
    curves = [curve for curve in context.trace.curves if curve.length]
    z = np.array([_weights_at(curve, context.place, features) for curve in curves])
    lacking = [curve for curve in curves if curve.uncached_weight_bytes]
    if not len(z) or np.isnan(z).all():
        return nothing(uncached(lacking[0]) if lacking else "No learner has a weight per feature yet.")
    view = context.loss.view
    names = tuple(f"{letter_of(view.curve(curve.name))} {curve.name}".strip() for curve in curves)
    at = context.trace.clocks_at(context.place)[context.experiment.protocol.clock]
    chosen = curves.index(context.curve) if context.curve in curves else 0
    return HeatMap(
        np.arange(d)[features],
        np.arange(len(curves)),
        z,
        x_label="feature",
        y_label="weights of",
        z_label="weight",
        title=f"Weights of every learner, {context.trace.x_label} = {at:g}",
        missing="not linear in the instance" + (", or weights not in the cache" if lacking else ""),
        y_names=names,
        z_limits=weight_limits(z),
        y_down=True,
        columns=() if target is None else (Column(f"feature {target}, the target", target),),
        focus=(target or 0, chosen),
        full_size=(d, len(curves)),
    )


def _weights_at(curve: Curve, place: float, features: slice) -> np.ndarray:
    record = int(np.searchsorted(curve.weights_x, place, side="right")) - 1
    if curve.weights is None or record < 0:
        return np.full(features.stop - features.start, np.nan)
    return np.asarray(curve.weights[record, features], float)


PANEL = Panel("features", "the weights of every learner at the playhead, feature by feature", show)
