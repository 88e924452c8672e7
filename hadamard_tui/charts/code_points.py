"""Text as arrays, one element per cell of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from rich.cells import cell_len

WIDE = 0
"""Filler for the second cell of a wide character."""


@lru_cache(maxsize=1024)
def code_points(text: str) -> np.ndarray:
    """Return one code point per cell.

    A filler follows a wide character; characters without width are left out. Do not write to the array: the
    lines of a frame are requested again at every redraw.
    """
    if text.isascii():
        return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    cells: list[int] = []
    for letter in text:
        if width := cell_len(letter):
            cells += [ord(letter), WIDE][:width]
    return np.array(cells, dtype=np.uint32)


def runs(glyphs: np.ndarray, inks: np.ndarray) -> Sequence[tuple[str, int]]:
    """Split a row of cells into texts of one ink each."""
    text = glyphs.astype("<u4").tobytes().decode("utf-32-le")
    starts = [0, *(np.flatnonzero(np.diff(inks)) + 1).tolist()]
    pieces = zip(starts, [*starts[1:], len(text)], inks[starts].tolist(), strict=True)
    if chr(WIDE) in text:
        return [(text[start:end].replace(chr(WIDE), ""), ink) for start, end, ink in pieces]
    return [(text[start:end], ink) for start, end, ink in pieces]


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
