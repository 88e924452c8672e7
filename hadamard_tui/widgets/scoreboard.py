"""The table of learners: value, line of the theory and ratio at the place that is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.binding import BindingType
from textual.widgets import DataTable

from engine.pictures.bound_class import FROM_BELOW, BoundClass
from engine.pictures.view import CurveView, View
from hadamard_tui.charts.abbreviations import within
from hadamard_tui.charts.legend import elided
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.series_builder import colour, mark
from hadamard_tui.charts.values import Value, counted, values
from hadamard_tui.keyboard.motions import motions

WIDTHS = {"": 1, "learner": 10, "value": 7, "line": 9, "ratio": 7, "state": 8, "rate": 19, "invariant": 12}
"""The least width of every column. Fixed, so that nothing moves in a run."""

LONGEST_MEASURE = 14
"""Letters of what is measured, at the head of its column, at most, before names and all columns have room."""

OPTIONAL = ("rate", "invariant")
"""The columns that are there only where there is room."""

LEGIBLE = 18
"""So much of a learner's name comes before any of these."""

ORDER = ("", "learner", "value", "line", "ratio", "invariant", "rate", "state")
"""The order of the columns on the screen."""

PADDING, WHOLE_STATE, WHOLE_RATE = 2, 20, 28

CUTS = {"state": " at ", "rate": ":"}
"""Where the text of a column is cut if it is too long for it."""


class Heads(NamedTuple):
    """What the columns are about."""

    value: str = "loss"
    line: str = "bound"
    """Nothing where no line of the theory speaks of the picture."""

    rates: bool = False
    """Whether any learner has a rate to be told, oracle-tuned or one of several."""

    def of(self, column: str) -> str:
        """What is above a column."""
        return {"value": self.value, "line": self.line}.get(column, column)


def heads(view: View, rates: bool) -> Heads:
    """What the columns of a view are about."""
    how = view.picture.reading
    clock = view.picture.measure.name if how is None or not how.is_place else how.over
    about = view.clock if clock == "record" else clock
    directions = {line.direction for line in view.lines}
    line = "bound" if directions & {*FROM_BELOW} else "line" if directions else ""
    return Heads(about, line, rates)


def columns(width: int, names: list[str], heads: Heads) -> dict[str, int]:
    """The columns that fit into a width, with their own widths.

    Args:
        names: of the learners; their column grows to LEGIBLE before others join, then to the longest.
    """
    chosen = {name: wide for name, wide in WIDTHS.items() if name not in OPTIONAL}
    chosen["value"] = max(chosen["value"], min(cell_len(heads.value), LONGEST_MEASURE))
    if not heads.line:
        del chosen["line"], chosen["ratio"]

    def spare() -> int:
        return max(0, width - sum(chosen.values()) - PADDING * len(chosen))

    def grow(name: str, most: int) -> None:
        if name in chosen:
            chosen[name] += max(0, min(spare(), most - chosen[name]))

    longest = max(map(cell_len, names), default=0)
    grow("learner", min(longest, LEGIBLE))
    for name in OPTIONAL:
        if (name != "rate" or heads.rates) and WIDTHS[name] + PADDING <= spare():
            chosen[name] = WIDTHS[name]
    grow("learner", longest)
    grow("value", cell_len(heads.value))
    grow("rate", WHOLE_RATE)
    grow("state", WHOLE_STATE)
    return {name: chosen[name] for name in ORDER if name in chosen}


