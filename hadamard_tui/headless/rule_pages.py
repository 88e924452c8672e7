"""Results of `judge` for an update rule, for the terminal, as JSON and as Markdown.

The results are the symmetries of the rule, and its losses compared with a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleRenderable, Group
from rich.table import Table
from rich.text import Text

from engine.core.outside import outside
from engine.core.texts import listed
from engine.judging.named_rule import named_rule, title_of
from engine.judging.rule_judgement import (
    MARKS,
    RATES,
    STEPS,
    D,
    LossBesideBound,
    RuleJudgement,
    as_json,
    judge_rule,
)
from engine.spec import reading
from hadamard_tui.charts.drawing.chart_sheet import printed
from hadamard_tui.charts.plots.judgement_plot import chart_of
from hadamard_tui.headless import console
from hadamard_tui.headless.pictures import WIDEST_CHART, has_colours

if TYPE_CHECKING:
    from engine.symmetry.rules import Symmetry

SIGNS = {"invariant": "✓", "not invariant": "✗", "unstable": "?"}
STYLES = {"invariant": "green", "not invariant": "red", "unstable": "yellow"}
CHART_HEIGHT = 16
_ENDS = {min(RATES): " (lowest tried)", max(RATES): " (highest tried)"}
"""Remarks about a best rate that is the lowest or the highest rate tried. A better rate may lie beyond it."""

FOOTNOTE = (
    f"Learner: a linear neuron that starts at 0, d = {D}, {STEPS} steps on the first k examples. "
    f"Rate η: the best of {len(RATES)} rates from {RATES[0]:g} to {RATES[-1]:g} that fit these examples. "
    "Bound: no rotation-invariant learner has a mean loss below 1 − k/d. “On” means that the "
    "loss differs from the bound by at most three standard errors."
)


class JudgementPage(NamedTuple):
    """Results of the command `judge` in all output formats."""

    shown: Callable[[Console], ConsoleRenderable]
    """Function that returns the judgement, formatted for a console."""

    as_json: dict[str, Any]
    as_markdown: str
    is_sound: bool
    """Whether the structure of the rule and the measurement agree, and no bound is broken."""


def page(name: str, settings: Sequence[str], errors: Console) -> JudgementPage:
    """Judge an update rule: test its symmetries, and compare its losses with a lower bound.

    Args:
        settings: hyperparameters, such as `beta=0.5`.
        errors: console that shows the progress.

    Raises: BadInput.
    """
    rule = named_rule(name, dict(reading.setting(setting) for setting in settings))
    title = title_of(name, rule)
    with console.progress(errors) as show:
        judged = judge_rule(rule, title, going=lambda share: show(f"judging {title}", share))
    return JudgementPage(
        lambda terminal: shown(judged, terminal),
        as_json(judged) | {"parts": outside.origins()},
        as_markdown(judged),
        not judged.contradictions and not judged.broken,
    )


def shown(judged: RuleJudgement, console: Console) -> ConsoleRenderable:
    parts: list[ConsoleRenderable] = [Text(f"{judged.measured}{judged.at_rate}", "bold")]
    parts += [Text(f"{sentence}.") for sentence in judged.by_structure]
    parts.append(_symmetry_table(judged))
    if precisions := judged.symmetries[0].precisions:
        parts.append(
            Text(f"The rule computes in {listed(precisions)}, although its input is float64.", "yellow")
        )
    parts += [Text(f"  ✗ disagree: {contradiction}", "bold red") for contradiction in judged.contradictions]
    if judged.losses:
        parts += [
            _loss_table(judged, console),
            *([Text(f"  ✗ {judged.warning}", "bold red")] if judged.warning else []),
        ]
        parts += [_loss_chart(judged, console), Text(FOOTNOTE, "dim")]
    parts += [Text(f"  {problem}: not run; {reason}") for problem, reason in judged.refused.items()]
    return Group(*parts)


def _symmetry_table(judged: RuleJudgement) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 1))
    for heading in ("inputs", "measured", "predictions change by", "by rounding alone"):
        table.add_column(heading)
    for symmetry in judged.symmetries:
        word = Text(f"{SIGNS[symmetry.word]} {symmetry.word}", STYLES[symmetry.word])
        change = f"{symmetry.change:.1g} × the change by training"
        table.add_row(symmetry.group, word, change, f"{symmetry.by_rounding:.1g}")
    return table


def _loss_table(judged: RuleJudgement, console: Console) -> Table:
    """Return the table of losses.

    If the table is too wide for the console, rates are on separate lines, so that no rate is split.
    """
    table = _loss_table_separated_by(judged, ", ")
    unlimited = console.options.update(width=10 * WIDEST_CHART)
    if console.measure(table, options=unlimited).maximum <= console.width:
        return table
    return _loss_table_separated_by(judged, ",\n")


def _loss_table_separated_by(judged: RuleJudgement, separator: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 1))
    table.add_column("loss after k examples")
    for k in MARKS:
        table.add_column(f"k = {k}, bound {1 - k / D:g}")
    for problem in judged.losses:
        table.add_row(problem, *(_loss_cell(judged.at(problem, k), separator) for k in MARKS))
    return table


def _loss_cell(point: LossBesideBound | None, separator: str = ", ") -> str:
    if point is None or not math.isfinite(point.loss):
        return "diverged"
    rate = "" if point.rate is None else f"{separator}η = {point.rate:g}{_ENDS.get(point.rate, '')}"
    return f"{point.numbers} {point.word}{rate}"


def _loss_chart(judged: RuleJudgement, console: Console) -> Text:
    series, axes = chart_of(judged)
    width = min(console.width, WIDEST_CHART)
    text = printed(series, axes, width, CHART_HEIGHT, colour=has_colours(console))
    return Text.from_ansi(text, no_wrap=True, overflow="crop")


def as_markdown(judged: RuleJudgement) -> str:
    lines = [f"## {judged.name}", "", "| inputs | verdict | change of predictions | by rounding |"]
    lines += ["|---|---|---|---|"]
    lines += [_symmetry_row(symmetry) for symmetry in judged.symmetries]
    if judged.rate is not None:
        lines += ["", f"Measured at η = {judged.rate:g}."]
    lines += ["", *(f"{sentence}." for sentence in judged.by_structure)]
    lines += [f"**Disagree**: {contradiction}." for contradiction in judged.contradictions]
    lines += [f"**Disagree**: {judged.warning}."] if judged.warning else []
    if judged.losses:
        heads = " | ".join(f"k = {k}, bound {1 - k / D:g}" for k in MARKS)
        lines += ["", f"| loss after k examples | {heads} |", "|---|" + "---|" * len(MARKS)]
        for problem in judged.losses:
            cells = " | ".join(_loss_cell(judged.at(problem, k)) for k in MARKS)
            lines.append(f"| {problem} | {cells} |")
        lines += ["", FOOTNOTE]
    lines += [f"{problem}: not run; {reason}." for problem, reason in judged.refused.items()]
    return "\n".join(lines) + "\n"


def _symmetry_row(symmetry: Symmetry) -> str:
    inside = f" (computes in {', '.join(symmetry.precisions)})" if symmetry.precisions else ""
    return (
        f"| {symmetry.group} | {symmetry.word}{inside} | {symmetry.change:.1g} | {symmetry.by_rounding:.1g} |"
    )
