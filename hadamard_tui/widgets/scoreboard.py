"""The table of learners: loss, bound and ratio at the point that is shown."""

from __future__ import annotations

import numpy as np
from rich.text import Text
from textual.widgets import DataTable

from engine.trace import ZERO, Curve, Trace
from hadamard_tui.drawing import colour, mark

COLUMNS = ("", "learner", "loss", "bound", "ratio", "invariant", "state")

WIDTHS = {"loss": 7, "bound": 9, "ratio": 7, "invariant": 9}
"""Columns whose numbers change have a fixed width, so that nothing moves in a run; the last may grow."""


class Scoreboard(DataTable[Text]):
    """One row per learner. A cell is written only when its text changes."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._texts: dict[tuple[str, str], str] = {}

    def on_mount(self) -> None:
        for column in COLUMNS:
            self.add_column(column, key=column, width=WIDTHS.get(column))

    def show(self, names: list[str]) -> None:
        """Start with one empty row per learner."""
        self.clear()
        self._texts.clear()
        for number, name in enumerate(names):
            cells = [Text(mark(number), style=f"bold {colour(number)}"), Text(name, style=colour(number))]
            self.add_row(*cells, *[Text("")] * (len(COLUMNS) - 2), key=str(number))

    def update(self, trace: Trace, shown: float) -> None:
        """Show the numbers at x = `shown`; a learner that tries several rates has a row for each."""
        if self.row_count != len(trace.curves):
            self.show([curve.name for curve in trace.curves])
        for number, curve in enumerate(trace.curves):
            for column, text in row(trace, curve, shown).items():
                if self._texts.get((str(number), column)) != text:
                    self._texts[str(number), column] = text
                    bad = column == "state" and text.startswith("diverged")
                    cell = Text(text, style="bold red" if bad else "", justify="left")
                    self.update_cell(str(number), column, cell, update_width=column == "state")


def row(trace: Trace, curve: Curve, shown: float) -> dict[str, str]:
    """The texts of a learner's row by column."""
    invariant = curve.verdict.invariant
    texts = {"invariant": {True: "yes", False: "no"}.get(invariant, str(invariant))}  # type: ignore[arg-type]
    count = int(np.searchsorted(curve.x, shown, side="right"))
    if not count:
        return texts | {"state": "waiting"}
    x, loss = float(curve.x[count - 1]), float(curve.loss[count - 1])
    bound = trace.strongest(curve.learner, x)
    texts |= {"loss": _decimals(loss, 5), "state": state(curve, trace, shown)}
    if bound is None:
        return texts | {"bound": "none", "ratio": "–"}
    height = bound.at(x)
    own = curve.learner in bound.applies_to
    ratio = _decimals(loss / height, 3) if height > ZERO else "–"
    text = _decimals(height, 5)
    return texts | {"bound": text if own else f"({text})", "ratio": ratio}


def _decimals(number: float, count: int) -> str:
    """A number within its column: with so many decimals, or in powers of ten where these would not fit."""
    text = f"{number:.{count}f}"
    return text if len(text) <= count + 3 else f"{number:.1e}"


def state(curve: Curve, trace: Trace, shown: float) -> str:
    """Where a learner stands, in words."""
    if curve.diverged_at is not None and shown >= curve.diverged_at:
        return f"diverged at k = {curve.diverged_at:g}"
    return "done" if shown >= trace.last else "learning"
