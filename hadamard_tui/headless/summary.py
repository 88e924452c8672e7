"""Output of a run: the chart, the losses beside the bounds, the theory lines, and the claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, ConsoleRenderable
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.pictures.view import WHY_INACCURATE
from engine.results.outcomes import expected_to_diverge
from hadamard_tui.charts.line_heads import head, whole_name
from hadamard_tui.headless import losses
from hadamard_tui.headless.pictures import chart, claims, pictures, said_of

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.results.trace import Curve, TheoryLine, Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.headless.outcome import Done


def show(
    done: Done,
    console: Console,
    changed: bool,
    bounds: bool = False,
    notes: bool = False,
    onward: Sequence[str] = (),
) -> None:
    """Print a finished run.

    Args:
        changed: whether --set changed the preset for which the claims were written.
        bounds: whether to say of every line of theory whom it binds and why, or why it does not hold here.
        notes: whether to say how it was computed.
        onward: sentences about where to go from here.
    """
    experiment, trace = done.experiment, done.trace
    where, run = checkpoints(trace), losses.views(experiment, trace)
    losses_alone = (
        Text(""),
        chart(run["loss"], console),
        said_of(run["loss"], experiment, done.outcomes),
        losses.table(run, where, console.width),
        *losses.signs(run["loss"], where),
        *claims(done.outcomes),
    )
    for part in (
        _heading(experiment, trace),
        *(pictures(done.results, done.outcomes, console) if done.has_pictures else losses_alone),
        *_divergence(experiment, trace, done.strayed),
        *_about_claims(done.outcomes, changed),
        *(_lines(trace.theorems) if bounds else ()),
        *(losses.notes(trace) if notes else ()),
        *([Text("\n" + "\n".join(onward))] if onward else []),
        *_more(bounds, notes),
    ):
        console.print(part)


def checkpoints(trace: Trace) -> list[float]:
    """Return the places on x for the table: the first records from ¼ and from ½ of it on, and the last."""
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


def _divergence(experiment: Experiment, trace: Trace, strayed: Sequence[str]) -> Iterator[Text]:
    """Yield the learners that diverged or lost accuracy, and whether a claim says so."""
    claimed, clock = expected_to_diverge(experiment), experiment.protocol.clock
    for curve in trace.curves:
        if curve.learner in strayed:
            unexpected = "" if curve.inaccurate.any() else ", and no claim expects it"
            yield Text(f"✗ {_diverged(curve, clock)}{unexpected}", "bold red")
        elif curve.diverged:
            yield Text(f"{_diverged(curve, clock)}{', as claimed' if curve.learner in claimed else ''}")


def _diverged(curve: Curve, clock: str) -> str:
    """Return where a learner diverged or lost accuracy, and in how many replicas."""
    why = f": {WHY_INACCURATE}" if curve.inaccurate.any() else ""
    if curve.replicas == 1:
        return f"{curve.name} {curve.fate} at {clock} = {curve.diverged_at:g}{why}"
    extent = (
        f"in {curve.diverged} of {curve.replicas} replicas, in the first at {clock} = {curve.diverged_at:g}"
    )
    means = "" if curve.diverged == curve.replicas else "; from then on means exclude them"
    return f"{curve.name} {curve.fate} {extent}{means}{why}"


def _more(bounds: bool, notes: bool) -> Iterator[Text]:
    """Yield what other options print."""
    options = {
        "--bounds lists the theory lines that apply here, the learners that they bind, and why": not bounds,
        "--notes shows how it was computed": not notes,
    }
    if any(options.values()):
        yield Text(f"\n{'; '.join(words for words, wanted in options.items() if wanted)}", "dim")


def _lines(lines: Sequence[TheoryLine]) -> Iterator[ConsoleRenderable]:
    """Yield each theory line with the learners that it binds, and why; then those that do not hold here."""
    yield Text("\nTheory", "bold")
    explained: list[TheoryLine] = []
    for line in lines:
        if not line.on_problem.holds:
            continue
        yield head(line.statement)
        yield _indented(f"holds here: {line.on_problem.reason}")
        same = next((other for other in explained if other.on_learners == line.on_learners), None)
        if same is not None:
            yield _indented(f"binds whom the {whole_name(same.statement)} binds, for the same reasons")
            continue
        explained.append(line)
        reasons = Table.grid(padding=(0, 2, 0, 0))
        for finding in line.on_learners.values():
            reasons.add_row("binds" if finding.holds else "does not bind", finding.reason)
        yield Padding(reasons, (0, 0, 0, 2))
    for line in lines:
        if not line.on_problem.holds:
            yield Text(f"not applicable: the {whole_name(line.statement)} {line.on_problem.reason}", "dim")


def _about_claims(outcomes: Sequence[Outcome], changed: bool) -> Iterator[Text]:
    """Yield why claims may fail, if some do."""
    if changed and any(outcome.holds is False for outcome in outcomes):
        yield Text("The claims were written for the preset's own settings, and --set changed them.", "yellow")


def _indented(line: str) -> Padding:
    return Padding(Text(line), (0, 0, 0, 2))
