"""Table of learners with value, theory line and ratio at the playhead, and a note that explains the table."""

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
"""Number of decimals of numbers below 10, and smallest number that is written as a power of ten.

Larger numbers have one decimal less for each further digit before the decimal point.
"""


def count_text(count: float) -> str:
    if abs(count) < 1e5:
        return f"{count:.5g}"
    return f"{count:.0f}" if abs(count) < WHOLE else f"{count:.3g}"


def ratio_text(ratio: float) -> str:
    if ratio == 0 or 0.01 <= abs(ratio) < 1000:
        return f"{ratio:.3f}"
    return f"{ratio:.0f}" if 1000 <= abs(ratio) < LONGEST_NUMBER else f"{ratio:.1e}"


def decimals(numbers: Sequence[float], rounding: float, digits: int = 1) -> int | None:
    """Return the number of decimals for a column of numbers, or None if powers of ten are needed.

    Args:
        rounding: absolute value up to which a number counts as 0.
        digits: number of significant digits that every number must show.
    """
    sizes = [abs(number) for number in numbers if math.isfinite(number) and abs(number) > rounding]
    if not sizes:
        return DECIMALS
    if max(sizes) >= LONGEST_NUMBER:
        return None
    places = DECIMALS - max(0, math.floor(math.log10(max(sizes))))
    return places if min(sizes) >= 0.5 * 10.0 ** (digits - 1 - places) else None


def number_text(number: float, places: int | None, rounding: float) -> str:
    """Return a number as text with `places` decimals, or as a power of ten if `places` is None.

    A number from −`rounding` to `rounding` becomes 0, without a sign. Infinity becomes "never".
    """
    if not math.isfinite(number):
        return "never" if number > 0 else "–"
    if abs(number) <= rounding:
        number = 0.0
    if places is None:
        return f"{number:.2e}" if number else "0"
    text = f"{number:.{places}f}"
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
"""Minimum width of each column, independent of its content, so that nothing moves during a run."""

LONGEST_MEASURE = 14
"""Maximum width of the measure's name in the heading, except if all learner names and columns fit."""

OPTIONAL = ("which", "rate", "invariant")
"""Columns that are shown only if they fit and have content."""

LEGIBLE = 18
"""Width that the column of learner names can reach before optional columns are added.

The column becomes wider than this if otherwise two shortened names would be equal.
"""

ORDER = ("", "learner", "value", "line", "which", "ratio", "invariant", "rate", "state")
"""Columns from left to right."""

PADDING, WHOLE_STATE, WHOLE_RATE, WHOLE_LINE, LONGEST_LINE = 2, 20, 28, 10, 18

CUTS = {"state": " at ", "rate": ":"}
"""Separators by column. If a text in the column is too long, only the part before the separator is shown."""


class Heads(NamedTuple):
    """Headings of the columns in the table of learners."""

    value: str = "loss"
    line: str = "bound"
    """Heading of the column of theory lines; empty if the picture has no theory line."""

    optional: frozenset[str] = frozenset()
    """Optional columns that have text for at least one learner."""

    place: str = ""
    """Value of x at which the numbers were read, as text, such as "at k = 64".

    The text is empty if the progress display already shows the value.
    """

    def of(self, column: str) -> str:
        named = {"value": self.value, "line": self.line, "learner": self.place or "learner"}
        return named.get(column, column)


def heads(look: Look, rows: Sequence[ShownValue], texts: Sequence[Mapping[str, str]]) -> Heads:
    valued = [row for row in rows if row.value is not None]
    compared = [row.line for row in valued if row.line is not None] if valued else look.view.lines
    directions = {line.direction for line in compared}
    head = "bound" if directions & {*FROM_BELOW} else "line" if compared else ""
    shown_columns = {column for text in texts for column in OPTIONAL if text[column]}
    if len({line.kind for line in compared}) < 2:
        shown_columns.discard("which")
    where = look.shown_at_in_words
    return Heads(measured(look.view), head, frozenset(shown_columns), f"at {where}" if where else "")


