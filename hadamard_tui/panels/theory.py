"""Panel: verdict on the selected learner, and for each theory line whether it applies, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from engine.pictures.view import FROM_BELOW
from hadamard_tui.charts.line_heads import head, meaning, proof, standing, whole_name
from hadamard_tui.panels.new_row import new_row
from hadamard_tui.panels.panel import Panel

if TYPE_CHECKING:
    from engine.results.trace import Curve, TheoryLine
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext


def show(context: PanelContext) -> Text:
    """Return why the curves are as they are, the verdict on the selected learner, theory lines and rates.

    Theory lines that apply to the learner come first. Lower bounds that do not apply to it follow, and then
    all other lines. After the first line that applies and has a proof, there is a drawing of the matrix rows
    in the proof.
    """
    from engine.backends import backends

    curve = context.curve
    text = reason_text(context.experiment)
    text.append_text(
        Text.assemble(
            (curve.name, "bold"), " is ", (curve.verdict.word, "bold"), f": {curve.verdict.reason}.\n"
        )
    )
    if words := backends()[curve.backends[-1]].words:
        how = f"It is computed {words} ({curve.backend})"
        text.append(f"{how}; the backend “dense” uses the matrix itself.\n", "dim")
    applicable = [line for line in context.trace.theorems if line.on_problem.holds]
    picture = new_row(context)
    for line in sorted(applicable, key=lambda line: _rank(line, curve.learner)):
        text.append("\n").append_text(_line_text(line, curve.learner, curve.verdict.reason))
        if picture is not None and line.on_learners[curve.learner].holds and proof(line.kind):
            text.append_text(picture)
            picture = None
    if curve.grid:
        text.append("\n").append_text(_grid_text(curve))
    if elsewhere := [line for line in context.trace.theorems if not line.on_problem.holds]:
        text.append("\n").append_text(_elsewhere_text(elsewhere))
    return text


def reason_text(experiment: Experiment) -> Text:
    """Return a text that says why the curves are as they are; empty if the experiment does not say it."""
    reason = experiment.reason.strip()
    return Text(f"{reason}\n\n" if reason else "")


def _rank(line: TheoryLine, learner_name: str) -> int:
    """Return the key by which the theory lines that hold for the problem are sorted.

    The key is 0 if the line applies to the learner. Otherwise, it is 1 for lower bounds, and 2 for all other
    lines.
    """
    if line.on_learners[learner_name].holds:
        return 0
    return 1 if line.statement.direction in FROM_BELOW else 2


def _line_text(line: TheoryLine, learner_name: str, reason: str) -> Text:
    """Return a text about a theory line: its statement, and whether and why it applies to a learner.

    A line that applies to a learner has two reasons: one about the learner and one about the problem. A
    reason that ends in `reason`, the reason of the learner's verdict, is left out. If the line applies, the
    idea of its proof follows.
    """
    stands = standing(line, learner_name)
    words = f"\n  {meaning(line.kind)}\n  "
    finding = line.on_learners[learner_name]
    reasons = [finding.reason, stands.reason] if finding.holds else [stands.reason]
    reasons = [text for text in dict.fromkeys(reasons) if text and not text.endswith(reason)]
    why = f": {'; '.join(reasons)}" if reasons else ""
    text = Text.assemble(head(line.statement), (words, "italic"), (stands.words, stands.style), f"{why}.\n")
    if line.on_learners[learner_name].holds and (idea := proof(line.kind)):
        text.append(f"{idea}\n", "dim")
    return text


def _elsewhere_text(lines: Sequence[TheoryLine]) -> Text:
    """Return a text about the theory lines that do not hold for the experiment, with the reasons."""
    verb = "lines do" if len(lines) > 1 else "line does"
    text = Text.assemble((f"{len(lines)} {verb} not apply to this set-up", "bold"), "\n")
    for line in lines:
        text.append(f"  {whole_name(line.statement)}: {line.on_problem.reason}\n", "dim")
    return text


def _grid_text(curve: Curve) -> Text:
    """Return a text with the learning rates that were tried, and with the mean loss for each rate."""
    text = Text.assemble(
        ("Rates tried", "bold"), ", compared by the mean of the whole curve (oracle-tuned)\n"
    )
    for rate, loss in sorted(curve.grid.items()):
        best = rate == curve.rate
        text.append(
            f"  η = {rate:<9.4g} {loss:<10.5g}{'  the best' if best else ''}\n", "bold" if best else ""
        )
    return text


PANEL = Panel(
    "why", "for the selected learner: which bounds apply, which do not, and why", show, place=20, word="why?"
)
