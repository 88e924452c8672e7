"""Panel: claims about a set-up, and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from hadamard_tui.panels.panel import Lack, Panel

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.spec.experiment import Experiment
    from hadamard_tui.editing.document_edits import LeftOutClaim
    from hadamard_tui.panels.panel import PanelContext

SIGNS = {True: "✓", False: "✗", None: "–"}
STYLES = {True: "bold green", False: "bold red", None: "dim"}
"""Style of the sign of a claim, by outcome."""


def show(context: PanelContext) -> Text:
    predictions = context.predictions
    return Text("\n").join(
        [*claims(context.experiment, predictions.outcomes), *left_out(predictions.left_out)]
    )


def tally(context: PanelContext) -> str:
    judged = [outcome.holds for outcome in context.predictions.outcomes or () if outcome.holds is not None]
    return f"{sum(judged)}/{len(judged)}" if judged else ""


def claims(experiment: Experiment, outcomes: list[Outcome] | None) -> list[Text]:
    if outcomes is None:
        return [Text.assemble(("· not measured yet  ", "dim"), claim.text) for claim in experiment.claims]
    lines = []
    for outcome in outcomes:
        word = f"{SIGNS[outcome.holds]} {outcome.word}  ", STYLES[outcome.holds]
        lines.append(Text.assemble(word, outcome.claim.text, (f"  ({outcome.detail})", "dim")))
    return lines


def left_out(omissions: Sequence[LeftOutClaim]) -> list[Text]:
    return [
        Text(f"– left out: {omission.claim.get('text')}  ({omission.why.fault})", style="dim")
        for omission in omissions
    ]


def lacks(experiment: Experiment) -> Lack | None:
    return None if experiment.claims else Lack("This set-up has no claims.")


PANEL = Panel(
    "claims", "the claims about this set-up, and whether they hold", show, place=40, tally=tally, lacks=lacks
)
