"""The colours of curves: one palette per ground, each distinct for colour-blind people, too.

Learners that theory binds are cold, others warm. Found by a search for the largest least distance in OKLab
between any two, as seen with normal sight, protanopia, deuteranopia and tritanopia (Machado, Oliveira,
Fernandes 2009), among colours that are legible as text (WCAG 2.2, 1.4.3: 4.5 : 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

ThemeName = Literal["dark", "light", "contrast"]
"""The themes, each with its ground and its palette."""


class Tints(NamedTuple):
    """Colours of learners by their class."""

    cold: tuple[str, ...]
    """Of those that a proved bound binds."""

    warm: tuple[str, ...]
    """Of those that no bound binds."""

    neutral: tuple[str, ...]
    """Of those of which that is not decided."""

    def of(self, bound_class: Literal["bound", "free", "undecided"] | None) -> tuple[str, ...]:
        """The colours of a class of learners; cold and warm by turns where there is no bound at all."""
        match bound_class:
            case "bound":
                return self.cold
            case "free":
                return self.warm
            case "undecided":
                return self.neutral
        return tuple(one for pair in zip(self.cold, self.warm, strict=True) for one in pair)

    @property
    def every(self) -> tuple[str, ...]:
        """All colours that a learner may have."""
        return (*self.cold, *self.warm, *self.neutral)


class Palette(NamedTuple):
    """Colours of the learners, of those of pinned runs, of theory, and of what is only context.

    `unproved` are lines of the theory that are less than proved. `dark_is_more`: in heat maps little looks
    like the ground, much stands out from it.
    """

    ground: str
    learners: Tints
    pinned: Tints
    theory: str
    unproved: str
    others: str
    dark_is_more: bool = False


DARK = Palette(
    "#121212",
    Tints(
        cold=("#12e9eb", "#1b8ecf", "#8c87fd", "#22d1d6", "#a2acff", "#30b8cb"),
        warm=("#d56168", "#e9cf54", "#fd3b1f", "#f8ec45", "#f7a532", "#f17767"),
        neutral=("#a1f7a5", "#b970a7", "#b4c89b"),
    ),
    Tints(
        cold=("#6ec8ba", "#51a0cf", "#a2a2e6", "#73a3b7", "#b4c2f7", "#768eba"),
        warm=("#a58389", "#a6811f", "#c27e4c", "#dac170", "#ddc8b9", "#de8d85"),
        neutral=("#cdfec2", "#81a773", "#c6dba5"),
    ),
    theory="#f2f2f2",
    unproved="#a0a0a0",
    others="#8f99a3",
)
LIGHT = Palette(
    "#f4f4f4",
    Tints(
        cold=("#1656f9", "#2f0c7d", "#694ecc", "#1d0aa4", "#3b08eb", "#4c4090"),
        warm=("#a23a40", "#551306", "#c13001", "#8d1a40", "#633903", "#6f0c32"),
        neutral=("#914a8d", "#411d56", "#6c4068"),
    ),
    Tints(
        cold=("#4b63b3", "#220868", "#353267", "#021638", "#346477", "#052a47"),
        warm=("#7f4728", "#5c240d", "#805d04", "#712f2d", "#704305", "#341d1f"),
        neutral=("#524751", "#291428", "#273025"),
    ),
    theory="#000000",
    unproved="#606060",
    others="#5f6871",
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
