"""Panel: nets of the learners at the playhead as nodes and edges, beginning with the selected learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from hadamard_tui.charts.drawing.nets import Net, Nets
from hadamard_tui.charts.plots.series_builder import colour_of, letter_of
from hadamard_tui.panels.panel import Panel, nothing
from hadamard_tui.panels.weights import target_feature

if TYPE_CHECKING:
    from engine.results.snapshots import Snapshots
    from engine.results.trace import Curve
    from hadamard_tui.panels.panel import PanelContext


def show(context: PanelContext) -> Nets | Text:
    """Return the nets with their weights at the playhead, or a text if there are none yet.

    The weights come from a second training of the learners. A net is missing until its training has reached
    the playhead.
    """
    snapshots = context.retraining.snapshots
    if snapshots is None:
        return nothing("Nets are drawn after the run, because the learners must be trained again for this.")
    curves = sorted(context.trace.curves, key=lambda curve: curve is not context.curve)
    nets = []
    for curve in curves:
        curve_snapshots = snapshots.by_learner.get(curve.learner) if curve.best else None
        net = None if curve_snapshots is None else _drawn_net(context, curve, curve_snapshots)
        if net is not None:
            nets.append(net)
    at = f"{context.trace.x_label} = {context.trace.clocks_at(context.place)[_clock(context)]:g}"
    if nets:
        return Nets(f"Nets, {at}", nets)
    reasons = "\n".join(f"{learner_name}: {reason}." for learner_name, reason in snapshots.reasons.items())
    return nothing(reasons or "The learners are being trained again, so that their nets can be drawn …")


def _clock(context: PanelContext) -> str:
    return context.experiment.protocol.clock


def _drawn_net(context: PanelContext, curve: Curve, snapshots: Snapshots) -> Net | None:
    record = snapshots.at(context.place)
    if record is None or record >= len(snapshots.edges) or not snapshots.edges[record]:
        return None
    drawn = context.loss.view.curve(curve.name)
    layers = snapshots.edges[record]
    sizes = [np.abs(layer).max(initial=0.0) for layers in snapshots.edges for layer in layers]
    largest = max((float(size) for size in sizes if np.isfinite(size)), default=0.0)
    curve_name = f"{letter_of(drawn)} {curve.learner}".strip()
    target = target_feature(context.experiment)
    return Net(curve_name, colour_of(drawn), layers, snapshots.inputs, target, snapshots.units, largest)


PANEL = Panel(
    "network",
    "the nets of the learners: nodes, and edges as bright as their weights at the playhead",
    show,
    place=110,
    looks_inside=True,
)
