"""What theory says of the learner selected: its verdict, and which bounds apply, which do not, and why."""

from __future__ import annotations

from rich.text import Text

from engine.results.trace import BoundCurve, Curve
from hadamard_tui.charts.series_builder import NAMES, PATHS
from hadamard_tui.panels.context import Sight
from hadamard_tui.panels.panel import Panel


def show(sight: Sight) -> Text:
    """Verdict, bounds, and the rates that were tried."""
    curve = sight.curve
    text = Text.assemble(
        (curve.name, "bold"), " is ", (curve.verdict.word, "bold"), f": {curve.verdict.reason}.\n"
    )
    if way := PATHS.get(curve.path):
        text.append(f"It is computed {way}; run.path dense takes the matrix.\n", "dim")
    for bound in sorted(sight.trace.bounds, key=lambda bound: not bound.on_problem.holds):
        text.append("\n").append_text(_bound_text(bound, curve.learner))
    if curve.grid:
        text.append("\n").append_text(_grid_text(curve))
    return text


def _bound_text(bound: BoundCurve, name: str) -> Text:
    head = (f"{bound.kind}  {bound.formula}", "bold")
    about = f"  {NAMES[bound.sense]}, {bound.source}\n  "
    if not bound.on_problem.holds:
        return Text.assemble(head, about, ("not drawn", "dim"), f": {bound.on_problem.reason}.\n")
    finding = bound.on_learners[name]
    if finding.holds:
        return Text.assemble(head, about, ("applies", "green"), f": {bound.on_problem.reason}.\n")
    return Text.assemble(head, about, ("the line to beat", "yellow"), f": {finding.reason}.\n")


def _grid_text(curve: Curve) -> Text:
    """The rates that were tried in hindsight, and how each did."""
    text = Text.assemble(("Rates tried in hindsight", "bold"), ", by the mean of the whole curve\n")
    for rate, loss in sorted(curve.grid.items()):
        best = rate == curve.rate
        text.append(
            f"  η = {rate:<9.4g} {loss:<10.5g}{'  the best' if best else ''}\n", "bold" if best else ""
        )
    return text


PANEL = Panel("theory", "for the learner selected: which bounds apply, which do not, and why", show, place=80)
