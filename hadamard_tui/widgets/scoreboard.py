"""The table of learners: loss, bound and ratio at the place that is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from engine.results.trace import ZERO, Curve, Trace
from hadamard_tui.charts.series_builder import colour, mark, pinned_colour
from hadamard_tui.panels.context import PanelContext

WIDTHS = {"": 1, "learner": 10, "loss": 7, "bound": 9, "ratio": 7, "state": 8, "rate": 19, "invariant": 12}
"""The least width of every column. Fixed, so that nothing moves in a run."""

OPTIONAL = ("rate", "invariant")
"""The columns that are there only where there is room."""

LEGIBLE = 18
"""So much of a learner's name comes before any of these."""

ORDER = ("", "learner", "loss", "bound", "ratio", "invariant", "rate", "state")
"""The order of the columns on the screen."""

PADDING, WHOLE_STATE, WHOLE_RATE = 2, 20, 28

CUTS = {"state": " at ", "rate": ":"}
"""Where the text of a column is cut if it is too long for it."""


def columns(width: int, names: list[str], rates: bool) -> dict[str, int]:
    """The columns that fit into a width, with their own widths.

    Args:
        names: of the learners; their column grows to LEGIBLE before others join, then to the longest.
        rates: whether any learner has a rate to be told, found in hindsight or one of several.
    """
    chosen = {name: wide for name, wide in WIDTHS.items() if name not in OPTIONAL}

    def spare() -> int:
        return max(0, width - sum(chosen.values()) - PADDING * len(chosen))

    def grow(name: str, most: int) -> None:
        if name in chosen:
            chosen[name] += max(0, min(spare(), most - chosen[name]))

    longest = max(map(cell_len, names), default=0)
    grow("learner", min(longest, LEGIBLE))
    for name in OPTIONAL:
        if (name != "rate" or rates) and WIDTHS[name] + PADDING <= spare():
            chosen[name] = WIDTHS[name]
    grow("learner", longest)
    grow("rate", WHOLE_RATE)
    grow("state", WHOLE_STATE)
    return {name: chosen[name] for name in ORDER if name in chosen}


class Scoreboard(DataTable[Text], inherit_bindings=False):
    """One row per learner, then one per learner of every pinned run. A cell is written when it changes.

    It has up and down alone: left and right, home and end move the playhead, whatever has the focus.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", show=False),
        Binding("down", "cursor_down", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._texts: dict[tuple[str, str], Text] = {}
        self._names: list[tuple[str, str, str]] = []
        self._rates = False
        self._width = 0
        self.shape: dict[str, int] = {}
        """The columns that are there, and their widths."""

    def fit(self, width: int) -> None:
        """Lay the columns out anew for a width, a scrollbar's included."""
        if width != self._width:
            self._width, self.shape = width, {}
            self._lay_out()

    def name_learners(self, numbers: Mapping[str, int]) -> None:
        """Start with one empty row per learner, by the names and numbers of all."""
        self._texts.clear()
        self.shape = {}
        self._rows([(mark(number), name, colour(number)) for name, number in numbers.items()], False)

    def show(self, context: PanelContext) -> None:
        """Show the numbers at the place; a learner that tries several rates has a row for each."""
        runs = [
            (0, "", context.trace),
            *((n, name, trace) for n, (name, trace) in enumerate(context.pinned, 1)),
        ]
        lines = [
            (
                mark(number).lower() if run else mark(number),
                f"{curve.name} · {name}" if run else curve.name,
                pinned_colour(number, run) if run else colour(number),
                trace,
                curve,
            )
            for run, name, trace in runs
            for number, curve in zip(context.letters.of(trace), trace.curves, strict=True)
        ]
        rates = any(curve.rate is not None for *_, curve in lines)
        self._rows([(letter, name, tint) for letter, name, tint, _, _ in lines], rates)
        for number, (*_, trace, curve) in enumerate(lines):
            stopped = context.stopped and trace is context.trace and context.place >= context.shown
            for column, text in row(trace, curve, context.place, stopped).items():
                self._write(number, column, text)

    def _rows(self, names: list[tuple[str, str, str]], rates: bool) -> None:
        if names != self._names or rates != self._rates:
            self._names, self._rates, self.shape = names, rates, {}
        self._lay_out()

    def _lay_out(self) -> None:
        """Columns for the width there is, and a row per name; numbers are written anew."""
        if self.shape or not self._width:
            return
        self.shape = columns(self._width - 1, [name for _, name, _ in self._names], self._rates)
        with self.prevent(DataTable.RowHighlighted):
            self._fill()

    def _fill(self) -> None:
        cursor = self.cursor_row
        self.clear(columns=True)
        for column, wide in self.shape.items():
            self.add_column(column, key=column, width=wide)
        for number, (letter, name, tint) in enumerate(self._names):
            cells = {"": Text(letter, f"bold {tint}"), "learner": Text(name, tint, overflow="ellipsis")}
            old = {column: self._texts.get((str(number), column), Text("")) for column in self.shape}
            self.add_row(*[cells.get(column, old[column]) for column in self.shape], key=str(number))
        self.move_cursor(row=cursor)

    def select(self, row: int) -> None:
        """Go to a row. Nothing is told of it: only the rows that a person goes to select a learner."""
        with self.prevent(DataTable.RowHighlighted):
            self.move_cursor(row=row)

    def _write(self, number: int, column: str, text: str) -> None:
        bad = column == "state" and text.startswith("diverged")
        if cell_len(text) > self.shape.get(column, 0):
            text = text.split(CUTS[column])[0] if column in CUTS else text
        cell = Text(text, style="bold red" if bad else "", justify="left", overflow="ellipsis")
        if self._texts.get((str(number), column)) != cell:
            self._texts[str(number), column] = cell
            if column in self.shape:
                self.update_cell(str(number), column, cell)


