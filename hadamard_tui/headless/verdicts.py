"""The command `judge` for presets: the verdict on each learner, by its structure and by measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleRenderable, Group
from rich.table import Table
from rich.text import Text

from engine.core.groups import ROTATIONS
from engine.judging.judgement import LearnerJudgement, judgement
from engine.spec import documents
from hadamard_tui.charts.plots.series_builder import RESPECT_STYLES
from hadamard_tui.headless import console
from hadamard_tui.headless.compute import compute
from hadamard_tui.headless.rule_pages import JudgementPage

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw


def page(document: Raw, errors: Console) -> JudgementPage:
    """Run a preset document at its first sweep point, and return a page with the verdicts on its learners."""
    experiment = documents.first(document)
    judged = judgements(experiment, compute(experiment, errors), errors)
    return JudgementPage(
        lambda _: shown(judged),
        as_json(judged),
        as_markdown(judged),
        all(judgement.sound for judgement in judged),
    )


def judgements(experiment: Experiment, trace: Trace, errors: Console) -> list[LearnerJudgement]:
    """Judge each learner of a finished run, and return the judgements. `errors` shows the progress.

    A judgement says whether the learner is rotation invariant, by its structure and by measurement, and
    whether its bounds hold.
    """
    judged = []
    with console.progress(errors) as show:
        for number, learner in enumerate(experiment.learners):

            def going(done: float, number: int = number, learner_name: str = learner.name) -> None:
                show(f"measuring {learner_name}", (number + done) / len(experiment.learners))

            going(0.0)
            judged.append(judgement(experiment, trace, learner, going))
    return judged


def shown(all_judged: Sequence[LearnerJudgement]) -> ConsoleRenderable:
    parts: list[ConsoleRenderable] = []
    for judged in all_judged:
        grid = Table.grid(padding=(0, 2, 0, 2))
        grid.add_row("structure", judged.verdict.sentence)
        grid.add_row("measured", judged.measurement)
        grid.add_row("invariant", judged.answer)
        if judged.conflict:
            grid.add_row(Text("disagree", "bold red"), Text(judged.conflict, "bold red"))
        for bound in judged.bounds:
            grid.add_row(
                bound.called,
                Text.assemble((bound.word, RESPECT_STYLES[bound.holds]), f"  {bound.detail}"),
            )
        for reason in judged.reasons if judged.verdict.invariant is False else ():
            grid.add_row("bound, for", reason)
        if not judged.bounds:
            grid.add_row("bounds", "no bound applies to this learner")
        parts += [Text(judged.learner, "bold"), grid]
    return Group(*parts)


def as_json(all_judged: Sequence[LearnerJudgement]) -> dict[str, Any]:
    learners = [
        {
            "learner": judged.learner,
            "verdict": {
                "answer": judged.answer,
                "invariant": judged.verdict.invariant,
                "reason": judged.verdict.reason,
            },
            "measured": judged.effect(ROTATIONS),
            "certificate": judged.change,
            "certificates": {group.words: change for group, change in judged.changes.items()},
            "by_rounding": judged.by_rounding,
            "agree": None if judged.unstable and judged.agrees else judged.agrees,
            "bounds": [
                {"id": bound.bound, "respected": bound.holds, "detail": bound.detail}
                for bound in judged.bounds
            ],
        }
        for judged in all_judged
    ]
    return {"schema": 1, "learners": learners}


def as_markdown(all_judged: Sequence[LearnerJudgement]) -> str:
    lines = ["| learner | rotation invariant | by structure | measured | bounds |", "|---|---|---|---|---|"]
    for judged in all_judged:
        bounds = "; ".join(f"{bound.called}: {bound.word}" for bound in judged.bounds) or "none"
        row = (judged.learner, judged.answer, judged.verdict.sentence, judged.measurement, bounds)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
        if judged.conflict:
            lines += ["", f"**{judged.learner}**: {judged.conflict}.", ""]
    return "\n".join(lines) + "\n"
