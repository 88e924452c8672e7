"""What theory says of the selected learner, and what the preset claims, in words."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from engine.claims import Outcome
from engine.experiment import Experiment
from engine.trace import BoundCurve, Curve, Trace
from hadamard_tui.drawing import NAMES

VERDICTS = {True: "rotation invariant", False: "not rotation invariant"}


def theory_text(trace: Trace, curve: Curve) -> Group:
    """The verdict on a learner, and every bound with the reason why it applies or not."""
    verdict = curve.verdict
    word = VERDICTS.get(verdict.invariant, "rotation invariant on this data")  # type: ignore[arg-type]
    lines = [Text.assemble((curve.name, "bold"), " is ", (word, "bold"), f": {verdict.reason}."), Text("")]
    ordered = sorted(trace.bounds, key=lambda bound: not bound.on_problem.holds)
    for bound in ordered:
        lines.append(_bound_text(bound, curve.learner))
    return Group(*lines)


def _bound_text(bound: BoundCurve, name: str) -> Text:
    head = (f"{bound.kind}  {bound.formula}", "bold")
    about = f"  {NAMES[bound.sense]}, {bound.source}\n  "
    if not bound.on_problem.holds:
        return Text.assemble(head, about, ("not drawn", "dim"), f": {bound.on_problem.reason}.")
    finding = bound.on_learners[name]
    if finding.holds:
        return Text.assemble(head, about, ("applies", "green"), f": {bound.on_problem.reason}.")
    return Text.assemble(head, about, ("the line to beat", "yellow"), f": {finding.reason}.")


def claims_text(experiment: Experiment, outcomes: list[Outcome] | None) -> Group:
    """The story of a preset, and its claims with their outcomes once the run has shown them."""
    story = " ".join(experiment.story.split())
    lines = [
        Text(experiment.title or "Your own experiment", style="bold"),
        Text(story),
        Text(f"Source: {experiment.source}" if experiment.source else "", style="dim"),
    ]
    if not experiment.claims:
        none = "No claims are made about this set-up; a preset's are about the preset as it is, unchanged."
        lines.append(Text(none, style="dim"))
    for number, claim in enumerate(experiment.claims):
        if outcomes is None:
            lines.append(Text.assemble(("· not measured yet  ", "dim"), claim.text))
            continue
        outcome = outcomes[number]
        word = ("✓ holds  ", "bold green") if outcome.holds else ("✗ fails  ", "bold red")
        lines.append(Text.assemble(word, claim.text, (f"  ({outcome.detail})", "dim")))
    return Group(*lines)