class Scoreboard(DataTable[Text], inherit_bindings=False):
    """One row per learner, then one per learner of every pinned run. A cell is written when it changes.

    It has up and down alone: left and right, home and end move the playhead, whatever has the focus.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*motions(move_up="cursor_up", move_down="cursor_down")]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._texts: dict[tuple[str, str], Text] = {}
        self._names: list[tuple[str, str, str]] = []
        self._heads = Heads()
        self._width = 0
        self.learners: list[str] = []
        """Whose row it is, row by row, those of pinned runs left out."""

        self.shape: dict[str, int] = {}
        """The columns that are there, and their widths."""

    def fit(self, width: int) -> None:
        """Lay the columns out anew for a width, a scrollbar's included."""
        if width != self._width:
            self._width, self.shape = width, {}
            self._lay_out()

    def name_learners(self, numbers: Mapping[str, int], classes: Mapping[str, BoundClass | None]) -> None:
        """Start with one empty row per learner, by the names and numbers of all.

        `classes` are theirs as far as they are known.
        """
        self._texts.clear()
        self.shape, self.learners = {}, list(numbers)
        tints = {name: colour(number, classes.get(name, "undecided")) for name, number in numbers.items()}
        self._rows([(mark(number), name, tints[name]) for name, number in numbers.items()], Heads())

    def show(self, look: Look) -> None:
        """Show the numbers at the place that is looked at; a learner has a row for each of its curves."""
        rows = values(look)
        every = [one.curve for one in rows if one.curve is not None]
        about = heads(look.view, any(curve.rate is not None for curve in every))
        own = len(look.view.curves) + len(look.view.heats)
        self.learners = [one.learner for one in rows[:own]]
        self._rows([(one.mark, one.name, one.tint) for one in rows], about)
        for number, one in enumerate(rows):
            for column, text in row(one).items():
                self._write(number, column, text)

    @property
    def heads(self) -> list[str]:
        """What is above the columns."""
        return [elided(self._heads.of(column), wide) for column, wide in self.shape.items()]

    def _rows(self, names: list[tuple[str, str, str]], heads: Heads) -> None:
        if names != self._names or heads != self._heads:
            self._names, self._heads, self.shape = names, heads, {}
        self._lay_out()

    def _lay_out(self) -> None:
        """Columns for the width there is, and a row per name; numbers are written anew."""
        if self.shape or not self._width:
            return
        self.shape = columns(self._width - 1, [name for _, name, _ in self._names], self._heads)
        with self.prevent(DataTable.RowHighlighted):
            self._fill()

    def _fill(self) -> None:
        cursor = self.cursor_row
        self.clear(columns=True)
        for head, (column, wide) in zip(self.heads, self.shape.items(), strict=True):
            self.add_column(head, key=column, width=wide)
        brief = within([name for _, name, _ in self._names], self.shape.get("learner", 0))
        for number, (name, (letter, _, tint)) in enumerate(zip(brief, self._names, strict=True)):
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


def row(one: Value) -> dict[str, str]:
    """The texts of a row by column."""
    verdict = None if one.curve is None else one.curve.verdict
    height, ratio = one.height, one.ratio
    line = "none" if height is None else _value(height, one)
    texts = {
        "invariant": "" if verdict is None else verdict.answer,
        "rate": "" if one.curve is None else rate(one.curve),
        "state": one.state,
        "value": "" if one.value is None else _value(one.value, one),
        "line": line if one.binds else f"({line})",
        "ratio": "–" if ratio is None else _decimals(ratio, 3),
    }
    return texts if one.value is not None else texts | {"line": "", "ratio": ""}


def _value(number: float, one: Value) -> str:
    """The value of a row, or the height of its line."""
    if one.is_count and math.isfinite(number):
        return counted(number)
    return _decimals(number, 5, one.rounding)


def rate(curve: CurveView) -> str:
    """The rate of a curve, and of an oracle-tuned one the grid that it was found in."""
    if curve.rate is None:
        return ""
    if not curve.grid:
        return f"η = {curve.rate:.3g}"
    return f"{curve.rate:.3g}, best of {len(curve.grid)}: {min(curve.grid):.1g}…{max(curve.grid):.1g}"


def _decimals(number: float, count: int, rounding: float = math.inf) -> str:
    """A number within its column: with so many decimals, or in powers of ten where these say less.

    What is no more than rounding is 0.
    """
    if math.isinf(number):
        return "never" if number > 0 else "–"
    text = f"{number:.{count}f}"
    is_small = rounding < abs(number) < 10 ** (2 - count)
    return text if len(text) <= count + 3 and not is_small else f"{number:.1e}"
