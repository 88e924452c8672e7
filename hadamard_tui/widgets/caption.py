"""The caption below the chart: what the run is about, and once it has ended what the picture shows."""

from __future__ import annotations

from textual.widgets import Static

LEAST, SEVERAL = 14, 28
"""From so many rows of the stage on there is a line, or there are two."""


class Caption(Static):
    """A line or two of words, always so many, so that nothing moves when they come."""

    DEFAULT_CSS = """
    Caption { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    Caption.-several { height: 2; text-wrap: wrap; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._said = ""

    def fit(self, height: int) -> None:
        """Take as many lines as the height of the stage is good for."""
        self.display = height >= LEAST
        self.set_class(height >= SEVERAL, "-several")

    def say(self, words: str) -> None:
        """Show these words."""
        if words != self._said:
            self._said = words
            self.update(words, layout=False)
