"""The whole screen in ASCII, for terminals and fonts that have nothing else."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from hadamard_tui.terminal.ascii_text import EITHER, to_ascii


class AsciiFilter(LineFilter):
    """Replaces whatever is not ASCII in the lines of the screen."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        texts = [segment.text for segment in segments]
        for at in range(len(texts) - 1):
            if texts[at].endswith(EITHER) and texts[at + 1].startswith(" "):
                texts[at], texts[at + 1] = f"{texts[at]} ", texts[at + 1][1:]
        return [
            Segment(to_ascii(text), style, control)
            for text, (_, style, control) in zip(texts, segments, strict=True)
        ]