def measured(view: View) -> str:
    """Return a short name for the values in a picture.

    If there is no short name, return the label of the y-axis.
    """
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
    """Choose columns that fit into the table of learners, and return their widths by name.

    The column of names is first widened to LEGIBLE. Then optional columns that fit are added. If space
    remains, the column of names is widened to the longest name.

    Args:
        width: width of the table in cells.
        names: names of the learners.
    """
    chosen = {column: column_width for column, column_width in WIDTHS.items() if column not in OPTIONAL}
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
    """Return the smallest width in cells at which cut names still differ from each other."""
    longest = max(map(cell_len, names), default=0)
    for width in range(1, longest):
        if len({elided(learner_name, width) for learner_name in names}) == len({*names}):
            return width
    return longest


class Scoreboard(DataTable[Text], inherit_bindings=False):
    """Table with one row per learner, followed by one row per learner of each pinned run.

    A cell is written only if its text changes. The table handles only the keys up and down, because left,
    right, home and end always move the playhead.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*motions(move_up="cursor_up", move_down="cursor_down")]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._texts: dict[tuple[str, str], Text] = {}
        self._names: list[tuple[str, str, str]] = []
        self._width = 0
        self.about = Heads()
        """Headings of the columns."""

        self.learners: list[str] = []
        """Name of the learner of each row, without the rows of pinned runs."""

        self.shape: dict[str, int] = {}
        """Widths of the visible columns."""

    def fit(self, width: int) -> None:
        """Lay out the columns for a width in cells that includes the scrollbar."""
        if width != self._width:
            self._width, self.shape = width, {}
            self._lay_out_columns()

    def name_learners(self, numbers: Mapping[str, int], kind_places: Mapping[str, KindPlace]) -> None:
        """Replace all rows by one row for each learner, which shows only the learner's name."""
        self._texts.clear()
        self.shape, self.learners = {}, list(numbers)
        tints = {learner_name: legible(colour(kind_places.get(learner_name))) for learner_name in numbers}
        self._show_rows(
            [(mark(number), learner_name, tints[learner_name]) for learner_name, number in numbers.items()],
            Heads(),
        )

    def show(self, look: Look) -> None:
        rows = values(look)
        notation = column_notation(rows, bool(look.resolved.y_log))
        texts = [row(shown_row, notation) for shown_row in rows]
        about = heads(look, rows, texts)
        unpinned = len(look.view.curves) + len(look.view.heats)
        self.learners = [row.learner for row in rows[:unpinned]]
        self._show_rows([(row.mark, row.name, row.tint) for row in rows], about)
        for number, row_texts in enumerate(texts):
            for column, text in row_texts.items():
                self._write_cell(number, column, text)

    @property
    def heads(self) -> list[str]:
        return [elided(self.about.of(column), wide) for column, wide in self.shape.items()]

    def _show_rows(self, names: list[tuple[str, str, str]], heads: Heads) -> None:
        if names != self._names or heads != self.about:
            self._names, self.about, self.shape = names, heads, {}
        self._lay_out_columns()

    def _lay_out_columns(self) -> None:
        """Rebuild the table if its columns are outdated, that is, if `shape` is empty."""
        if self.shape or not self._width:
            return
        self.shape = columns(self._width - 1, [row_name for _, row_name, _ in self._names], self.about)
        with self.prevent(DataTable.RowHighlighted):
            self._fill_table()

    def _fill_table(self) -> None:
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
        """Highlight a row without a message, because only a move by the user selects a learner."""
        with self.prevent(DataTable.RowHighlighted):
            self.move_cursor(row=row)

    def _write_cell(self, number: int, column: str, text: str) -> None:
        bad = column == "state" and text.startswith((DIVERGED, LOST_ACCURACY))
        if cell_len(text) > self.shape.get(column, 0):
            text = text.split(CUTS[column])[0] if column in CUTS else text
        cell = Text(text, style="bold red" if bad else "", justify="left", overflow="ellipsis")
        if self._texts.get((str(number), column)) != cell:
            self._texts[str(number), column] = cell
            if column in self.shape:
                self.update_cell(str(number), column, cell)


def column_notation(rows: Sequence[ShownValue], by_factors: bool) -> int | None:
    """Return the number of decimals for the learners' values and the theory lines, or None for powers of ten.

    If the y-axis is logarithmic (`by_factors`), every number must show two significant digits.
    """
    numbers = [number for row in rows for number in (row.value, row.height) if number is not None]
    rounding = max((row.rounding for row in rows), default=0.0)
    return decimals(numbers, rounding, 2 if by_factors else 1)


