"""Table of learners: value, theory line and ratio at the playhead, and a line of explanations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.binding import BindingType
from textual.widgets import DataTable, Static

from engine.core.expressions import WHOLE, written
from engine.pictures.view import DIVERGED, FROM_BELOW, LOST_ACCURACY, CurveView, View, along_records
from engine.pictures.wording import x_name
from hadamard_tui.charts.drawing.legend import BETWEEN, within
from hadamard_tui.charts.drawing.raster import elided
from hadamard_tui.charts.plots.series_builder import colour, mark
from hadamard_tui.charts.plots.values import ShownValue, values
from hadamard_tui.colours.contrast import legible
from hadamard_tui.keyboard import key, motions

if TYPE_CHECKING:
    from engine.pictures.view import KindPlace
    from hadamard_tui.charts.plots.look import Look


DECIMALS, LONGEST_NUMBER = 5, 1e5
"""Decimals of numbers below 10; every further digit before the point removes one decimal. Numbers from
LONGEST_NUMBER on have no decimals.
"""


def count_text(count: float) -> str:
    """Return a count, or a place on an axis, as text."""
    if abs(count) < 1e5:
        return f"{count:.5g}"
    return f"{count:.0f}" if abs(count) < WHOLE else f"{count:.3g}"


def ratio_text(value: float) -> str:
    """Return a ratio with three decimals, without decimals from 1000 on, or as a power of ten."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3f}"
    return f"{value:.0f}" if 1000 <= abs(value) < LONGEST_NUMBER else f"{value:.1e}"


def decimals(numbers: Sequence[float], rounding: float, digits: int = 1) -> int | None:
    """Return the number of decimals that suits all numbers; None if they need powers of ten.

    Args:
        rounding: size up to which a number counts as 0.
        digits: significant digits of each number that must be visible.
    """
    sizes = [abs(size) for size in numbers if math.isfinite(size) and abs(size) > rounding]
    if not sizes:
        return DECIMALS
    if max(sizes) >= LONGEST_NUMBER:
        return None
    places = DECIMALS - max(0, math.floor(math.log10(max(sizes))))
    return places if min(sizes) >= 0.5 * 10.0 ** (digits - 1 - places) else None


def number_text(value: float, places: int | None, rounding: float) -> str:
    """Return a number with this many decimals, or as a power of ten for None; 0 has no sign."""
    if not math.isfinite(value):
        return "never" if value > 0 else "–"
    if abs(value) <= rounding:
        value = 0.0
    if places is None:
        return f"{value:.2e}" if value else "0"
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


WIDTHS = {
    "": 1,
    "learner": 10,
    "value": 8,
    "line": 9,
    "which": 10,
    "ratio": 7,
    "state": 8,
    "rate": 19,
    "invariant": 12,
}
"""Least width of each column, fixed so that nothing moves during a run."""

LONGEST_MEASURE = 14
"""Maximum length of the measure's name in the head, unless all names and columns fit."""

OPTIONAL = ("which", "rate", "invariant")
"""Columns that are shown only if they fit and have content."""

LEGIBLE = 18
"""Cells of a name that take precedence over optional columns; more if names begin with the same letters."""

ORDER = ("", "learner", "value", "line", "which", "ratio", "invariant", "rate", "state")
"""Columns in the order of the screen."""

PADDING, WHOLE_STATE, WHOLE_RATE, WHOLE_LINE, LONGEST_LINE = 2, 20, 28, 10, 18

CUTS = {"state": " at ", "rate": ":"}
"""Separator before which a long text of a column is cut."""


class Heads(NamedTuple):
    """Words in the heads of the columns."""

    value: str = "loss"
    line: str = "bound"
    """Name of the theory line; empty if the picture has none."""

    optional: frozenset[str] = frozenset()
    """Optional columns with text for at least one learner."""

    place: str = ""
    """Place of the numbers as text, such as "at k = 64"; empty if the status line states it."""

    def of(self, column: str) -> str:
        """Return the head of a column."""
        named = {"value": self.value, "line": self.line, "learner": self.place or "learner"}
        return named.get(column, column)


def heads(look: Look, rows: Sequence[ShownValue], texts: Sequence[Mapping[str, str]]) -> Heads:
    """Return the heads for rows with these texts."""
    valued = [value for value in rows if value.value is not None]
    compared = [value.line for value in valued if value.line is not None] if valued else look.view.lines
    directions = {line.direction for line in compared}
    head = "bound" if directions & {*FROM_BELOW} else "line" if compared else ""
    shown_columns = {column for text in texts for column in OPTIONAL if text[column]}
    if len({line.kind for line in compared}) < 2:
        shown_columns.discard("which")
    where = look.shown_at_in_words
    return Heads(measured(look.view), head, frozenset(shown_columns), f"at {where}" if where else "")


