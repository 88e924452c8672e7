"""A page of SVG as pixels, drawn by resvg with the program's fonts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hadamard_tui.sharing.fonts import BOLD, REGULAR, fonts_for

if TYPE_CHECKING:
    from hadamard_tui.sharing.svg_page import Sheet

FINE = 2.0
"""Pixels of a PNG per pixel of its page."""


def png(page: Sheet, pixels: float = FINE) -> bytes:
    """Return the page as PNG, with so many pixels for each of its own."""
    from resvg_py import svg_to_bytes

    fonts = [str(REGULAR), str(BOLD), *fonts_for(page.text).files]
    return svg_to_bytes(
        page.written().decode(),
        zoom=pixels,
        skip_system_fonts=True,
        font_files=fonts,
        sans_serif_family="DejaVu Sans",
    )
