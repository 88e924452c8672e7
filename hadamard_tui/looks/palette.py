"""The colours of curves, by the kind of learner: one palette for each ground.

The hue says which kind: dense gradient rules are blue, exact solvers and kernels teal, multiplicative rules
red to orange, spindly and sparse nets magenta, coordinate-wise and sign rules yellow, spectral and
second-order rules violet, all others grey-green. The lightness says which curve of its kind. A search found
these shades: the least distance in OKLab between two curves that a shipped picture of at most six curves has
is as large as possible, with normal sight, protanopia, deuteranopia and tritanopia (Machado, Oliveira,
Fernandes 2009), among colours that stand out from the ground as lines have to (WCAG 2.2, 1.4.11: 3 : 1).
`tests/charts/test_colours.py` measures that distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from engine.core.parts import LearnerKind
    from engine.pictures.view import KindPlace

ThemeName = Literal["dark", "light", "contrast"]
"""The themes, each with its ground and its palette."""

SHADES = 6
"""Shades of each hue; more curves of one kind share them, and letters distinguish these."""

ALONE = 3
"""The shade of the only curve of its kind."""


class Palette(NamedTuple):
    """Colours of learners, of theory, and of what is only context.

    `unproved` are lines of the theory that are less than proved. `dark_is_more`: in heat maps little looks
    like the ground, much stands out from it.
    """

    ground: str
    kinds: dict[LearnerKind, tuple[str, ...]]
    """The shades of every kind of learner, away from the ground."""

    theory: str
    unproved: str
    others: str
    dark_is_more: bool = False

    def of(self, place: KindPlace) -> str:
        """The colour of a curve: the curves of a kind spread over its shades in their order."""
        last = place.total - 1
        shade = ((SHADES - 1) * place.place + (last // 2)) // last if last else ALONE
        return self.kinds[place.kind][shade]

    @property
    def of_learners(self) -> tuple[str, ...]:
        """All colours that a learner may have."""
        return tuple(shade for shades in self.kinds.values() for shade in shades)

    @property
    def of_charts(self) -> tuple[str, ...]:
        """The colours that a chart of one run may have; their positions are the same in every palette."""
        return (*self.of_learners, self.theory, self.unproved, self.others)


DARK = Palette(
    "#121212",
    {
        "gradient": ("#6f95e0", "#73a4ff", "#8bb7ff", "#a4c8ff", "#bed9ff", "#d9e9ff"),
        "exact": ("#008d8f", "#00a2a4", "#00b6ba", "#00ccd1", "#00e2e7", "#35f6fd"),
        "multiplicative": ("#b14442", "#ce5847", "#ec6e4a", "#ff8c5b", "#ffb48a", "#ffd7bb"),
        "sparse": ("#924a87", "#a75c98", "#bb6ea9", "#d080b9", "#e593cb", "#faa6dc"),
        "coordinate": ("#9e8300", "#b49500", "#cba800", "#e1bc2c", "#f5d052", "#ffe799"),
        "spectral": ("#7e4eaa", "#8c5ac6", "#9a68e2", "#a776ff", "#ae91ff", "#b9aaff"),
        "other": ("#5a705a", "#6b826a", "#7d947a", "#8fa68b", "#a2b99c", "#b5cdae"),
    },
    theory="#f2f2f2",
    unproved="#a0a0a0",
    others="#8f99a3",
)
LIGHT = Palette(
    "#f4f4f4",
    {
        "gradient": ("#4d8dd3", "#3579ca", "#1d66c1", "#0151b8", "#003da5", "#002895"),
        "exact": ("#00979d", "#00848a", "#007277", "#006064", "#004f52", "#003e41"),
        "multiplicative": ("#c06235", "#b44c1f", "#a73403", "#942300", "#801000", "#6a0002"),
        "sparse": ("#d755cb", "#c542ba", "#b22ca9", "#a00f98", "#890083", "#72006d"),
        "coordinate": ("#9c8c45", "#8f7d26", "#826f00", "#726200", "#635400", "#544700"),
        "spectral": ("#ac67ff", "#984ef8", "#823ae6", "#6d24d5", "#5900c2", "#4400a2"),
        "other": ("#788e70", "#667d61", "#546c52", "#435c43", "#324c36", "#223d28"),
    },
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
