"""What am I seeing? The story of a set-up, the theorem that applies, and the claims with their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from engine.pictures.bounds import strongest_bound
from hadamard_tui.charts.line_heads import head, meaning, standing
from hadamard_tui.panels.panel import Panel
from hadamard_tui.running.costs import costs

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.spec.experiment import Experiment
    from hadamard_tui.editing.fitting_claims import LeftOut
    from hadamard_tui.panels.context import PanelContext

SIGNS = {True: "✓", False: "✗", None: "–"}
STYLES = {True: "bold green", False: "bold red", None: "dim"}
"""What stands before a claim, by its outcome."""


def show(context: PanelContext) -> Text:
    """Story, theorem and claims of a run, with the caption of its loss where it has no other pictures."""
    of_loss = all(
        picture.measure == context.loss.view.picture.measure for picture in context.experiment.pictures
    )
    captioned = not context.experiment.pictures and context.predictions.outcomes is not None
    return Text("\n").join(
        [
            story_text(context.experiment),
            *([Text(f"{context.headline(context.loss)}\n")] if captioned else []),
            *([theorem(context)] if of_loss else []),
            *claims(context.experiment, context.predictions.outcomes),
            *left_out(context.predictions.left_out),
        ]
    )


def story_text(experiment: Experiment) -> Text:
    """The title, the story and its source."""
    story = " ".join(experiment.story.split())
    text = Text.assemble((experiment.title or "Your own experiment", "bold"), "\n")
    if story:
        text.append(f"{story}\n")
    if experiment.source:
        text.append(f"Source: {experiment.source}\n", "dim")
    return text


def expensive(experiment: Experiment) -> list[Text]:
    """What expensive measures of a set-up cost, for before a run."""
    return [Text(f"{words}\n", style="dim") for words in costs(experiment)]


def theorem(context: PanelContext) -> Text:
    """The strongest bound that the selected learner is compared with at the place, in words."""
    name, losses = context.curve.learner, context.loss.view
    strongest = strongest_bound(losses, losses.curve(context.curve.name), context.place)
    if strongest is None:
        return Text(f"No theorem here bounds the loss of {name} from below.\n")
    bound = next(line for line in context.trace.lines if line.kind == strongest.kind)
    stands, why = standing(bound, name), bound.on_learners[name].reason.removeprefix(f"{name} is ")
    binds = "binds" if bound.on_learners[name].holds else "does not bind"
    beat = "" if bound.on_learners[name].holds else f", so it is {stands.words}"
    says = f"\n{meaning(bound.kind)}\n"
    here = f"It holds here: {bound.on_problem.reason}. It {binds} {name}{beat}: {why}.\n"
    return head(bound.statement).append(f"{says}{here}")


def claims(experiment: Experiment, outcomes: list[Outcome] | None) -> list[Text]:
    """One line per claim, with its outcome once the run has shown it."""
    if not experiment.claims:
        return [Text("No claims are made about this set-up.", style="dim")]
    if outcomes is None:
        return [Text.assemble(("· not measured yet  ", "dim"), claim.text) for claim in experiment.claims]
    lines = []
    for outcome in outcomes:
        word = f"{SIGNS[outcome.holds]} {outcome.word}  ", STYLES[outcome.holds]
        lines.append(Text.assemble(word, outcome.claim.text, (f"  ({outcome.detail})", "dim")))
    return lines


def left_out(claims: Sequence[LeftOut]) -> list[Text]:
    """One line per claim of the set-up that does not fit it, and why."""
    return [Text(f"– left out: {one.claim.get('text')}  ({one.why.what})", style="dim") for one in claims]


PANEL = Panel(
    "story", "what am I seeing? The story, the theorem that applies, and the claims", show, place=90
)
