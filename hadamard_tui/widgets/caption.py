"""The caption below the chart: what the run is about, and once it has ended what the picture shows."""

from __future__ import annotations

from textual.widgets import Static

from engine.captions.room import Room

LEAST, SEVERAL = 14, 28
"""From so many rows of the stage on there is a line, or there are several."""

WIDE = 90
"""Of so many columns three lines are enough."""


class Caption(Static):
    """A few lines of words, always so many, so that nothing moves when they come; there is so much `room`."""

    DEFAULT_CSS = """
    Caption { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    Caption.-several { height: 3; text-wrap: wrap; }
    Caption.-several.-narrow { height: 4; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._said = ""
        self.room = Room()

    def fit(self, width: int, height: int) -> None:
        """Take as many lines as the room of the stage is good for."""
        several, narrow = height >= SEVERAL, width < WIDE
        self.display = height >= LEAST
        self.set_class(several, "-several")
        self.set_class(narrow, "-narrow")
        self.room = Room(max(width - 2, 1), (4 if narrow else 3) if several else 1)

    def say(self, words: str) -> None:
        """Show these words, as far as there is room; a caption has one paragraph."""
        words = self.room.cut(words)
        if words != self._said:
            self._said = words
            self.update(words, layout=False)
