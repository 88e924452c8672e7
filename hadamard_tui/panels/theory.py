"""What theory says of the selected learner: its verdict, and which lines apply, which do not, and why."""

from __future__ import annotations

from rich.text import Text

from engine.backends import backends
from engine.pictures.bound_class import FROM_BELOW
from engine.results.trace import Curve, TheoryLine
from hadamard_tui.charts.series_builder import DIRECTIONS
from hadamard_tui.panels.context import PanelContext
from hadamard_tui.panels.panel import Panel


def show(context: PanelContext) -> Text:
    """Verdict, lines, and the rates that were tried."""
    curve = context.curve
    text = Text.assemble(
        (curve.name, "bold"), " is ", (curve.verdict.word, "bold"), f": {curve.verdict.reason}.\n"
    )
    if words := backends()[curve.backend].words:
        text.append(f"It is computed {words} ({curve.backend}); run.path dense takes the matrix.\n", "dim")
    for line in sorted(context.trace.lines, key=lambda line: not line.on_problem.holds):
        text.append("\n").append_text(_line_text(line, curve.learner))
    if curve.grid:
        text.append("\n").append_text(_grid_text(curve))
    return text


def _line_text(line: TheoryLine, name: str) -> Text:
    head = (f"{line.kind}  {line.formula}", "bold")
    about = f"  {DIRECTIONS[line.direction]}, {line.source}\n  "
    if not line.on_problem.holds:
        return Text.assemble(head, about, ("not applicable", "dim"), f": {line.on_problem.reason}.\n")
    finding = line.on_learners[name]
    if finding.holds:
        return Text.assemble(head, about, ("applies", "green"), f": {line.on_problem.reason}.\n")
    words = "the line to beat" if line.direction in FROM_BELOW else "does not apply"
    return Text.assemble(head, about, (words, "yellow"), f": {finding.reason}.\n")


def _grid_text(curve: Curve) -> Text:
    """The rates that were tried, and how each did."""
    text = Text.assemble(("Rates tried", "bold"), ", by the mean of the whole curve (oracle-tuned)\n")
    for rate, loss in sorted(curve.grid.items()):
        best = rate == curve.rate
        text.append(
            f"  η = {rate:<9.4g} {loss:<10.5g}{'  the best' if best else ''}\n", "bold" if best else ""
        )
    return text


PANEL = Panel("theory", "for the selected learner: which bounds apply, which do not, and why", show, place=80)
