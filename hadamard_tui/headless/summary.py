"""Output of the command `run`: the chart, the losses and bounds, the theory lines, and the claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleRenderable, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.backends import backends
from engine.core.expressions import number
from engine.core.groups import TRIVIAL
from engine.pictures.bounds import strongest_bound
from engine.pictures.view import WHY_INACCURATE, ZERO, index_at
from engine.pictures.wording import line_in_brief, listed
from engine.results.outcomes import expected_to_diverge
from engine.results.results import of_one
from engine.results.views import view
from engine.spec.experiment import of_run
from hadamard_tui.charts.line_heads import head, whole_name
from hadamard_tui.charts.plots.series_builder import colour_of, letter_of
from hadamard_tui.colours.contrast import legible
from hadamard_tui.headless.pictures import chart, claims, pictures, said_of

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.pictures.view import CurveView, View
    from engine.results.trace import Curve, TheoryLine, Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.headless.compute import Done


COLUMNS: dict[str, tuple[str, JustifyMethod]] = {
    "invariant": ("rotation\ninvariant", "left"),
    "k": ("\nk", "right"),
    "loss": ("\nloss", "right"),
    "error": ("0/1\nerror", "right"),
    "train": ("loss on\nseen rows", "right"),
    "unseen": ("loss on\nunseen rows", "right"),
    "rank": ("\nrank", "right"),
    "bound": ("lower\nbound", "right"),
    "which": ("\nwhich", "left"),
    "ratio": ("loss /\nbound", "right"),
}
MEASURES = ("error", "train", "unseen", "rank")
"""Columns of the table of losses that appear only if their measure has values."""

NARROW, MEASURE = 72, 9
"""Table width below which two optional columns are left out.

