"""Text as arrays, one element per cell of the screen."""

from __future__ import annotations

import numpy as np
from rich.cells import cell_len

WIDE = 0
"""Fills the second cell of a wide character."""


def code_points(text: str) -> np.ndarray:
    """One code point per cell; a wide character is followed by a filler, what has no width is left out."""
    if text.isascii():
        return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    cells: list[int] = []
    for letter in text:
        if width := cell_len(letter):
            cells += [ord(letter), WIDE][:width]
    return np.array(cells, dtype=np.uint32)


def as_text(glyphs: np.ndarray) -> str:
    """The text of a row of cells."""
    return glyphs.astype("<u4").tobytes().decode("utf-32-le").replace(chr(WIDE), "")


def write(glyphs: np.ndarray, row: int, column: int, text: str) -> slice | None:
    """Put text into a row of `glyphs` [height, width], cropped at both ends.

    Returns:
        the columns that it took, None if the row is outside.
    """
    if not 0 <= row < glyphs.shape[0]:
        return None
    cells = code_points(text)[max(-column, 0) : max(glyphs.shape[1] - column, 0)]
    span = slice(max(column, 0), max(column, 0) + len(cells))
    glyphs[row, span] = cells
    return span
