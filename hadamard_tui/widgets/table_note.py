"""Line below the table of learners: its brackets, its ratios, and its place on the x-axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.widgets import Static

from engine.pictures.view import along_records
from engine.pictures.wording import x_name
from hadamard_tui.charts.legend import BETWEEN
from hadamard_tui.charts.values import values
from hadamard_tui.keyboard import key

if TYPE_CHECKING:
    from hadamard_tui.charts.look import Look

LEAST = 22
"""Rows of the stage from which the line has room."""

LONGEST = 14
"""Cells up to which the measure is named; a longer name becomes "value"."""


class TableNote(Static):
    """One line of words, present if a picture has theory lines, so that nothing moves."""

    DEFAULT_CSS = """
    TableNote { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._said = ""
        self._fits, self._compares, self._width = False, True, 0

    def fit(self, width: int, height: int) -> None:
        """Appear if the stage has room."""
        self._fits, self._width = height >= LEAST, max(width - 2, 1)
        self._stand()

    def show(self, look: Look, value: str, line: str) -> None:
        """Explain the table of a look.

        Args:
            value, line: heads of the columns of values and of lines; an empty line if none is compared.
        """
        self._compares = bool(line)
        self._stand()
        self.say(fitting(look, value, line, self._width))

    def say(self, words: str) -> None:
        """Show these words."""
        if words != self._said:
            self._said = words
            self.update(words, layout=False)

    def _stand(self) -> None:
        self.set_class(self._fits and self._compares, "-there")


def fitting(look: Look, value: str, line: str, width: int) -> str:
    """Return explanations of the table's signs, long or short, as many as fit into a width."""
    long_text = BETWEEN.join(signs(look, value, line, brief=False))
    if cell_len(long_text) <= width:
        return long_text
    brief_signs = list(signs(look, value, line, brief=True))
    while len(brief_signs) > 1 and cell_len(BETWEEN.join(brief_signs)) > width:
        brief_signs.pop()
    return BETWEEN.join(brief_signs)


def signs(look: Look, value: str, line: str, brief: bool) -> Iterator[str]:
    """Yield the meanings of the table's signs, and why its numbers are not those of the end."""
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
