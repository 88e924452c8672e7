"""Panel: the story of a set-up, and the theorem that applies to the selected learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from engine.pictures.bounds import strongest_bound
from hadamard_tui.charts.line_heads import head, meaning
from hadamard_tui.panels.panel import Panel
from hadamard_tui.running.costs import costs

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext


def show(context: PanelContext) -> Text:
    of_loss = all(
        picture.measure == context.loss.view.picture.measure for picture in context.experiment.pictures
    )
    onward = context.onward()
    return Text("\n").join(
        [
            story_text(context.experiment),
            *([theorem(context)] if of_loss else []),
            *([Text("\n" + "\n".join(onward))] if onward else []),
        ]
    )


def story_text(experiment: Experiment) -> Text:
    story = " ".join(experiment.story.split())
    text = Text.assemble((experiment.title or "Your own experiment", "bold"), "\n")
    if story:
        text.append(f"{story}\n")
    if experiment.source:
        text.append_text(_source_text(experiment.source))
    return text


def _source_text(source: str) -> Text:
    from engine.spec import theory_pages

    text = Text(f"Source: {source}\n", "dim")
    for address in theory_pages.cited(source):
        begins = text.plain.find(f"theory/{address}")
        if begins >= 0:
            style = Style(underline=True, meta={"@click": f"app.theory('{address}')"})
            text.stylize(style, begins, begins + len(f"theory/{address}"))
    return text


def expensive(experiment: Experiment) -> list[Text]:
    return [Text(f"{words}\n", style="dim") for words in costs(experiment)]


def theorem(context: PanelContext) -> Text:
    learner_name, losses = context.curve.learner, context.loss.view
    strongest = strongest_bound(losses, losses.curve(context.curve.name), context.place)
    if strongest is None:
        return Text(f"No theorem here bounds the loss of {learner_name} from below.\n")
    bound = next(line for line in context.trace.lines if line.kind == strongest.kind)
    finding = bound.on_learners[learner_name]
    why = finding.reason.removeprefix(f"{learner_name} is ")
    applies = "applies" if finding.holds else "does not apply"
    beat = "" if finding.holds else f" So {learner_name} may beat this bound."
    says = f"\n{meaning(bound.kind)}\n"
    condition = (
        f"The problem meets the conditions of the bound: {bound.on_problem.reason}. "
        f"The bound {applies} to {learner_name}: {why}.{beat}\n"
    )
    return head(bound.statement).append(f"{says}{condition}")


PANEL = Panel("story", "what am I seeing? The story, and the theorem that applies", show, place=50)