def measured(view: View) -> str:
    """Return the measure of a picture in a word, or the label of its axis if no word exists."""
    picture = view.picture
    if picture.share is not None:
        return "share"
    if (how := picture.reading) is not None and how.is_place:
        return view.axes.clock if how.over == "record" else how.over
    measure_name = picture.measure.name
    if not measure_name.isalpha():
        return view.axes.y_label
    if picture.times is not None:
        measure_name = f"{measure_name} × {written(picture.times, view.axes.words)}"
    return f"{measure_name}, relative to {view.quantity.divisor}" if view.quantity.divisor else measure_name


def columns(width: int, names: list[str], heads: Heads) -> dict[str, int]:
    """Return the widths of the columns that fit.

    Args:
        width: cells of the table.
        names: names of the learners. Their column grows to LEGIBLE before optional columns are added, and
            then to the longest name.
    """
    chosen = {column: wide for column, wide in WIDTHS.items() if column not in OPTIONAL}
    chosen["value"] = max(chosen["value"], min(cell_len(heads.value), LONGEST_MEASURE))
    if not heads.line:
        del chosen["line"], chosen["ratio"]

    def spare() -> int:
        return max(0, width - sum(chosen.values()) - PADDING * len(chosen))

    def grow(column: str, wanted: int) -> None:
        if column in chosen:
            chosen[column] += max(0, min(spare(), wanted - chosen[column]))

    longest = max(map(cell_len, [*names, heads.place]), default=0)
    grow("learner", min(longest, max(LEGIBLE, distinguishing_width(names))))
    for column in OPTIONAL:
        if column in heads.optional and WIDTHS[column] + PADDING <= spare():
            chosen[column] = WIDTHS[column]
    grow("learner", longest)
    grow("line", WHOLE_LINE)
    grow("value", cell_len(heads.value))
    grow("which", LONGEST_LINE)
    grow("rate", WHOLE_RATE)
    grow("state", WHOLE_STATE)
    return {column: chosen[column] for column in ORDER if column in chosen}


def distinguishing_width(names: Sequence[str]) -> int:
    """Return the least width at which cut names still differ."""
    longest = max(map(cell_len, names), default=0)
    for width in range(1, longest):
        if len({elided(learner_name, width) for learner_name in names}) == len({*names}):
            return width
    return longest


class Scoreboard(DataTable[Text], inherit_bindings=False):
    """Table with one row per learner, then one per learner of each pinned run.

    A cell is written only if it changes. The table has the keys up and down only: left, right, home and end
    always move the playhead.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*motions(move_up="cursor_up", move_down="cursor_down")]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._texts: dict[tuple[str, str], Text] = {}
        self._names: list[tuple[str, str, str]] = []
        self._width = 0
        self.about = Heads()
        """Heads of the columns."""

        self.learners: list[str] = []
        """Learner of each row, pinned runs excluded."""

        self.shape: dict[str, int] = {}
        """Widths of the visible columns."""

    def fit(self, width: int) -> None:
        """Lay out the columns for a width that includes a scrollbar."""
        if width != self._width:
            self._width, self.shape = width, {}
            self._lay_out()

    def name_learners(self, numbers: Mapping[str, int], kind_places: Mapping[str, KindPlace]) -> None:
        """Replace all rows by one empty row per learner."""
        self._texts.clear()
        self.shape, self.learners = {}, list(numbers)
        tints = {learner_name: legible(colour(kind_places.get(learner_name))) for learner_name in numbers}
        self._rows(
            [(mark(number), learner_name, tints[learner_name]) for learner_name, number in numbers.items()],
            Heads(),
        )

    def show(self, look: Look) -> None:
        """Show the numbers at the playhead, with one row per curve of a learner."""
        rows = values(look)
        notation = column_notation(rows, bool(look.resolved.y_log))
        texts = [row(value, notation) for value in rows]
        about = heads(look, rows, texts)
        unpinned = len(look.view.curves) + len(look.view.heats)
        self.learners = [value.learner for value in rows[:unpinned]]
        self._rows([(value.mark, value.name, value.tint) for value in rows], about)
        for number, cells in enumerate(texts):
            for column, text in cells.items():
                self._write(number, column, text)

    @property
    def heads(self) -> list[str]:
        """Heads of the visible columns."""
        return [elided(self.about.of(column), wide) for column, wide in self.shape.items()]

    def _rows(self, names: list[tuple[str, str, str]], heads: Heads) -> None:
        if names != self._names or heads != self.about:
            self._names, self.about, self.shape = names, heads, {}
        self._lay_out()

    def _lay_out(self) -> None:
        """Rebuild columns and rows for the width, and write the numbers again."""
        if self.shape or not self._width:
            return
        self.shape = columns(self._width - 1, [row_name for _, row_name, _ in self._names], self.about)
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
        """Highlight a row without sending a message, because only a person's move selects a learner."""
        with self.prevent(DataTable.RowHighlighted):
            self.move_cursor(row=row)

    def _write(self, number: int, column: str, text: str) -> None:
        bad = column == "state" and text.startswith((DIVERGED, LOST_ACCURACY))
        if cell_len(text) > self.shape.get(column, 0):
            text = text.split(CUTS[column])[0] if column in CUTS else text
        cell = Text(text, style="bold red" if bad else "", justify="left", overflow="ellipsis")
        if self._texts.get((str(number), column)) != cell:
            self._texts[str(number), column] = cell
            if column in self.shape:
                self.update_cell(str(number), column, cell)


