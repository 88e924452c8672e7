"""The caption below the chart: what the run is about, and once it has ended what the picture shows."""

from __future__ import annotations

from textual.widgets import Static

LEAST, SEVERAL = 18, 28
"""From so many rows of the stage on there is a line, or there are several."""

WIDE = 90
"""Of so many columns three lines are enough."""


class Caption(Static):
    """A few lines of words, always so many, so that nothing moves when they come. Longer ones are cut."""

    DEFAULT_CSS = """
    Caption { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    Caption.-several { height: 3; text-wrap: wrap; }
    Caption.-several.-narrow { height: 4; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._said = ""

    def fit(self, width: int, height: int) -> None:
        """Take as many lines as the room of the stage is good for."""
        self.display = height >= LEAST
        self.set_class(height >= SEVERAL, "-several")
        self.set_class(width < WIDE, "-narrow")

    def say(self, words: str) -> None:
        """Show these words; a caption has one paragraph."""
        if words != self._said:
            self._said = words
            self.update(words, layout=False)
