"""The verdict on every learner: structure against measurement, which bounds follow, and if they hold."""

from __future__ import annotations

import numpy as np
from rich.text import Text

from engine.claims import Outcome
from engine.trace import BoundCurve, Curve
from hadamard_tui.drawing import colour, mark
from hadamard_tui.measuring import Measuring
from hadamard_tui.panels.panel import Panel
from hadamard_tui.panels.theory import word
from hadamard_tui.sight import Sight


def show(sight: Sight) -> Text:
    """All learners, the one selected first."""
    curves = sorted(sight.trace.curves, key=lambda curve: curve is not sight.curve)
    return Text("\n").join(_learner(sight, curve) for curve in curves)


def _learner(sight: Sight, curve: Curve) -> Text:
    number = sight.trace.curves.index(curve)
    text = Text.assemble((f"{mark(number)} {curve.name}", f"bold {colour(number)}"), "\n")
    text.append("  structure  ", "dim").append(f"{word(curve.verdict)}: {curve.verdict.reason}\n")
    text.append("  measured   ", "dim").append_text(_measured(sight.measuring, curve.learner)).append("\n")
    bounds = [
        bound for bound in sight.trace.bounds if curve.learner in bound.applies_to and bound.sense != "upper"
    ]
    judged = sight.measuring.judged.get(curve.learner) if sight.measuring is not None else None
    outcomes = dict(judged.bounds) if judged is not None and curve.best else {}
    for bound in bounds:
        text.append(f"  {bound.kind}  ", "dim").append_text(_here(sight, curve, bound))
        if bound.kind in outcomes:
            text.append_text(_whole(outcomes[bound.kind]))
        text.append("\n")
    if not bounds:
        text.append("  bounds     ", "dim").append("none binds this learner here\n")
    return text


def _measured(measuring: Measuring | None, learner: str) -> Text:
    """The certificate, or where it stands."""
    if measuring is None:
        return Text("once the run has finished", "italic")
    if learner in measuring.failed:
        return Text(f"failed: {measuring.failed[learner]}", "bold red")
    judged = measuring.judged.get(learner)
    if judged is None:
        stopped = "not measured: it was stopped"
        return Text(
            stopped
            if measuring.stopped
            else "measuring …"
            if measuring.at == learner
            else "waiting its turn",
            "italic",
        )
    done = "unchanged" if judged.unchanged else "changed"
    text = Text(f"predictions are {done} by rotations: max |Δŷ| / max |ŷ| = {judged.change:.2g}")
    if not judged.agrees:
        text.append(
            "\n  ✗ DISAGREE: structure and measurement contradict each other: a discovery, or a bug",
            "bold red",
        )
    return text


def _here(sight: Sight, curve: Curve, bound: BoundCurve) -> Text:
    """How the curve stands to a bound at the place, in standard errors where there are any."""
    count = int(np.searchsorted(curve.x, sight.place, side="right"))
    if not count:
        return Text("no record yet", "italic")
    x = float(curve.x[count - 1])
    gap = float(curve.loss[count - 1]) - bound.at(x)
    text = Text(f"at {x:g}: loss − bound = {gap:+.2g}")
    if curve.stderr is not None and curve.stderr[count - 1] > 0:
        text.append(f", {gap / float(curve.stderr[count - 1]):+.1f} standard errors")
    return text


def _whole(outcome: Outcome) -> Text:
    """Whether the whole curve respects a bound."""
    said = ("  ✓ respected", "green") if outcome.holds else ("  ✗ BROKEN", "bold red")
    return Text.assemble(said, f" by the whole curve: {outcome.detail}")


PANEL = Panel(
    "verdict", "is each learner rotation invariant? Structure against measurement, and its bounds", show
)
