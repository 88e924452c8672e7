"""First rows of a user's file, shown before its label column is chosen."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from engine.core import files
from engine.core.expressions import number
from engine.core.parts import BadField, BadInput
from engine.core.texts import cut, printable
from engine.problems.data_files import TableSettings, version_of
from engine.problems.formats import Content, NotATable, refuse_settings
from engine.problems.table import reading_faults

ROWS = 20
"""Number of rows that are shown."""

LONGEST_CELL = 24
"""Largest number of characters that are shown of a cell."""


class FirstRows(NamedTuple):
    """Names of a file's columns, and the cells of its first rows as text."""

    names: tuple[str, ...]
    """Names of the columns. A column without a name has its position as its name."""

    rows: tuple[tuple[str, ...], ...]
    """Cells of the first rows.

    In formats other than text, cells with words are shown empty. If the first rows cannot be read, `rows` is
    empty. If `question` is set, each row is a single cell that holds a line of the file.
    """

    words: frozenset[int] = frozenset()
    """Columns that hold words."""

    aside: frozenset[int] = frozenset()
    """Columns that are not features: columns that only count or name the rows, and empty columns."""

    empty: frozenset[int] = frozenset()

    has_labels: bool = False
    """Whether the file format stores labels separately from the columns."""

    question: BadField | None = None
    """Error that names an ambiguity of the file and the setting that resolves it, or None."""

    @property
    def columns(self) -> range:
        """Positions of all columns. Empty if `question` is set, because the columns are then unknown."""
        return range(len(self.names) if self.question is None else 0)

    def reference(self, column: int) -> int | str:
        name = self.names[column]
        return column if self.names.count(name) > 1 or name == str(column) else name

    def position(self, column: int | str) -> int | None:
        """Return the position of a column, given by name or position; None if there is no such column.

        Digits are a position, unless a column has them as its name.
        """
        if isinstance(column, str):
            if column in self.names and self.question is None:
                return self.names.index(column)
            if not column.removeprefix("-").isdecimal():
                return None
        number, width = int(column), len(self.columns)
        return number % width if -width <= number < width else None

    def columns_without(
        self, omitted: Collection[int], label: int | None, settings: TableSettings
    ) -> tuple[int | str, ...]:
        index = 0 if settings.index is True else None
        if settings.index not in (None, True, False):
            index = self.position(settings.index)
        detected = self.aside if settings.index is None else self.empty
        unused = {*omitted, *detected, label, index}
        return tuple(self.reference(column) for column in self.columns if column not in unused)


def first_rows(path: str, settings: TableSettings, where: str) -> FirstRows:
    """Return the first rows of a file, for display.

    Args:
        where: field of the preset that names the file, for messages.

    Raises: BadInput for a file that is missing, unreadable or without a table.
    """
    from engine.problems.formats import text
    from engine.problems.formats.of_file import format_of

    file = version_of(path, where, "a table").file
    try:
        with reading_faults(file_format := format_of(file)):
            try:
                refuse_settings(settings, file_format, file.name)
                content = file_format.content(file, settings, None)
            except BadField as question:
                lines = text.first_lines(file, ROWS) if file_format is text.TEXT else ()
                cells = tuple((printable(line.rstrip()),) for line in lines)
                return FirstRows(("first lines of the file",), cells, question=question)
            rows = content.first_rows or _rows_in_words(content)
    except (NotATable, OSError) as error:
        reason = files.reason(error) if isinstance(error, OSError) else str(error)
        raise BadInput(where, f"{file.name} cannot be read as a table: {reason}") from error
    return FirstRows(
        tuple(name or str(column) for column, name in enumerate(content.names or ("",) * content.width)),
        tuple(tuple(cut(printable(cell), LONGEST_CELL) for cell in row) for row in rows[:ROWS]),
        frozenset(content.words),
        frozenset((*content.index.columns, *content.empty)),
        frozenset(content.empty),
        content.has_labels,
    )


def _rows_in_words(content: Content) -> tuple[tuple[str, ...], ...]:
    """Return the numbers in the first rows as text, with empty cells for words. Empty if reading fails."""
    columns = [column for column in range(content.width) if column not in content.words]
    try:
        numbers = content.read(columns, None).numbers[:ROWS]
    except NotATable:
        return ()
    rows = [[""] * content.width for _ in numbers]
    for cells, row in zip(rows, numbers.tolist(), strict=True):
        for column, cell in zip(columns, row, strict=True):
            cells[column] = number(cell, 6)
    return tuple(map(tuple, rows))
