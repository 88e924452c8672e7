"""What a run prints: the chart, the losses beside the bounds, the bounds, and the claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleRenderable, Group, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.claims import Outcome
from engine.experiment import Experiment
from engine.parts import Finding
from engine.trace import ZERO, BoundCurve, Curve, Trace
from hadamard_tui.charts.printed import printed
from hadamard_tui.drawing import NAMES, colour, loss_axes, loss_series, mark

COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("rotation\ninvariant", "left"),
    ("\nk", "right"),
    ("\nloss", "right"),
    ("lower\nbound", "right"),
    ("\nwhich", "left"),
    ("loss /\nbound", "right"),
)
SPARED = (0, 4)
"""The columns that a narrow terminal does without: the text below the table says it, too."""
NARROW = 72
NOTHING = "—"
INVARIANT: dict[bool | str, str] = {True: "yes", False: "no"}
WIDEST_CHART = 120
CHART_HEIGHTS = (18, 28)
LINES_BESIDE_CHART = 4
"""Of the terminal's height: for the prompt and the lines around the chart."""


def show(
    experiment: Experiment,
    trace: Trace,
    outcomes: Sequence[Outcome],
    strayed: Sequence[str],
    console: Console,
    changed: bool,
) -> None:
    """Print a finished run.

    Args:
        outcomes: every claim, judged.
        strayed: the learners that diverged unexpectedly.
        changed: whether --set changed the preset for which the claims were written.
    """
    where = checkpoints(experiment, trace)
    for part in (
        _heading(experiment, trace),
        _chart(trace, console),
        _losses(trace, where, console.width),
        *_notes(trace, where, strayed),
        *_bounds(trace.bounds),
        *_claims(outcomes, changed),
    ):
        console.print(part)


