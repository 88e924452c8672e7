"""Panel: verdict on the selected learner, and for each theory line whether it applies, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from engine.core.parts import BadInput
from engine.pictures.bounds import strongest_bound
from engine.pictures.view import FROM_BELOW
from engine.problems.examples import can_excerpt, excerpt
from hadamard_tui.charts.line_heads import head, meaning, proof, standing, whole_name
from hadamard_tui.panels.panel import Panel
from hadamard_tui.panels.weights import target_feature

if TYPE_CHECKING:
    from engine.problems.matrices import Rows
    from engine.results.trace import Curve, TheoryLine
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext

ROWS_BEFORE = 4
"""Maximum number of rows that are drawn before the new row.

Four rows suffice to see whether all inner products with the new row are equal.
"""

MOST_FEATURES = 32
"""Maximum number of features that are drawn. With the text beside them, they fit into 80 columns."""

MOST_WEIGHED = 1 << 14
"""Maximum number of features for which complete rows, and thus inner products, are computed."""

ROUNDING = 1e-12
"""Size, relative to the lengths of both rows, up to which an inner product counts as 0 in float64."""

SHADES = "·░▒▓█"
"""Characters that show entries of the matrix, from the smallest to the largest entry."""


def new_row(context: PanelContext) -> Text | None:
    """Return a drawing of the next matrix row that learners see, and of the rows before it.

    The next row is the first row after the examples seen at the playhead. After the last example, the drawing
    shows the last row instead. The result is None before the first example, if the clock of the run does not
    count examples, or if the matrix is too large.
    """
    experiment = context.experiment
    matrix, n, d = experiment.problem.matrix, experiment.n, experiment.d
    new = min(int(context.trace.clocks_at(context.place)["k"]), n - 1)
    try:
        if experiment.protocol.clock != "k" or new < 1 or not can_excerpt(matrix):
            return None
    except BadInput:
        return None
    target = target_feature(experiment)
    first = min(max((target or 0) - MOST_FEATURES // 2, 0), max(d - MOST_FEATURES, 0))
    rows = slice(max(new - ROWS_BEFORE, 0), new + 1)
    features = slice(0, d) if d <= MOST_WEIGHED else slice(first, first + MOST_FEATURES)
    entries = excerpt(matrix, experiment.run.seed, rows, features)
    drawn = entries[:, first : first + MOST_FEATURES] if d <= MOST_WEIGHED else entries
    labels = None if target is None else entries[:, target - features.start]
    products = _inner_products(entries) if d <= MOST_WEIGHED else None
    return _drawn_matrix(drawn, range(rows.start + 1, new + 2), first, d, target, labels, products)


def _inner_products(entries: Rows) -> Rows:
    """Return the inner products of the last row with all other rows. Rounding errors become 0."""
    lengths = np.linalg.norm(entries, axis=1)
    products = entries[:-1] @ entries[-1]
    return np.where(abs(products) > ROUNDING * lengths[:-1] * lengths[-1], products, 0.0)


def _drawn_matrix(
    entries: Rows,
    numbers: range,
    first: int,
    d: int,
    target: int | None,
    labels: Rows | None,
    products: Rows | None,
) -> Text:
    """Return a drawing with one line for each matrix row in `entries`, [rows, features].

    The last row is the new row, whose label is drawn as a question mark. Each other line shows a row, its
    label, and its inner product with the new row.
    """
    low, high = float(entries.min()), float(entries.max())
    spread = (entries - low) / ((high - low) or 1.0)
    shades = np.array(list(SHADES))[np.rint(spread * (len(SHADES) - 1)).astype(int)]
    words = f"row {numbers[-1]}, new"
    width, last = len(words), first + entries.shape[1]
    shown = f"features {first} to {last - 1}" if entries.shape[1] < d else "all features"
    text = Text.assemble(
        "\n",
        (f"Row {numbers[-1]} of the instances is new; the learners have seen the rows above", "bold"),
        (f" ({shown}; {SHADES[-1]} is {_number_text(high)}, {SHADES[0]} is {_number_text(low)})\n", "dim"),
    )
    heading = (
        " " * entries.shape[1] if target is None else f"{' ' * (target - first)}▼".ljust(entries.shape[1])
    )
    text.append(f"{'':{width}}  {heading}")
    text.append("" if labels is None else "  label")
    text.append("" if products is None else "  inner product")
    for place, number in enumerate(numbers):
        is_new = place == len(numbers) - 1
        text.append(f"\n{words if is_new else f'row {number}':{width}}  ", "bold" if is_new else "")
        text.append("".join(shades[place]), "bold" if is_new else "dim")
        if labels is not None:
            text.append(f"  {'?' if is_new else _number_text(labels[place]):>5}")
        if products is not None and not is_new:
            text.append(f"  {_number_text(products[place]):>13}")
    return text.append("\n")


def _number_text(quantity: float) -> str:
    return f"{quantity:.3g}".replace("-", "−")


def show(context: PanelContext) -> Text:
    from engine.backends import backends

    curve = context.curve
    text = reason_text(context.experiment)
    text.append_text(
        Text.assemble(
            (curve.name, "bold"), " is ", (curve.verdict.word, "bold"), f": {curve.verdict.reason}.\n"
        )
    )
    if words := backends()[curve.backends[-1]].words:
        how = f"The curve is {words} ({curve.backend})"
        text.append(f"{how}; the backend “dense” uses the matrix of instances.\n", "dim")
    applicable = [theorem for theorem in context.trace.theorems if theorem.on_problem.holds]
    picture = new_row(context)
    losses = context.loss.view
    strongest = strongest_bound(losses, losses.curve(curve.name), context.place)
    kind = "" if strongest is None else strongest.kind
    bounds = [
        line
        for line in applicable
        if line.on_learners[curve.learner].holds and line.statement.direction == "lower"
    ]
    if len(bounds) > 1:
        count = f"{len(bounds)} lower bounds apply to {curve.learner} in this run."
        text.append(f"\n{count} The highest is first.\n")
    for line in sorted(applicable, key=lambda line: _sort_rank(line, curve.learner, kind)):
        text.append("\n").append_text(_line_text(line, curve.learner, curve.verdict.reason))
        if picture is not None and line.on_learners[curve.learner].holds and proof(line.kind):
            text.append_text(picture)
            picture = None
    if curve.grid:
        text.append("\n").append_text(_grid_text(curve))
    if elsewhere := [theorem for theorem in context.trace.theorems if not theorem.on_problem.holds]:
        text.append("\n").append_text(_elsewhere_text(elsewhere, context.lists_by))
    return text


def reason_text(experiment: Experiment) -> Text:
    reason = experiment.reason.strip()
    return Text(f"{reason}\n\n" if reason else "")


def _sort_rank(line: TheoryLine, learner_name: str, strongest: str) -> tuple[int, bool]:
    """Return the sort key of a theory line: first lines that apply, then other lower bounds, then the rest.

    `strongest` is the kind of the highest lower bound, which comes before other lines of the same rank.
    """
    is_bound = line.statement.direction in FROM_BELOW
    rank = 0 if line.on_learners[learner_name].holds else 1 if is_bound else 2
    return rank, line.kind != strongest


def _line_text(line: TheoryLine, learner_name: str, reason: str) -> Text:
    """Return the statement of a theory line, and whether and why the line applies to a learner.

    Args:
        reason: reason of the learner's verdict. The panel states it once above all theory lines, so the text
            omits every reason that ends with it.
    """
    stands = standing(line, learner_name)
    words = f"\n  {meaning(line.kind)}\n  "
    finding = line.on_learners[learner_name]
    reasons = [finding.reason, stands.reason] if finding.holds else [stands.reason]
    reasons = [text for text in dict.fromkeys(reasons) if text and not text.endswith(reason)]
    why = f": {'; '.join(reasons)}" if reasons else ""
    text = Text.assemble(head(line.statement), (words, "italic"), (stands.words, stands.style), f"{why}.\n")
    if line.on_learners[learner_name].holds and (idea := proof(line.kind)):
        text.append(f"{idea}\n", "dim")
    return text


def _elsewhere_text(lines: Sequence[TheoryLine], lists_by: str) -> Text:
    """Return the theory lines that do not apply to the problem, or their number and how to list them."""
    verb = "lines do" if len(lines) > 1 else "line does"
    words = f"{len(lines)} {verb} not apply to this set-up"
    if lists_by:
        return Text(f"{words}; {lists_by}.\n", "dim")
    text = Text.assemble((words, "bold"), "\n")
    for line in lines:
        text.append(f"  {whole_name(line.statement)}: {line.on_problem.reason}\n", "dim")
    return text


def _grid_text(curve: Curve) -> Text:
    text = Text.assemble(
        ("Rates tried", "bold"), ". The best rate has the least mean loss over the curve (oracle-tuned).\n"
    )
    for rate, loss in sorted(curve.grid.items()):
        best = rate == curve.rate
        text.append(
            f"  η = {rate:<9.4g} {loss:<10.5g}{'  the best' if best else ''}\n", "bold" if best else ""
        )
    return text


PANEL = Panel(
    "why", "for the selected learner: which bounds apply, which do not, and why", show, place=20, word="why?"
)
