"""A page of SVG in pixels, drawn by resvg with the fonts of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hadamard_tui.sharing.fonts import BOLD, REGULAR, fonts_for

if TYPE_CHECKING:
    from hadamard_tui.sharing.svg_page import Sheet

FINE = 2.0
"""Pixels of a PNG for each of its page."""


def png(page: Sheet, pixels: float = FINE) -> bytes:
    """The page with so many pixels for each of its own."""
    from resvg_py import svg_to_bytes

    fonts = [str(REGULAR), str(BOLD), *fonts_for(page.text).files]
    return svg_to_bytes(
        page.written().decode(),
        zoom=pixels,
        skip_system_fonts=True,
        font_files=fonts,
        sans_serif_family="DejaVu Sans",
    )
