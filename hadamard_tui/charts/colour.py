"""Parse colour names of Rich and of Textual."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color, ColorParseError


@lru_cache(maxsize=256)
def parse(colour: str) -> Color:
    """A Rich colour from "#e69f00", a Rich name ("bright_blue") or a Textual one ("orange", "hsl(…)")."""
    try:
        return Color.parse(colour)
    except ColorParseError:
        from textual.color import (
            Color as TextualColor,
        )  # here: printed charts need no Textual for most colours

        return TextualColor.parse(colour).rich_color


def triplet(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 … 255."""
    red, green, blue = parse(colour).get_truecolor()
    return red, green, blue
