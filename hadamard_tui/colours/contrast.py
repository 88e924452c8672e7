"""Parses colours, and changes them so that curves and texts have enough contrast with the background."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from rich.color import Color, ColorParseError

from hadamard_tui.colours import palette
from hadamard_tui.colours.palette import luminance


@lru_cache(maxsize=256)
def parse_colour(colour: str) -> Color:
    """Return the Rich colour for a code ("#e69f00"), a Rich name ("bright_blue") or Textual's "hsl(…)"."""
    try:
        return Color.parse(colour)
    except ColorParseError:
        # Imported here, because printed charts mostly need no Textual.
        from textual.color import Color as TextualColor

        return TextualColor.parse(colour).rich_color


def triplet(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue, each from 0 to 255."""
    red, green, blue = parse_colour(colour).get_truecolor()
    return red, green, blue


LEAST = 3.0
"""Minimum contrast of a curve with the background. Source: WCAG 2.2, 1.4.11."""

LEGIBLE = 5.1
"""Minimum contrast of text with the background.

WCAG 2.2 requires 4.5. Text with this contrast to the background also has a contrast of at least 4.5 to
panels, whose colour is closer to the colour of text. Source: WCAG 2.2, 1.4.3.
"""

_STEPS, _MOST = (
    20,
    0.5,
)  # number of mixtures to try, and maximum share of the background in a faded colour


def contrast(colour: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21. Source: WCAG 2.2."""
    low, high = sorted(luminance(np.array([triplet(colour), triplet(other)])).tolist())
    return float((high + 0.05) / (low + 0.05))


def faded(colour: str) -> str:
    """Return a mixture of a colour and the background, for faint curves.

    The share of the background is 1/2, or less if the contrast would be below LEAST.
    """
    return _faded_on_ground(colour, palette.current().ground)


@lru_cache(maxsize=256)
def _faded_on_ground(colour: str, ground: str) -> str:
    for step in range(_STEPS, 0, -1):
        fainter = mixed(colour, ground, _MOST * step / _STEPS)
        if contrast(fainter, ground) >= LEAST:
            return fainter
    return colour


def legible(colour: str) -> str:
    """Return a colour that is legible as text.

    If the contrast of `colour` to the background is below LEGIBLE, the result is a mixture with the colour of
    theory lines. The share of the theory colour is the smallest multiple of 1/_STEPS that suffices.
    """
    return _legible_on_ground(colour, palette.current().ground, palette.current().theory)


@lru_cache(maxsize=256)
def _legible_on_ground(colour: str, ground: str, far: str) -> str:
    shades = (mixed(colour, far, step / _STEPS) for step in range(_STEPS + 1))
    return next(shade for shade in shades if contrast(shade, ground) >= LEGIBLE)


def mixed(colour: str, ground: str, share: float) -> str:
    """Return a mixture of two colours, such as "#e69f00". `share` is the share of `ground`, from 0 to 1."""
    pairs = zip(triplet(colour), triplet(ground), strict=True)
    return "#" + "".join(f"{round(front + share * (back - front)):02x}" for front, back in pairs)
