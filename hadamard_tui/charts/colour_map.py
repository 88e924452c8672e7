"""The colours of a heat map, from least to most, and which of them are light."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from hadamard_tui.charts.viridis import VIRIDIS

STEPS = 64
"""Finer than one sees, and few enough that pairs of them stay few: every pair on the screen is a style."""

# On colours of more relative luminance than this, black has more contrast than white (WCAG 2.2).
_BLACK_FROM = 0.179

_GREYS_ON_DARK, _GREYS_ON_LIGHT = (38, 104), (226, 160)
"""Of the least value and of the greatest: near the ground, and apart from each other."""


class ColourMap(msgspec.Struct, frozen=True, eq=False):
    """`STEPS` colours, and as many greys, which stand back behind them.

    Args:
        colours: red, green and blue, uint8 [STEPS, 3].
        greys: the same of the greys.
        light: which of the colours and then of the greys want black upon them, bool [2 STEPS].
    """

    colours: np.ndarray
    greys: np.ndarray
    light: np.ndarray

    @property
    def tints(self) -> np.ndarray:
        """The colours and then the greys, [2 STEPS, 3]."""
        return np.concatenate([self.colours, self.greys])


@lru_cache(maxsize=2)
def colour_map(dark_is_more: bool) -> ColourMap:
    """Viridis, from dark to bright or the other way round."""
    table = np.frombuffer(VIRIDIS, dtype=np.uint8).reshape(-1, 3)
    colours = table[np.linspace(0, len(table) - 1, STEPS).round().astype(int)]
    colours = colours[::-1] if dark_is_more else colours
    low, high = _GREYS_ON_LIGHT if dark_is_more else _GREYS_ON_DARK
    greys = np.repeat(np.linspace(low, high, STEPS).round().astype(np.uint8)[:, None], 3, axis=1)
    tints = np.concatenate([colours, greys])
    return ColourMap(colours, greys, _luminance(tints) > _BLACK_FROM)


def _luminance(colours: np.ndarray) -> np.ndarray:
    """Relative luminance of sRGB colours, 0 … 1."""
    share = colours / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    luminance: np.ndarray = linear @ np.array([0.2126, 0.7152, 0.0722])
    return luminance
