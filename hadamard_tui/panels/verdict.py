"""Panel: whether each learner is rotation invariant, by its structure and as measured, and its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from hadamard_tui.charts.plots.series_builder import RESPECT_STYLES, colour_of, letter_of
from hadamard_tui.colours.contrast import legible
from hadamard_tui.panels.panel import Panel

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, LineView
    from engine.results.trace import Curve
    from hadamard_tui.panels.panel import PanelContext
    from hadamard_tui.running.workers import CertificateWorker


def show(context: PanelContext) -> Text:
    curves = sorted(context.trace.curves, key=lambda curve: curve is not context.curve)
    return Text("\n").join(_learner_text(context, curve) for curve in curves)


def _learner_text(context: PanelContext, curve: Curve) -> Text:
    drawn, certificates = context.loss.view.curve(curve.name), context.retraining.certificates
    curve_name = f"{letter_of(drawn)} {curve.name}".strip()
    text = Text.assemble((curve_name, f"bold {legible(colour_of(drawn))}"), "\n")
    text.append("  structure  ", "dim").append(f"{curve.verdict.sentence}\n")
    text.append("  measured   ", "dim").append_text(_measurement_text(certificates, curve.learner)).append(
        "\n"
    )
    bounds = [line for line in context.loss.view.lines if not line.curve and curve.learner in line.applies_to]
    judged = certificates.judged.get(curve.learner) if certificates is not None else None
    respects = (
        {respect.bound: respect for respect in judged.bounds} if judged is not None and curve.best else {}
    )
    for bound in bounds:
        text.append(f"  {bound.called}  ", "dim").append_text(_distance_from_bound(context, drawn, bound))
        if (respect := respects.get(bound.kind)) is not None:
            text.append(f"\n    {respect.word}", RESPECT_STYLES[respect.holds])
            text.append(f", judged at all points of the curve: {respect.detail}")
        text.append("\n")
    if curve.verdict.invariant is False:
        kinds = {bound.kind for bound in bounds}
        about = [line for line in context.trace.lines_of("loss") if line.kind in kinds]
        for reason in dict.fromkeys(line.on_learners[curve.learner].reason for line in about):
            text.append("  bound, for ", "dim").append(f"{reason}\n")
    if not bounds:
        text.append("  bounds     ", "dim").append("no bound applies to this learner\n")
    return text


def _measurement_text(certificates: CertificateWorker | None, learner_name: str) -> Text:
    if certificates is None:
        return Text("will be measured once the run has finished", "italic")
    if learner_name in certificates.failed:
        return Text(f"failed: {certificates.failed[learner_name]}", "bold red")
    judged = certificates.judged.get(learner_name)
    if judged is None and certificates.stopped:
        return Text("not measured: the measurement was stopped; choose the panel again to measure", "italic")
    if judged is None:
        at_work = certificates.at == learner_name
        return Text(
            f"measuring … {certificates.percent} %" if at_work else "waiting for other measurements", "italic"
        )
    text = Text(f"{judged.measurement}\n  invariant  {judged.answer}")
    if judged.conflict:
        text.append(f"\n  ✗ DISAGREE: {judged.conflict}", "bold red")
    return text


def _distance_from_bound(context: PanelContext, curve: CurveView, bound: LineView) -> Text:
    from engine.pictures.bounds import standing

    count = int(np.searchsorted(curve.x, context.place, side="right"))
    if not count:
        return Text("no evaluation point yet", "italic")
    rounding = context.loss.view.quantity.rounding * abs(float(curve.y[0]))
    return Text(standing(curve, bound, count - 1, rounding))


PANEL = Panel(
    "invariance",
    "whether each learner is rotation invariant (predicts the same if all instances are rotated), by "
    "structure and by measurement, and which bounds apply to it",
    show,
    place=30,
)
