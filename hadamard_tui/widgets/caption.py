"""The caption below the chart: what the run is about, and once it has ended what the picture shows."""

from __future__ import annotations

from textual.widgets import Static


class Caption(Static):
    """A few lines of words, always so many, so that nothing moves when they come. Longer ones are cut."""

    DEFAULT_CSS = """
    Caption { height: 3; padding: 0 1; color: $text-muted; text-overflow: ellipsis; }
    .-short Caption { height: 1; text-wrap: nowrap; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._said = ""

    def say(self, words: str) -> None:
        """Show these words; a caption has one paragraph."""
        if words != self._said:
            self._said = words
            self.update(words, layout=False)
