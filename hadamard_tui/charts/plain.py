"""Glyphs for terminals that show ASCII only."""

from __future__ import annotations

import numpy as np

_BRAILLE = 0x2800
# One character per set of occupied dot rows, the top row being bit 0.
_BY_ROWS = " '-'-:-|.::|.|||"
_ROW_BITS = (0x09, 0x12, 0x24, 0xC0)
_CELLS = np.array(
    [
        ord(_BY_ROWS[sum(1 << row for row, bits in enumerate(_ROW_BITS) if cell & bits)])
        for cell in range(256)
    ],
    dtype=np.uint32,
)
_LINES = {
    "─": "-",
    "╌": "~",
    "┄": ".",
    "│": "|",
    "┊": ":",
    "…": "~",
    "·": ".",
    "•": "o",
    **dict.fromkeys("┌┐└┘├┤┬┴┼", "+"),
}


def to_ascii(glyphs: np.ndarray) -> np.ndarray:
    """Replace braille and box lines in code points of any shape; other characters stay."""
    plain = glyphs.copy()
    braille = (glyphs >= _BRAILLE) & (glyphs < _BRAILLE + 256)
    plain[braille] = _CELLS[glyphs[braille] - _BRAILLE]
    for line, letter in _LINES.items():
        plain[glyphs == ord(line)] = ord(letter)
    return plain