def column_notation(rows: Sequence[ShownValue], by_factors: bool) -> int | None:
    """Return the decimals of values and lines; on a log axis, every number shows two significant digits."""
    numbers = [number for value in rows for number in (value.value, value.height) if number is not None]
    rounding = max((value.rounding for value in rows), default=0.0)
    return decimals(numbers, rounding, 2 if by_factors else 1)


def row(value: ShownValue, places: int | None) -> dict[str, str]:
    """Return the texts of a row by column. Values have `places` decimals, or are powers of ten for None."""
    verdict = None if value.curve is None else value.curve.training.verdict
    height = None if value.height is None or value.value is None else _number(value.height, value, places)
    ratio = "" if height is None else "–" if value.ratio is None else ratio_text(value.ratio)
    return {
        "invariant": "" if verdict is None else verdict.answer,
        "rate": "" if value.curve is None else rate(value.curve),
        "state": value.state,
        "value": "" if value.value is None else _number(value.value, value, places),
        "line": "" if height is None else height if value.binds else f"({height})",
        "which": "" if height is None else value.which,
        "ratio": ratio,
    }


def _number(number: float, value: ShownValue, places: int | None) -> str:
    """Return the value of a row, or the height of its line, as text."""
    if value.is_count and math.isfinite(number):
        return count_text(number)
    return number_text(number, places, value.rounding)


def rate(curve: CurveView) -> str:
    """Return the rate of a curve; for an oracle-tuned rate, also the grid."""
    if curve.training.rate is None:
        return ""
    if not curve.training.grid:
        return f"η = {curve.training.rate:.3g}"
    rates = curve.training.grid
    return f"{curve.training.rate:.3g}, best of {len(rates)}: {min(rates):.1g}…{max(rates):.1g}"


LEAST = 22
"""Least number of stage rows with room for the line."""

LONGEST = 14
"""Longest name of a measure; a longer one becomes "value"."""


class TableNote(Static):
    """Line that explains the table. Every picture with theory lines has it, so that the layout stays."""

    DEFAULT_CSS = """
    TableNote { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._words = ""
        self._fits, self._compares, self._width = False, True, 0

    def fit(self, width: int, height: int) -> None:
        """Show the line if the stage has room for it."""
        self._fits, self._width = height >= LEAST, max(width - 2, 1)
        self._stand()

    def show(self, look: Look, value: str, line: str) -> None:
        """Explain the table of a look.

        Args:
            value, line: heads of the columns of values and lines; `line` is empty without a comparison.
        """
        self._compares = bool(line)
        self._stand()
        self.say(fitting(look, value, line, self._width))

    def say(self, words: str) -> None:
        """Show these words."""
        if words != self._words:
            self._words = words
            self.update(words, layout=False)

    def _stand(self) -> None:
        self.set_class(self._fits and self._compares, "-there")


def fitting(look: Look, value: str, line: str, width: int) -> str:
    """Return as many explanations of the table's signs as fit, in long or short form."""
    long_text = BETWEEN.join(signs(look, value, line, brief=False))
    if cell_len(long_text) <= width:
        return long_text
    brief_signs = list(signs(look, value, line, brief=True))
    while len(brief_signs) > 1 and cell_len(BETWEEN.join(brief_signs)) > width:
        brief_signs.pop()
    return BETWEEN.join(brief_signs)


def signs(look: Look, value: str, line: str, brief: bool) -> Iterator[str]:
    """Yield the meanings of the table's signs, and the reason if the numbers are not final."""
    rows = values(look)
    if not line:
        return
    if any(row.height is not None and row.value is not None and not row.binds for row in rows):
        yield "(…) does not bind it" if brief else f"(…) a {line} that does not bind the learner"
    if any(row.ratio is not None for row in rows):
        yield f"ratio = {value if cell_len(value) <= LONGEST else 'value'} / {line}"
    if look.ended_low:
        reason = "bounds end near 0" if brief else "at the end the bounds are near 0"
        yield f"{look.shown_at_in_words}, as {reason}"
    if look.shown_at is not None and not along_records(look.view):
        yield f"{key('back')} other {x_name(look.view)}"
