"""The colours of curves: one palette per ground, each told apart by colour-blind people, too.

Made from Okabe and Ito's colours by a search for the largest least distance in OKLab between any two, as seen
with normal context, protanopia, deuteranopia and tritanopia (Machado, Oliveira, Fernandes 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Palette(NamedTuple):
    """Colours of the learners in their order, of theory, and of what is only context.

    `dark_is_more`: in heat maps little looks like the ground, much stands out from it.
    """

    ground: str
    learners: tuple[str, ...]
    theory: str
    others: str
    dark_is_more: bool = False


DARK = Palette(
    "#121212",
    ("#00b9ff", "#d8bd13", "#099d6a", "#ff68b6", "#ffff2f", "#ff4301", "#9967ff", "#a0efa9"),
    "#c8c8c8",
    "#6f7a85",
)
LIGHT = Palette(
    "#f4f4f4",
    ("#1e57c0", "#fd410b", "#009c85", "#92256a", "#785203", "#8283c8", "#391597", "#740017"),
    "#404040",
    "#8a929a",
    dark_is_more=True,
)
CONTRAST = DARK._replace(ground="#000000", theory="#ffffff", others="#9aa4ae")

_current = DARK


def use(palette: Palette) -> None:
    """Draw with these colours from now on: a terminal has one ground, and so the program has one palette."""
    global _current
    _current = palette


def current() -> Palette:
    """The colours that are drawn with."""
    return _current


@contextmanager
def on_paper() -> Iterator[None]:
    """Draw with the colours for a light ground meanwhile."""
    before = current()
    use(LIGHT)
    try:
        yield
    finally:
        use(before)