def row(trace: Trace, curve: Curve, place: float, stopped: bool = False) -> dict[str, str]:
    """The texts of a learner's row by column; `stopped` says that there is no more to come."""
    texts = {"invariant": curve.verdict.answer, "rate": rate(curve)}
    count = int(np.searchsorted(curve.x, place, side="right"))
    if not count:
        return texts | {
            "loss": "",
            "bound": "",
            "ratio": "",
            "state": "trying rates" if curve.oracle_tuned else "waiting",
        }
    x, loss = float(curve.x[count - 1]), float(curve.loss[count - 1])
    bound = trace.strongest(curve.learner, x)
    texts |= {"loss": _decimals(loss, 5), "state": state(curve, trace, place, stopped)}
    if bound is None:
        return texts | {"bound": "none", "ratio": "–"}
    height = bound.at(x)
    own = curve.learner in bound.applies_to
    ratio = _decimals(loss / height, 3) if height > ZERO else "–"
    text = _decimals(height, 5)
    return texts | {"bound": text if own else f"({text})", "ratio": ratio}


def rate(curve: Curve) -> str:
    """The rate of a curve, and of a rate found in hindsight the grid that it was found in."""
    if curve.rate is None:
        return ""
    if not curve.grid:
        return f"η = {curve.rate:.3g}"
    return f"{curve.rate:.3g}, best of {len(curve.grid)}: {min(curve.grid):.1g}…{max(curve.grid):.1g}"


def _decimals(number: float, count: int) -> str:
    """A number within its column: with so many decimals, or in powers of ten where these would not fit."""
    text = f"{number:.{count}f}"
    return text if len(text) <= count + 3 else f"{number:.1e}"


def state(curve: Curve, trace: Trace, place: float, stopped: bool) -> str:
    """Where a learner stands, in words."""
    if count := curve.diverged_by(place):
        some = f": {count}/{curve.replicas}" if count < curve.replicas else ""
        return f"diverged at {curve.diverged_at:g}{some}"
    if place >= trace.last or (curve.complete and place >= curve.x[-1]):
        return "done"
    return "stopped" if stopped else "learning"
