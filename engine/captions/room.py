"""The room for a caption."""

from __future__ import annotations

import textwrap
from typing import NamedTuple


class Room(NamedTuple):
    """The room for a caption: lines of so many columns, between whose words lines break."""

    columns: int = 500
    lines: int = 1

    def holds(self, text: str) -> bool:
        """Whether a text fits in."""
        return len(self._lines(text)) <= self.lines

    def cut(self, text: str) -> str:
        """The text as far as it fits, with an ellipsis where more follows."""
        every = self._lines(text)
        if len(every) <= self.lines:
            return text
        *whole, last = every[: self.lines]
        return " ".join([*whole, f"{last[: self.columns - 1].rstrip(' ,;.')}…"])

    def _lines(self, text: str) -> list[str]:
        return textwrap.wrap(text, max(self.columns, 1), break_on_hyphens=False)


PLENTY = Room()
"""What a caption takes where nothing limits it: two sentences of a paper."""
