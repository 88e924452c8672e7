"""Fonts of pictures: font families that have the letters of a text, and the letters that no font has."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Set
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engine.core.texts import listed

TALKATIVE = "matplotlib", "fontTools"
"""Libraries that would print warnings about fonts on standard error."""

PLACEHOLDERS = "lastresort", "adobeblank"
"""Fonts that claim every letter and draw a box or nothing in its place."""


REGULAR, BOLD = (Path(__file__).parent / "dejavu" / f"DejaVuSans{weight}.ttf" for weight in ("", "-Bold"))
"""Fonts of the program."""


class Fonts(NamedTuple):
    """Fonts that a text needs besides those of the program.

    Args:
        families: installed families, in the order in which they are searched for a letter.
        files: their files.
        missing: letters that no installed font has, in the order of the text.
    """

    families: tuple[str, ...]
    files: tuple[str, ...]
    missing: str


def fonts_for(text: str) -> Fonts:
    """Return the fonts that `text` needs; silence the libraries that look for them."""
    for library in TALKATIVE:
        logging.getLogger(library).setLevel(logging.CRITICAL)
    return _fonts_for("".join(dict.fromkeys(filter(_is_drawn, text))))


def boxes(text: str) -> str:
    """Return which letters of `text` a picture draws as boxes; empty if every letter has a font."""
    missing = fonts_for(text).missing
    if not missing:
        return ""
    letters = listed(f"◌{letter}" if unicodedata.category(letter)[0] == "M" else letter for letter in missing)
    return f"shows boxes for {letters}: no font on this machine has {'them' if len(missing) > 1 else 'it'}"


def _is_drawn(letter: str) -> bool:
    """Whether a letter without a glyph becomes a box: controls, wide blanks and selectors stay invisible."""
    is_selector = unicodedata.name(letter, "").startswith("VARIATION SELECTOR")
    return letter.isprintable() and not letter.isascii() and not is_selector


@cache
def _fonts_for(letters: str) -> Fonts:
    missing = set(letters) - shipped_letters() if letters else set()
    families: list[str] = []
    offers = _offers(missing) if missing else {}
    while any(offer & missing for offer in offers.values()):
        families.append(max(offers, key=lambda name: len(offers[name] & missing)))
        missing -= offers[families[-1]]
    files = tuple(_file_of(family) for family in families)
    return Fonts(tuple(families), files, "".join(letter for letter in letters if letter in missing))


@cache
def shipped_letters() -> frozenset[str]:
    """Return the letters of the program's fonts."""
    from fontTools.ttLib import TTFont

    with TTFont(REGULAR, lazy=True) as font:
        return frozenset(map(chr, font.getBestCmap()))


def _offers(letters: Set[str]) -> dict[str, Set[str]]:
    """Return the letters of each installed family, families without serifs first."""
    from matplotlib.font_manager import fontManager

    _add_new_fonts()
    names = {font.name for font in fontManager.ttflist}
    names = {name for name in names if not name.lower().replace(" ", "").startswith(PLACEHOLDERS)}
    ordered = sorted(names, key=lambda name: ("Sans" not in name, name))
    return {name: letters & _letters_of(name) for name in ordered}


def _add_new_fonts() -> None:
    """Add fonts that were installed after matplotlib wrote its list of fonts, which it never renews."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    listed_files = {font.fname for font in fontManager.ttflist}
    for file in findSystemFonts():
        if file not in listed_files:
            with suppress(
                Exception
            ):  # matplotlib raises what its readers raise, and a broken font has no letters
                fontManager.addfont(file)


def _letters_of(family: str) -> Set[str]:
    """Return the letters of the font that matplotlib takes for a family; none if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(_file_of(family)).get_charmap()))
    except (OSError, RuntimeError, ValueError):
        return frozenset()


def _file_of(family: str) -> str:
    """Return the font that matplotlib takes for a family. Raises: ValueError if it has none."""
    from matplotlib.font_manager import FontProperties, findfont

    properties = FontProperties(family=[family])
    return str(findfont(properties, fallback_to_default=False, rebuild_if_missing=False))
