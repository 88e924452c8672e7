"""Functions that read dots and text from pictures."""

from __future__ import annotations

import numpy as np

from hadamard_tui.charts.drawing.raster import Raster
from hadamard_tui.charts.series import Axes, Series

_DOTS = {
    0x01: (0, 0),
    0x02: (1, 0),
    0x04: (2, 0),
    0x40: (3, 0),
    0x08: (0, 1),
    0x10: (1, 1),
    0x20: (2, 1),
    0x80: (3, 1),
}


def dots(picture: Raster) -> set[tuple[int, int]]:
    """The (row, column) of every braille dot, rows from the top."""
    places = set()
    for (row, column), glyph in np.ndenumerate(picture.glyphs):
        if 0x2800 <= glyph < 0x2900:
            for bit, (down, right) in _DOTS.items():
                if glyph & bit:
                    places.add((4 * row + down, 2 * column + right))
    return places


def text(picture: Raster) -> list[str]:
    return ["".join(map(chr, row)) for row in picture.glyphs]


def curve(y, x=None, name="curve", colour="red", **rest) -> Series:
    y = np.asarray(y, dtype=float)
    return Series(
        name, np.arange(len(y), dtype=float) if x is None else np.asarray(x, dtype=float), y, colour, **rest
    )


def axes(x_limits=(0, 19), y_limits=(0, 1), **rest) -> Axes:
    return Axes(rest.pop("title", "title"), "x", "y", x_limits, y_limits, **rest)
