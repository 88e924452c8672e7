"""What theory says of the selected learner: its verdict, and which lines apply, which do not, and why."""

from __future__ import annotations

from rich.text import Text

from engine.backends import backends
from engine.results.trace import Curve, TheoryLine
from hadamard_tui.charts.line_heads import head, standing
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
    stands = standing(line, name)
    return Text.assemble(head(line, line.kind), "\n  ", (stands.words, stands.style), f": {stands.reason}.\n")


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
