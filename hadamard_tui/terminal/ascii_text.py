"""Text and screens in ASCII, for terminals, pipes and fonts that lack other characters."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

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


def braille_to_ascii(glyphs: np.ndarray) -> np.ndarray:
    """Replace braille and box lines in code points of any shape; other characters stay."""
    plain = glyphs.copy()
    braille = (glyphs >= _BRAILLE) & (glyphs < _BRAILLE + 256)
    plain[braille] = _CELLS[glyphs[braille] - _BRAILLE]
    for line, letter in _LINES.items():
        plain[glyphs == ord(line)] = ord(letter)
    return plain


_SHAPES = {
    **dict.fromkeys("━═▔▁▂▀▄", "-"),
    **dict.fromkeys("┃║▏▕▌▐▎▍", "|"),
    **dict.fromkeys("╭╮╰╯┏┓┗┛┣┫┳┻╋╔╗╚╝", "+"),
    **dict.fromkeys("█▉▊▋▇▆▅▃", "#"),
    **dict.fromkeys("▲△▴", "^"),
    **dict.fromkeys("▼▽▾", "v"),
    **dict.fromkeys("▶▸►", ">"),
    **dict.fromkeys("◀◂◄", "<"),
    **dict.fromkeys("●★•■◆", "*"),
    **dict.fromkeys("○⊙", "."),
    "∘": "o",
    **dict.fromkeys("–—−", "-"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
}
_WORDS = {
    "α": "a", "β": "b", "η": "n", "λ": "l", "μ": "m", "ρ": "r", "σ": "s", "Σ": "S", "θ": "t", "ᵀ": "T",
    "Γ": "G", "Δ": "D", "Θ": "T", "Λ": "L", "Ξ": "X", "Π": "P", "Φ": "F", "Ψ": "Y", "Ω": "W",
    "Б": "B", "Ж": "J", "И": "I", "Л": "L", "Ц": "C", "Ч": "Q", "Ш": "W", "Э": "E", "Ю": "U", "Я": "R",
    "×": "x", "±": "~", "≤": "<", "≥": ">", "≈": "~", "√": "V", "∞": "8", "∈": "E", "‖": "|", "✓": "+",
    "∝": "~", "✗": "x", "→": ">", "←": "<", "↑": "^", "↓": "v", "↦": ">", "⌈": "[", "⌉": "]", "⌊": "[",
    "⌋": "]", "§": "S", "∇": "V", "∂": "d", "∏": "P", "∫": "S", "⊥": "T", "⊗": "x", "⊛": "*", "∓": "~",
    "≃": "~", "≡": "=", "′": "'", "″": '"', "⁻": "-", "₋": "-", "⋯": "~", "⋮": ":", "⟨": "<", "⟩": ">",
    "∥": "|", "∠": "<", "†": "+", "γ": "g", "δ": "d", "ε": "e", "κ": "k", "ν": "v", "ξ": "x", "π": "p",
    "τ": "t", "φ": "f", "χ": "x", "ψ": "y", "ω": "w", "ᾱ": "a", "ø": "o", "µ": "m",
}  # fmt: skip

EITHER, SAME = "±", "≡"
"""Signs that also replace the space behind them, because their ASCII forms are longer."""

WHATEVER = "(…)"
"""ASCII form of an ellipsis in parentheses; other ellipses mark cut texts."""


@lru_cache(maxsize=4096)
def to_ascii(text: str) -> str:
    """Return text of the same width in ASCII."""
    if text.isascii():
        return text
    for sign, in_ascii in ((f"{EITHER} ", "+-"), (f"{SAME} ", "=="), (WHATEVER, "( )")):
        text = text.replace(sign, in_ascii)
    return "".join(map(_letter, text))


@lru_cache(maxsize=4096)
def _letter(letter: str) -> str:
    width = cell_len(letter)
    if letter.isascii() or width == 0:
        return letter if letter.isascii() else ""
    drawn = chr(int(braille_to_ascii(np.array([ord(letter)], dtype=np.uint32))[0]))
    if replacement := drawn if drawn.isascii() else _SHAPES.get(letter) or _WORDS.get(letter):
        return replacement
    folded = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return folded[:width].ljust(width) if folded else "?" * width


class AsciiFilter(LineFilter):
    """Filter that replaces non-ASCII characters in the lines of the screen."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        texts = [segment.text for segment in segments]
        for at in range(len(texts) - 1):
            if texts[at].endswith(EITHER) and texts[at + 1].startswith(" "):
                texts[at], texts[at + 1] = f"{texts[at]} ", texts[at + 1][1:]
        return [
            Segment(to_ascii(text), style, control)
            for text, (_, style, control) in zip(texts, segments, strict=True)
        ]