def checkpoints(experiment: Experiment, trace: Trace) -> list[float]:
    """Where on the x-axis losses are tabulated: d/4, d/2 and d, or the end where the run is shorter."""
    _, d = experiment.problem.matrix.shape()
    return sorted({min(float(k), trace.last) for k in (d // 4, d // 2, d)})


def _heading(experiment: Experiment, trace: Trace) -> Text:
    run = experiment.run
    seeds = f"{run.replicas} replicas from seed {run.seed}" if run.replicas > 1 else f"seed {run.seed}"
    lines = (
        (experiment.title, "bold"),
        (" ".join(experiment.story.split()), ""),
        (experiment.source, "dim"),
        (f"{trace.environment['device']}, {trace.environment['dtype']}, {seeds}", "dim"),
    )
    return Text("\n").join(Text(line, style) for line, style in lines if line)


def _chart(trace: Trace, console: Console) -> Text:
    low, high = CHART_HEIGHTS
    height = min(high, max(low, console.height - LINES_BESIDE_CHART)) if console.is_terminal else low + 4
    series = loss_series(trace, trace.last)
    colours = console.color_system is not None and not console.no_color
    chart = printed(
        series, loss_axes(trace, series), min(console.width, WIDEST_CHART), height, colour=colours
    )
    return Text.from_ansi(f"\n{chart}", no_wrap=True, overflow="crop")


def _losses(trace: Trace, where: Sequence[float], width: int) -> Padding:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("\nlearner", min_width=6)
    shown = [column for column in range(len(COLUMNS)) if width >= NARROW or column not in SPARED]
    for column in shown:
        heading, justify = COLUMNS[column]
        table.add_column(heading, justify=justify, no_wrap=True)
    for number, curve in enumerate(trace.curves):
        name = Text(f"{mark(number)} {curve.name}", colour(number))
        invariant = INVARIANT.get(curve.verdict.invariant, str(curve.verdict.invariant))
        cells = [(invariant,), *zip(*(_row(trace, curve, x) for x in where), strict=True)]
        table.add_row(name, *("\n".join(cells[column]) for column in shown), end_section=True)
    return Padding(table, (1, 0, 0, 0))


def _row(trace: Trace, curve: Curve, x: float) -> Iterator[str]:
    """The cells of COLUMNS at x, from k on; a bound that does not bind the learner is in parentheses."""
    yield f"{x:g}"
    at = np.flatnonzero(curve.x == x)
    loss = float(curve.loss[at[0]]) if len(at) else None
    if loss is None:
        yield "diverged" if curve.diverged_at is not None else NOTHING
    elif curve.stderr is None:
        yield _number(loss)
    else:
        yield f"{_number(loss)} ± {curve.stderr[at[0]]:.1g}"
    bound = trace.strongest(curve.learner, x)
    if bound is None:
        yield from (NOTHING, NOTHING, NOTHING)
        return
    value, binds = bound.at(x), curve.learner in bound.applies_to
    ratio = NOTHING if loss is None or value < ZERO else _number(loss / value)
    yield _number(value) if binds else f"({_number(value)})"
    yield f"{bound.kind}?" if bound.sense == "conjecture" else bound.kind
    yield ratio if binds or ratio == NOTHING else f"({ratio})"


def _notes(trace: Trace, where: Sequence[float], strayed: Sequence[str]) -> Iterator[Text]:
    """What the signs in the table mean, and who diverged."""
    compared = [(curve, trace.strongest(curve.learner, x)) for curve in trace.curves for x in where]
    if any(bound is not None and curve.learner not in bound.applies_to for curve, bound in compared):
        yield Text("(…) a bound that does not bind this learner: the line it may beat", "dim")
    if any(bound is not None and bound.sense == "conjecture" for _, bound in compared):
        yield Text("…? a conjecture, not proved", "dim")
    for curve in trace.curves:
        if curve.learner in strayed:
            text = f"✗ {curve.name} diverged at k = {curve.diverged_at:g}, and no claim expects it"
            yield Text(text, "bold red")
        elif curve.diverged_at is not None:
            yield Text(f"{curve.name} diverged at k = {curve.diverged_at:g}, as claimed")


def _number(value: float) -> str:
    """Four decimals, or the scientific notation where these say little; 0 for what is 0 up to rounding."""
    if abs(value) < ZERO:
        return "0"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"


def _bounds(bounds: Sequence[BoundCurve]) -> Iterator[ConsoleRenderable]:
    yield Text("\nBounds", "bold")
    explained: dict[str, dict[str, Finding]] = {}
    for bound in bounds:
        if not bound.on_problem.holds:
            continue
        yield Text.assemble(
            (bound.kind, "bold"), f": {bound.formula}, {NAMES[bound.sense]}", (f"; {bound.source}", "dim")
        )
        yield _indented(f"holds here: {bound.on_problem.reason}")
        same = next((kind for kind, findings in explained.items() if findings == bound.on_learners), None)
        if same is not None:
            yield _indented(f"binds whom {same} binds, for the same reasons")
            continue
        explained[bound.kind] = bound.on_learners
        reasons = Table.grid(padding=(0, 2, 0, 0))
        for finding in bound.on_learners.values():
            reasons.add_row("binds" if finding.holds else "does not bind", finding.reason)
        yield Padding(reasons, (0, 0, 0, 2))
    for bound in bounds:
        if not bound.on_problem.holds:
            yield Text(f"not here: {bound.kind}: {bound.on_problem.reason}", "dim")


def _claims(outcomes: Sequence[Outcome], changed: bool) -> Iterator[ConsoleRenderable]:
    if outcomes:
        yield Text("\nClaims", "bold")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for outcome in outcomes:
        sign = Text("✓ holds", "green") if outcome.holds else Text("✗ fails", "bold red")
        measured = outcome.detail if outcome.measured is None else f"measured: {outcome.detail}"
        grid.add_row(sign, Group(outcome.claim.text, Text(measured, "dim")))
    yield grid
    if changed and not all(outcome.holds for outcome in outcomes):
        yield Text("The claims were written for the preset's own settings, and --set changed them.", "yellow")


def _indented(line: str) -> Padding:
    return Padding(Text(line), (0, 0, 0, 2))
