"""Colours of curves, with one palette for each background, and colours of heat maps.

Hue shows the kind of learner, and lightness distinguishes curves of one kind. The hues are:

- blue: dense gradient rules;
- teal: exact solvers and kernels;
- red to orange: multiplicative rules;
- magenta: spindly and sparse nets;
- yellow: coordinate-wise and sign rules;
- violet: spectral and second-order rules;
- grey-green: all others.

These shades were found by a search. It maximised the smallest OKLab distance between two curves in the same
picture, over all pictures of built-in presets with at most six curves. The distances were computed for normal
sight, protanopia, deuteranopia and tritanopia (Machado, Oliveira, Fernandes 2009). All shades have the
contrast with the background that curves need (WCAG 2.2, 1.4.11: 3 : 1). `tests/charts/test_colours.py`
measures the smallest distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

if TYPE_CHECKING:
    from engine.core.parts import LearnerKind
    from engine.pictures.view import KindPlace


ThemeName = Literal["dark", "light", "contrast"]
"""Names of the themes; every theme has a background and a palette."""

SHADES = 6
"""Number of shades of each hue.

If more than six curves have learners of one kind, some curves have the same shade. Their letters differ.
"""

ALONE = 3
"""Index of the shade for a curve if no other curve has a learner of the same kind."""


class Palette(NamedTuple):
    """Colours for charts on one background.

    Args:
        ground: colour of the background.
        theory: colour of theory lines.
        unproved: colour of theory lines without a proof.
        others: colour of everything that is neither a learner's curve nor a theory line, such as marks and
            names of other runs.
        dark_is_more: whether larger values in heat maps are darker. This fits a light background: small
            values look like the background, and large values stand out.
    """

    ground: str
    kinds: dict[LearnerKind, tuple[str, ...]]
    """Shades for every kind of learner, in order of increasing contrast with the background."""

    theory: str
    unproved: str
    others: str
    dark_is_more: bool = False

    def of(self, place: KindPlace) -> str:
        """Return the colour of a curve. Learners of one kind have evenly spaced shades of one hue."""
        last = place.total - 1
        shade = ((SHADES - 1) * place.place + (last // 2)) // last if last else ALONE
        return self.kinds[place.kind][shade]

    @property
    def of_learners(self) -> tuple[str, ...]:
        return tuple(shade for shades in self.kinds.values() for shade in shades)

    @property
    def of_charts(self) -> tuple[str, ...]:
        """All colours that the chart of a run can contain, in the same order for every palette."""
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
        "other": ("#788e70", "#667d61", "#546c52", "#435c43", "#324c36", "#313c1e"),
    },
    theory="#000000",
    unproved="#606060",
    others="#5f6871",
    dark_is_more=True,
)
CONTRAST = DARK._replace(ground="#000000", theory="#ffffff", others="#9aa4ae")

_current = DARK


def use(palette: Palette) -> None:
    """Use this palette for all charts from now on.

    There is one palette for the whole program, because a terminal has one background.
    """
    global _current
    _current = palette


def current() -> Palette:
    return _current


@contextmanager
def on_paper() -> Iterator[None]:
    before = current()
    use(LIGHT)
    try:
        yield
    finally:
        use(before)


STEPS = 64
"""Number of colours in a heat map: more than the eye can distinguish.

More colours would slow down drawing, because each pair of colours in one screen cell needs a text style.
"""

# Above this relative luminance, black text has more contrast than white (WCAG 2.2).
_BLACK_FROM = 0.179

_GREYS_ON_DARK, _GREYS_ON_LIGHT = (38, 104), (226, 160)
"""Greys, from 0 to 255, for the smallest and the largest value of a heat map.

