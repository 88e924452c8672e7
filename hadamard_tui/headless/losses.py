"""Table of losses beside the bounds, with other measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.backends import backends
from engine.core.expressions import number
from engine.core.groups import TRIVIAL
from engine.pictures.bounds import strongest_bound
from engine.pictures.view import ZERO
from engine.pictures.wording import line_in_brief, listed
from engine.results.results import of_one
from engine.results.views import view
from engine.spec.experiment import of_run
from hadamard_tui.charts.series_builder import colour_of, letter_of
from hadamard_tui.colours.contrast import legible

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment

COLUMNS: dict[str, tuple[str, JustifyMethod]] = {
    "invariant": ("rotation\ninvariant", "left"),
    "k": ("\nk", "right"),
    "loss": ("\nloss", "right"),
    "error": ("0/1\nerror", "right"),
    "train": ("loss on\nseen", "right"),
    "unseen": ("loss on\nunseen", "right"),
    "rank": ("\nrank", "right"),
    "bound": ("lower\nbound", "right"),
    "which": ("\nwhich", "left"),
    "ratio": ("loss /\nbound", "right"),
}
MEASURES = ("error", "train", "unseen", "rank")
"""Columns that appear only if their measure has values."""

NARROW, MEASURE = 72, 9
"""Width below which two columns go that the text below the table repeats: a base, and more per measure."""

NOTHING = "—"


def views(experiment: Experiment, trace: Trace) -> dict[str, View]:
    """Return the views of the table, by measure."""
    results = of_one(experiment, trace)
    return {name: view(of_run(experiment, name), results) for name in ("loss", *MEASURES)}


def table(run: Mapping[str, View], where: Sequence[float], width: int) -> Padding:
    """Return one row per curve and, within it, one line per place of `where`."""
    losses = run["loss"]
    measured = [name for name in MEASURES if run[name].curves]
    spared = set(MEASURES) - set(measured)
    if width < NARROW + MEASURE * len(measured):
        spared.add("which")
    if width < NARROW + MEASURE * (len(measured) - 1):
        spared.add("invariant")
    shown = [name for name in COLUMNS if name not in spared]
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("\nlearner", min_width=6)
    columns = COLUMNS | {"k": (f"\n{losses.axes.x_label.split()[-1]}", COLUMNS["k"][1])}
    for heading, justify in (columns[name] for name in shown):
        grid.add_column(heading, justify=justify, no_wrap=True)
    for curve in losses.curves:
        name = f"{letter_of(curve)} {curve.name}".strip()
        learner = Text(f"{name}{_rate(losses, curve)}", legible(colour_of(curve)))
        lines = [_line(run, curve, x) for x in where]
        cells = {column: "\n".join(line[column] for line in lines) for column in shown if column in lines[0]}
        cells["invariant"] = NOTHING if curve.training.verdict is None else curve.training.verdict.answer
        grid.add_row(learner, *(cells[column] for column in shown), end_section=True)
    return Padding(grid, (1, 0, 0, 0))


def signs(losses: View, where: Sequence[float]) -> Iterator[Text]:
    """Yield the meanings of the signs in the table."""
    compared = [(curve, strongest_bound(losses, curve, x)) for curve in losses.curves for x in where]
    if any(bound is not None and not bound.binds(curve) for curve, bound in compared):
        yield Text("(…) a bound that does not bind this learner: the line it may beat", "dim")
    turned = {bound for curve, bound in compared if bound is not None and bound.group == TRIVIAL}
    axes = [
        curve
        for curve in losses.curves
        if curve.training.verdict is not None and not curve.training.verdict.invariant
    ]
    names = [curve.name for curve in axes if any(bound.binds(curve) for bound in turned)]
    if names:
        reason = "not rotation invariant, yet bound, because the data are rotated at random"
        yield Text(f"{listed(names)}: {reason}", "dim")
    if any(bound is not None and bound.direction == "conjecture" for _, bound in compared):
        yield Text("…? a conjecture, not proved", "dim")


def notes(trace: Trace) -> Iterator[Text]:
    """Yield the backends of the curves, and the results of the rates that were tried."""
    for backend in backends().values():
        names = ", ".join(curve.name for curve in trace.curves if curve.backends[-1] == backend.name)
        if backend.words and names:
            words = f"computed {backend.words} ({backend.name}): {names}; --path dense takes the matrix"
            yield Text(words, "dim")
    for curve in trace.curves:
        if curve.grid:
            tried = ", ".join(f"{rate:.3g}: {_mean(mean)}" for rate, mean in curve.grid.items())
            yield Text(f"{curve.name} tried η = (mean of the curve) {tried}", "dim")


def _rate(losses: View, curve: CurveView) -> str:
    """Return the oracle-tuned rate, on a line of its own."""
    if curve.training.grid:
        return f"\n  η={curve.training.rate:.4g}, best of {len(curve.training.grid)}"
    rivals = sum(other.learner == curve.learner for other in losses.curves)
    return f"\n  best of {rivals} rates" if rivals > 1 and curve.chosen else ""


def _line(run: Mapping[str, View], curve: CurveView, x: float) -> dict[str, str]:
    """Return the cells at x by column; a bound that does not bind the learner is in parentheses."""
    loss = _at(run["loss"], curve.name, x)
    cells = {"k": f"{x:g}", "bound": NOTHING, "which": NOTHING, "ratio": NOTHING}
    if loss is None:
        cells["loss"] = curve.ends.fate if curve.ends.diverged_at is not None else NOTHING
    elif curve.stderr is None:
        cells["loss"] = _number(loss)
    else:
        cells["loss"] = f"{_number(loss)} ± {number(float(curve.stderr[curve.place(x)]), 1)}"
    for name in MEASURES:
        value = _at(run[name], curve.name, x)
        cells[name] = NOTHING if value is None else f"{value:g}" if name == "rank" else f"{value:.4f}"
    if (bound := strongest_bound(run["loss"], curve, x)) is not None:
        height = bound.at(x)
        template = "{}" if bound.binds(curve) else "({})"
        cells["bound"] = template.format(_number(height))
        which = line_in_brief(run["loss"], bound)
        cells["which"] = f"{which}?" if bound.direction == "conjecture" else which
        if loss is not None and height >= ZERO:
            cells["ratio"] = template.format(_number(loss / height))
    return cells


def _at(measured: View, name: str, x: float) -> float | None:
    """Return the value of a curve at x; None without one."""
    curve = next((curve for curve in measured.curves if curve.name == name), None)
    place = None if curve is None else curve.place(x)
    if curve is None or place is None or np.isnan(curve.y[place]):
        return None
    return float(curve.y[place])


def _mean(mean: float) -> str:
    """Return the mean of a curve, by which rates are compared."""
    return _number(mean) if np.isfinite(mean) else "diverged"


def _number(value: float) -> str:
    """Return four decimals, or scientific notation if these say little; "0" for 0 up to rounding."""
    if abs(value) < ZERO:
        return "0"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"
