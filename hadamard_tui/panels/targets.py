"""Panel: weights of the selected learner for all targets at the playhead as a heat map.

There is one row for each target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.panels.panel import Lack, Panel, nothing
from hadamard_tui.panels.weights import weight_limits

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext


def lacks(experiment: Experiment) -> Lack | None:
    if experiment.m > 1:
        return None
    return Lack("There is one target, so the weights are one vector and not a matrix.")


def show(context: PanelContext) -> HeatMap | Text:
    snapshots, curve = context.retraining.snapshots, context.curve
    if snapshots is None:
        return nothing(
            "Weights across targets are drawn after the run, because the learner must be trained again."
        )
    curve_snapshots = snapshots.by_learner.get(curve.learner)
    if curve_snapshots is None:
        reason = snapshots.reasons.get(curve.learner)
        return nothing(
            f"{curve.name} is being trained again …" if reason is None else f"{curve.name}: {reason}."
        )
    record = curve_snapshots.at(context.place)
    if record is None or record >= len(curve_snapshots.weights):
        return nothing(f"{curve.name} is not linear in the instance, so it has no matrix of weights.")
    weights, problem = curve_snapshots.weights[record], context.experiment.problem
    at = context.trace.clocks_at(context.place)[context.experiment.protocol.clock]
    return HeatMap(
        curve_snapshots.features,
        np.arange(1, len(weights) + 1),
        weights,
        x_label="feature",
        y_label="target",
        z_label="weight",
        title=f"Weights of {curve.name} across targets, {context.trace.x_label} = {at:g}",
        z_limits=weight_limits(weights),
        y_down=True,
        focus=(0, 1),
        full_size=(problem.matrix.shape()[1], problem.target.columns(problem.matrix)),
    )


PANEL = Panel(
    "targets",
    "the weights of the selected learner across targets at the playhead",
    show,
    place=120,
    lacks=lacks,
    looks_inside=True,
)