These greys are close to the background, but can be distinguished from it.
"""

VIRIDIS = bytes.fromhex(
    "44015444025645045745055946075a46085c460a5d460b5e470d60470e61471063471164471365481467481668481769"
    "48186a481a6c481b6d481c6e481d6f481f70482071482173482374482475482576482677482878482979472a7a472c7a"
    "472d7b472e7c472f7d46307e46327e46337f463480453581453781453882443983443a83443b84433d84433e85423f85"
    "4240864241864142874144874045884046883f47883f48893e49893e4a893e4c8a3d4d8a3d4e8a3c4f8a3c508b3b518b"
    "3b528b3a538b3a548c39558c39568c38588c38598c375a8c375b8d365c8d365d8d355e8d355f8d34608d34618d33628d"
    "33638d32648e32658e31668e31678e31688e30698e306a8e2f6b8e2f6c8e2e6d8e2e6e8e2e6f8e2d708e2d718e2c718e"
    "2c728e2c738e2b748e2b758e2a768e2a778e2a788e29798e297a8e297b8e287c8e287d8e277e8e277f8e27808e26818e"
    "26828e26828e25838e25848e25858e24868e24878e23888e23898e238a8d228b8d228c8d228d8d218e8d218f8d21908d"
    "21918c20928c20928c20938c1f948c1f958b1f968b1f978b1f988b1f998a1f9a8a1e9b8a1e9c891e9d891f9e891f9f88"
    "1fa0881fa1881fa1871fa28720a38620a48621a58521a68522a78522a88423a98324aa8325ab8225ac8226ad8127ad81"
    "28ae8029af7f2ab07f2cb17e2db27d2eb37c2fb47c31b57b32b67a34b67935b77937b87838b9773aba763bbb753dbc74"
    "3fbc7340bd7242be7144bf7046c06f48c16e4ac16d4cc26c4ec36b50c46a52c56954c56856c66758c7655ac8645cc863"
    "5ec96260ca6063cb5f65cb5e67cc5c69cd5b6ccd5a6ece5870cf5773d05675d05477d1537ad1517cd2507fd34e81d34d"
    "84d44b86d54989d5488bd6468ed64590d74393d74195d84098d83e9bd93c9dd93ba0da39a2da37a5db36a8db34aadc32"
    "addc30b0dd2fb2dd2db5de2bb8de29bade28bddf26c0df25c2df23c5e021c8e020cae11fcde11dd0e11cd2e21bd5e21a"
    "d8e219dae319dde318dfe318e2e418e5e419e7e419eae51aece51befe51cf1e51df4e61ef6e620f8e621fbe723fde725"
)


class ColourMap(msgspec.Struct, frozen=True, eq=False):
    """Colours of a heat map, and as many greys for rows that are not coloured.

    Args:
        colours: red, green and blue of every colour, uint8 [STEPS, 3].
        greys: red, green and blue of every grey, uint8 [STEPS, 3].
        light: whether text on a colour must be black, bool [2 STEPS]. The colours come first, then the greys.
    """

    colours: np.ndarray
    greys: np.ndarray
    light: np.ndarray

    @property
    def tints(self) -> np.ndarray:
        return np.concatenate([self.colours, self.greys])


@lru_cache(maxsize=2)
def colour_map(dark_is_more: bool) -> ColourMap:
    """Return the Viridis colour map. Large values are dark if `dark_is_more`, and otherwise bright."""
    table = np.frombuffer(VIRIDIS, dtype=np.uint8).reshape(-1, 3)
    colours = table[np.linspace(0, len(table) - 1, STEPS).round().astype(int)]
    colours = colours[::-1] if dark_is_more else colours
    low, high = _GREYS_ON_LIGHT if dark_is_more else _GREYS_ON_DARK
    greys = np.repeat(np.linspace(low, high, STEPS).round().astype(np.uint8)[:, None], 3, axis=1)
    tints = np.concatenate([colours, greys])
    return ColourMap(colours, greys, luminance(tints) > _BLACK_FROM)


def luminance(colours: np.ndarray) -> np.ndarray:
    """Return the relative luminance of sRGB colours, from 0 to 1. Source: WCAG 2.2."""
    share = colours / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    weighted: np.ndarray = linear @ np.array([0.2126, 0.7152, 0.0722])
    return weighted


def hex_colour(colour: Iterable[int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
