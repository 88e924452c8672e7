"""Headline: the subject of the run, and after its end what the picture shows."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.widgets import Static


class Caption(Static):
    """A line of words, or two if they are too long for one."""

    DEFAULT_CSS = """
    Caption { height: 1; padding: 0 1; text-style: bold; text-wrap: wrap; text-overflow: ellipsis; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._said = ""

    def say(self, words: str) -> None:
        """Show these words."""
        if words != self._said:
            self._said = words
            self.update(words, layout=False)
            self._fit()

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def _fit(self) -> None:
        """Take a second line if one is too short."""
        lines = 2 if 0 < self.content_size.width < cell_len(self._said) else 1
        if self.size.height != lines:
            self.styles.height = lines