It is the sum of a base width and of a width for each measure.
"""

NOTHING = "—"


def loss_views(experiment: Experiment, trace: Trace) -> dict[str, View]:
    results = of_one(experiment, trace)
    return {
        measure_name: view(of_run(experiment, measure_name), results) for measure_name in ("loss", *MEASURES)
    }


def loss_table(run: Mapping[str, View], where: Sequence[float], width: int) -> Padding:
    """Return a table of losses. Each curve has one line of text for each x in `where`."""
    losses = run["loss"]
    measured = [measure_name for measure_name in MEASURES if run[measure_name].curves]
    spared = set(MEASURES) - set(measured)
    if width < NARROW + MEASURE * len(measured):
        spared.add("which")
    if width < NARROW + MEASURE * (len(measured) - 1):
        spared.add("invariant")
    shown = [column_name for column_name in COLUMNS if column_name not in spared]
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("\nlearner", min_width=6)
    columns = COLUMNS | {"k": (f"\n{losses.axes.x_label.split()[-1]}", COLUMNS["k"][1])}
    for heading, justify in (columns[name] for name in shown):
        grid.add_column(heading, justify=justify, no_wrap=True)
    for curve in losses.curves:
        name = f"{letter_of(curve)} {curve.name}".strip()
        learner = Text(f"{name}{_rate_note(losses, curve)}", legible(colour_of(curve)))
        lines = [_row_cells(run, curve, x) for x in where]
        cells = {column: "\n".join(line[column] for line in lines) for column in shown if column in lines[0]}
        cells["invariant"] = NOTHING if curve.training.verdict is None else curve.training.verdict.answer
        grid.add_row(learner, *(cells[column] for column in shown), end_section=True)
    return Padding(grid, (1, 0, 0, 0))


def loss_signs(losses: View, where: Sequence[float]) -> Iterator[Text]:
    compared = [(curve, strongest_bound(losses, curve, x)) for curve in losses.curves for x in where]
    if any(bound is not None and not bound.binds(curve) for curve, bound in compared):
        yield Text("(…) a bound that does not apply to this learner, whose loss may be lower", "dim")
    turned = {bound for curve, bound in compared if bound is not None and bound.group == TRIVIAL}
    axis_curves = [
        curve
        for curve in losses.curves
        if curve.training.verdict is not None and not curve.training.verdict.invariant
    ]
    names = [curve.name for curve in axis_curves if any(bound.binds(curve) for bound in turned)]
    if names:
        reason = "not rotation invariant, but the bound applies, because the data are rotated at random"
        yield Text(f"{listed(names)}: {reason}", "dim")
    if any(bound is not None and bound.direction == "conjecture" for _, bound in compared):
        yield Text("…? a conjecture, not proved", "dim")


def notes_on_learners(experiment: Experiment, trace: Trace) -> Iterator[Text]:
    for backend in backends().values():
        names = ", ".join(curve.name for curve in trace.curves if curve.backends[-1] == backend.name)
        if backend.words and names:
            words = f"{backend.words} ({backend.name}): {names}"
            yield Text(f"{words}; --path dense uses the matrix of instances", "dim")
    if names := ", ".join(learner.name for learner in experiment.learners if learner.is_net_by_net):
        yield Text(f"trained by a separate optimizer for each net: {names}", "dim")
    for curve in trace.curves:
        if curve.grid:
            tried = ", ".join(f"{rate:.3g}: {_mean_text(mean)}" for rate, mean in curve.grid.items())
            yield Text(f"{curve.name}: rates tried, each with the mean loss of its curve: {tried}", "dim")


def _rate_note(losses: View, curve: CurveView) -> str:
    if curve.training.grid:
        return f"\n  η={curve.training.rate:.4g}, best of {len(curve.training.grid)}"
    rivals = sum(other_curve.learner == curve.learner for other_curve in losses.curves)
    return f"\n  best of {rivals} rates" if rivals > 1 and curve.chosen else ""


def _row_cells(run: Mapping[str, View], curve: CurveView, x: float) -> dict[str, str]:
    """Return a curve's cells at x, by column.

    A bound that does not apply to the learner of the curve is in parentheses.
    """
    loss = _value_at(run["loss"], curve.name, x)
    cells = {"k": f"{x:g}", "bound": NOTHING, "which": NOTHING, "ratio": NOTHING}
    if loss is None:
        cells["loss"] = curve.ends.fate if curve.ends.diverged_at is not None else NOTHING
    elif curve.stderr is None:
        cells["loss"] = _number_text(loss)
    else:
        cells["loss"] = f"{_number_text(loss)} ± {number(float(curve.stderr[index_at(curve, x)]), 1)}"
    for measure_name in MEASURES:
        value = _value_at(run[measure_name], curve.name, x)
        cells[measure_name] = (
            NOTHING if value is None else f"{value:g}" if measure_name == "rank" else f"{value:.4f}"
        )
    if (bound := strongest_bound(run["loss"], curve, x)) is not None:
        height = bound.at(x)
        template = "{}" if bound.binds(curve) else "({})"
        cells["bound"] = template.format(_number_text(height))
        which = line_in_brief(run["loss"], bound)
        cells["which"] = f"{which}?" if bound.direction == "conjecture" else which
        if loss is not None and height >= ZERO:
            cells["ratio"] = template.format(_number_text(loss / height))
    return cells


def _value_at(measured: View, curve_name: str, x: float) -> float | None:
    curve = next((curve for curve in measured.curves if curve.name == curve_name), None)
    place = None if curve is None else index_at(curve, x)
    if curve is None or place is None or np.isnan(curve.y[place]):
        return None
    return float(curve.y[place])


def _mean_text(mean: float) -> str:
    return _number_text(mean) if np.isfinite(mean) else "diverged"


def _number_text(value: float) -> str:
    if abs(value) < ZERO:
        return "0"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"


def show(
    done: Done,
    console: Console,
    settings: Sequence[str] = (),
    bounds: bool = False,
    notes: bool = False,
    onward: Sequence[str] = (),
) -> None:
    """Print the results of a finished run.

    Args:
        settings: changes of the preset by --set.
        bounds: whether to print, for each theory line, its learners, or the reason why it applies to none.
        notes: whether to print the backends and the learning rates that were tried.
        onward: sentences about the next steps.
    """
    experiment, trace = done.experiment, done.trace
    where, run = checkpoints(trace), loss_views(experiment, trace)
    losses_alone = (
        Text(""),
        chart(run["loss"], console),
        said_of(run["loss"], experiment, done.outcomes),
        loss_table(run, where, console.width),
        *loss_signs(run["loss"], where),
        *claims(done.outcomes),
    )
    for part in (
        _heading(experiment, trace),
        *(pictures(done.results, done.outcomes, console) if done.has_pictures else losses_alone),
        *_divergence_lines(experiment, trace, done.strayed),
        *_warning_of_changes(done.outcomes, bool(settings)),
        *(_theory_section(trace.theorems) if bounds else ()),
        *(notes_on_learners(experiment, trace) if notes else ()),
        *([Text("\n" + "\n".join(onward))] if onward else []),
        *_unused_options(bounds, notes),
    ):
        console.print(part)


def checkpoints(trace: Trace) -> list[float]:
    """Return the x values in the table of losses, at most three.

    They are the first evaluation points at or after ¼ and ½ of the run, and the last evaluation point.
    """
    places = np.searchsorted(trace.x, trace.last * np.array([0.25, 0.5, 1.0]))
    return [float(x) for x in np.unique(trace.x[places])]


def _heading(experiment: Experiment, trace: Trace) -> Text:
    run, environment = experiment.run, trace.environment
    seeds = f"{run.replicas} replicas from seed {run.seed}" if run.replicas > 1 else f"seed {run.seed}"
    machine = f"{environment['device']}, {environment['dtype']}"
    lines = (
        (experiment.title, "bold"),
        (" ".join(experiment.story.split()), ""),
        (experiment.source, "dim"),
        (f"{machine}, {seeds}, about {environment['memory']} of memory", "dim"),
    )
    return Text("\n").join(Text(line, style) for line, style in lines if line)


def _divergence_lines(experiment: Experiment, trace: Trace, strayed: Sequence[str]) -> Iterator[Text]:
    """Yield a line about each learner that diverged or lost accuracy, and whether a claim expects this."""
    claimed, clock = expected_to_diverge(experiment), experiment.protocol.clock
    for curve in trace.curves:
        if curve.learner in strayed:
            unexpected = "" if curve.inaccurate.any() else ", and no claim expects it"
            yield Text(f"✗ {_divergence_phrase(curve, clock)}{unexpected}", "bold red")
        elif curve.diverged:
            yield Text(
                f"{_divergence_phrase(curve, clock)}{', as claimed' if curve.learner in claimed else ''}"
            )


def _divergence_phrase(curve: Curve, clock: str) -> str:
    why = f": {WHY_INACCURATE}" if curve.inaccurate.any() else ""
    if curve.replicas == 1:
        return f"{curve.name} {curve.fate} at {clock} = {curve.diverged_at:g}{why}"
    extent = f"in {curve.diverged} of {curve.replicas} replicas, first at {clock} = {curve.diverged_at:g}"
    means = "" if curve.diverged == curve.replicas else "; from then on, averages exclude these replicas"
    return f"{curve.name} {curve.fate} {extent}{means}{why}"


def _unused_options(bounds: bool, notes: bool) -> Iterator[Text]:
    options = {
        "--bounds lists the learners that each theory line applies to, or why it does not apply": not bounds,
        "--notes shows how the run was computed": not notes,
    }
    if any(options.values()):
        yield Text(f"\n{'; '.join(words for words, wanted in options.items() if wanted)}", "dim")


def _theory_section(lines: Sequence[TheoryLine]) -> Iterator[ConsoleRenderable]:
    """Yield each theory line with the learners that it applies to, and the reasons.

    Theory lines that do not hold for this problem come last.
    """
    yield Text("\nTheory", "bold")
    explained: list[TheoryLine] = []
    for line in lines:
        if not line.on_problem.holds:
            continue
        yield head(line.statement)
        yield _indented(f"holds here: {line.on_problem.reason}")
        same = next((other for other in explained if other.on_learners == line.on_learners), None)
        if same is not None:
            yield _indented(
                f"applies to the same learners as the {whole_name(same.statement)}, for the same reasons"
            )
            continue
        explained.append(line)
        reasons = Table.grid(padding=(0, 2, 0, 0))
        for finding in line.on_learners.values():
            reasons.add_row("applies" if finding.holds else "does not apply", finding.reason)
        yield Padding(reasons, (0, 0, 0, 2))
    for line in lines:
        if not line.on_problem.holds:
            yield Text(f"not applicable: the {whole_name(line.statement)} {line.on_problem.reason}", "dim")


def _warning_of_changes(outcomes: Sequence[Outcome], changed: bool) -> Iterator[Text]:
    if changed and any(outcome.holds is False for outcome in outcomes):
        yield Text("The claims were written for the preset's own settings, and --set changed them.", "yellow")


def _indented(line: str) -> Padding:
    return Padding(Text(line), (0, 0, 0, 2))