def row(shown: ShownValue, places: int | None) -> dict[str, str]:
    """Return the texts of a row by column. `places` is the number of decimals, or None for powers of ten."""
    verdict = None if shown.curve is None else shown.curve.training.verdict
    height = None if shown.height is None or shown.value is None else value_text(shown.height, shown, places)
    ratio = "" if height is None else "–" if shown.ratio is None else ratio_text(shown.ratio)
    return {
        "invariant": "" if verdict is None else verdict.answer,
        "rate": "" if shown.curve is None else rate(shown.curve),
        "state": shown.state,
        "value": "" if shown.value is None else value_text(shown.value, shown, places),
        "line": "" if height is None else height if shown.binds else f"({height})",
        "which": "" if height is None else shown.which,
        "ratio": ratio,
    }


def value_text(number: float, shown: ShownValue, places: int | None) -> str:
    if shown.is_count and math.isfinite(number):
        return count_text(number)
    return number_text(number, places, shown.rounding)


def rate(curve: CurveView) -> str:
    if curve.training.rate is None:
        return ""
    if not curve.training.grid:
        return f"η = {curve.training.rate:.3g}"
    rates = curve.training.grid
    return f"{curve.training.rate:.3g}, best of {len(rates)}: {min(rates):.1g}…{max(rates):.1g}"


def brief_measured(view: View) -> str:
    """Return a short name for the values in a picture, or "value" if the name is longer than LONGEST."""
    return _or_value(measured(view))


def _or_value(value_head: str) -> str:
    return value_head if cell_len(value_head) <= LONGEST else "value"


LEAST = 22
"""Minimum number of rows of the stage at which the note is shown."""

LONGEST = 14
"""Maximum width of a measure's name in the note. The word "value" replaces a longer name."""


class TableNote(Static):
    """One-line note that explains the table.

    For a picture with theory lines, the note keeps its row even while it is empty. Otherwise, the layout
    would change during a run.
    """

    DEFAULT_CSS = """
    TableNote { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._words = ""
        self._fits, self._compares, self._width = False, True, 0

    def fit(self, width: int, height: int) -> None:
        self._fits, self._width = height >= LEAST, max(width - 2, 1)
        self._update_visibility()

    def show(self, look: Look, value_head: str, line: str) -> None:
        """Explain the signs in the table that shows the numbers of a `Look`.

        Args:
            value_head, line: headings of the columns of values and of theory lines. If the table compares no
                value with a theory line, `line` is empty.
        """
        self._compares = bool(line)
        self._update_visibility()
        self.say(fitting(look, value_head, line, self._width))

    def say(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self.update(words, layout=False)

    def _update_visibility(self) -> None:
        self.set_class(self._fits and self._compares, "-there")


def fitting(look: Look, value_head: str, line: str, width: int) -> str:
    """Return explanations of the signs in the table on one line; "" if there is nothing to explain.

    If all explanations fit into `width` cells in their long forms, the line has the long forms. Otherwise, it
    has as many short forms as fit, but at least one.
    """
    long_text = BETWEEN.join(signs(look, value_head, line, brief=False))
    if cell_len(long_text) <= width:
        return long_text
    brief_signs = list(signs(look, value_head, line, brief=True))
    while len(brief_signs) > 1 and cell_len(BETWEEN.join(brief_signs)) > width:
        brief_signs.pop()
    return BETWEEN.join(brief_signs)


def signs(look: Look, value_head: str, line: str, brief: bool) -> Iterator[str]:
    """Yield explanations of the signs in the table of learners, such as values in parentheses."""
    rows = values(look)
    if not line:
        return
    if any(row.height is not None and row.value is not None and not row.binds for row in rows):
        yield "(…) not binding" if brief else f"(…) a {line} that does not bind the learner"
    if any(row.ratio is not None for row in rows):
        yield f"ratio = {_or_value(value_head)} / {line}"
    if look.ended_low:
        reason = "bounds end near 0" if brief else "the bounds are near 0 at the end"
        yield f"{look.shown_at_in_words}, because {reason}"
    if look.shown_at is not None and not along_records(look.view):
        yield f"{key('back')} shows another {x_name(look.view)}"
