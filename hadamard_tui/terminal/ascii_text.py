"""ASCII versions of texts and screens, for terminals, pipes and fonts that lack other characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_BRAILLE = 0x2800
_FIRST_SHAPE = 0x2500  # from here: box lines, blocks, shapes and braille, which must stay in their columns
# ASCII character of a braille cell. The index has one bit for each row with a dot; the top row is bit 0.
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
    """Replace braille and box lines by ASCII characters in an array of code points of any shape."""
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
    "τ": "t", "φ": "f", "χ": "x", "ψ": "y", "ω": "w", "ᾱ": "a", "ø": "o", "µ": "m", "°": "o",
}  # fmt: skip

WHATEVER = "(…)"
"""Ellipsis in parentheses, which becomes "( )" in ASCII. Any other ellipsis marks a shortened text."""

_LONG = {"±": "+-", "∞": "inf", "¼": "1/4", "½": "1/2", "¾": "3/4", "≡": "==", "≤": "<=", "≥": ">="}
_WITH_SPACES = {"≤ ": "<=", "≥ ": ">=", "η = ": "eta=", "ν = ": "nu= "}
"""ASCII forms of signs with the spaces around them, which leave room for more than one letter.

A single letter would be misleading: ≤ would become <, and η would become n.
"""

_GROWTH = 24
"""Maximum number of characters by which the ASCII form of a printed line may be longer."""

_POWER = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_LONGER = re.compile(
    f"{'|'.join(_WITH_SPACES)}|≡ |± (?=[^a-zA-Z])|±$|[{''.join(_LONG)}]"
    f"|(?:·)?(?<![\\d.])10[{_POWER}]+|[{_POWER}]+"
)
"""Pattern of the signs that `_long_form` converts, with the spaces and exponents that belong to them."""


def to_ascii(text: str) -> str:
    return "".join(_ascii_forms(text))


def ascii_rest(line: str, start: int) -> str:
    """Return the ASCII form of the end of a printed line, from position `start`.

    All characters before `start` must be ASCII already. Unlike a line on the screen, a printed line may
    become up to _GROWTH characters longer. So there is room for the longer forms of signs such as ±.
    """
    forms = _ascii_forms(line + " " * _GROWTH)
    if "".join(forms[:start]) != line[:start]:  # as for 10⁻³, where the sign begins before its exponent
        return ascii_rest(line[start:], 0)
    rest = "".join(forms[start:])
    return rest[: max(len(rest.rstrip(" ")), len(rest) - _GROWTH)]


@lru_cache(maxsize=512)
def _ascii_forms(text: str) -> tuple[str, ...]:
    """Return the ASCII form of each character. Together, the forms are as wide as the text.

    A long ASCII form needs more cells than the characters that it replaces. For each additional cell, a space
    is removed from the next run of spaces that is long enough. Without such a run, the short form of each
    character is used.
    """
    if text.isascii():
        return tuple(text)
    pieces = [*map(_ascii_letter, text.replace(WHATEVER, "( )"))]
    for match in _LONGER.finditer(text):
        start, end = match.span()
        form = _long_form(match.group())
        gap = _spaces_behind(text, pieces, end, len(form) - (end - start))
        if gap is not None:
            pieces[start:end] = [form, *[""] * (end - start - 1)]
            for place in gap:
                pieces[place] = ""
    return tuple(pieces)


def _long_form(sign: str) -> str:
    if sign in _WITH_SPACES:
        return _WITH_SPACES[sign]
    if sign[0] in _LONG:
        return _LONG[sign[0]]
    digits = unicodedata.normalize("NFKC", sign.lstrip("·").removeprefix("10")).replace("−", "-")
    if "10" not in sign:
        return f"^{digits}"
    return f"{'*' if sign.startswith('·') else ''}1e{digits}"


def _spaces_behind(text: str, pieces: list[str], at: int, count: int) -> list[int] | None:
    """Return the positions of `count` spaces to omit, all in the first wide enough gap after position `at`.

    A gap is a run of spaces. One space of the gap remains, unless the gap ends the text.

    Return None if no gap is wide enough. Also return None if the text before the gap contains a character of
    a drawing, such as a box line. Such a character must not move to another column.
    """
    if count <= 0:
        return []
    for gap in re.finditer(r" +(?P<end>$)?", text[at:]):
        if any(letter in _LINES or ord(letter) >= _FIRST_SHAPE for letter in text[at : at + gap.start()]):
            return None
        places = [at + place for place in range(*gap.span()) if pieces[at + place]]
        if len(places) >= count + (gap.group("end") is None):
            return places[:count]
    return None


@lru_cache(maxsize=4096)
def _ascii_letter(letter: str) -> str:
    width = cell_len(letter)
    if letter.isascii() or width == 0:
        return letter if letter.isascii() else ""
    drawn = chr(int(braille_to_ascii(np.array([ord(letter)], dtype=np.uint32))[0]))
    if replacement := drawn if drawn.isascii() else _SHAPES.get(letter) or _WORDS.get(letter):
        return replacement
    folded = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return folded[:width].ljust(width) if folded else "?" * width


class AsciiFilter(LineFilter):
    """Filter that replaces non-ASCII characters on the screen by ASCII characters."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        pieces, ascii_segments, start = _ascii_forms("".join(segment.text for segment in segments)), [], 0
        for text, style, control in segments:
            ascii_segments.append(Segment("".join(pieces[start : start + len(text)]), style, control))
            start += len(text)
        return ascii_segments
