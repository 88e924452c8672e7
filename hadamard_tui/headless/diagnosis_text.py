"""Diagnoses of tables in the terminal: progress, answers, losses and charts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleRenderable, Group
from rich.table import Table
from rich.text import Text

from engine.diagnosis.answer import answers
from engine.diagnosis.diagnosing import DiagnosisJob
from engine.diagnosis.expected_time import expected_seconds
from engine.diagnosis.pairs import learner_called
from hadamard_tui.charts.drawing.chart_sheet import printed
from hadamard_tui.charts.plots.diagnosis_plot import chart_of, pairs_of
from hadamard_tui.headless import console
from hadamard_tui.headless.compute import POLL_SECONDS
from hadamard_tui.headless.pictures import WIDEST_CHART, has_colours
from hadamard_tui.running.progress import duration_in_words

if TYPE_CHECKING:
    from engine.diagnosis.diagnosing import Diagnosis
    from engine.diagnosis.labelled_table import LabelledTable
    from engine.diagnosis.plan import Plan

CHART_HEIGHT = 16
NOTHING = "—"
STYLES = {"axes pay": "bold green", "invariance pays": "bold cyan", "not decided": "yellow"}


def diagnosed(table: LabelledTable, plan: Plan, errors: Console) -> Diagnosis:
    for note in table.notes:
        errors.print(f"data: {note}", soft_wrap=True)
    errors.print(announcement(plan), soft_wrap=True)
    job = DiagnosisJob(table, plan)
    try:
        with console.progress(errors) as show:
            while not job.wait(POLL_SECONDS):
                show("fitting", job.share)
    finally:
        job.stop()
    return job.finish()


def announcement(plan: Plan) -> str:
    return f"{plan.sentence} Expected time: {duration_in_words(expected_seconds(plan))}."


def shown(diagnosis: Diagnosis, console: Console) -> ConsoleRenderable:
    parts: list[ConsoleRenderable] = [
        Text(answer, "bold" if place == 0 else "") for place, answer in enumerate(answers(diagnosis))
    ]
    parts.append(losses(diagnosis))
    width = min(console.width, WIDEST_CHART)
    for pair in pairs_of(diagnosis):
        if pair.judged:
            series, axes = chart_of(diagnosis, pair)
            text = printed(series, axes, width, CHART_HEIGHT, colour=has_colours(console))
            parts.append(Text.from_ansi(text, no_wrap=True, overflow="crop"))
    return Group(*parts)


def losses(diagnosis: Diagnosis) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 1))
    unit = "error" if diagnosis.table.is_classified else "loss"
    table.add_column(f"{unit} after")
    for size in diagnosis.plan.sizes:
        table.add_column(f"{size}", justify="right")
    table.add_column("verdict")
    for pair in pairs_of(diagnosis):
        verdict = diagnosis.verdicts.get(pair.name)
        word = "not judged" if verdict is None else verdict.word
        verdict_cell = Text(word, STYLES.get(word, "dim"))
        for name in pair.names:
            learner = learner_called(name)
            table.add_row(learner.title, *_loss_cells(diagnosis, name, False), verdict_cell)
            verdict_cell = Text("")
            if learner.sees_axes:
                table.add_row(Text("  rotated", "dim"), *_loss_cells(diagnosis, name, True))
    return table


def _loss_cells(diagnosis: Diagnosis, name: str, rotated: bool) -> Iterator[str]:
    for loss in diagnosis.mean(name, rotated):
        yield f"{loss:.3f}" if np.isfinite(loss) else NOTHING
