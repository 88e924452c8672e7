"""The headless heat map: text for standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hadamard_tui.charts.code_points import runs
from hadamard_tui.charts.half_blocks import BLACK, GROUND, INKS, WHITE
from hadamard_tui.charts.heat_sheet import compose

if TYPE_CHECKING:
    from hadamard_tui.charts.colour_map import ColourMap
    from hadamard_tui.charts.heat_map import HeatMap

_RESET = "\x1b[0m"


def printed_heat_map(heat: HeatMap, width: int, height: int, colours: ColourMap | None) -> str:
    """A heat map of `height` lines of `width` cells, in digits where there are no colours."""
    cells = compose(heat, width, height, colours).cells
    rgb = {BLACK: (0, 0, 0), WHITE: (255, 255, 255)}
    if colours is not None:
        rgb |= {ink: (red, green, blue) for ink, (red, green, blue) in enumerate(colours.tints.tolist())}
    lines = []
    for glyphs, inks in zip(cells.glyphs, cells.fore.astype(np.int32) * INKS + cells.back, strict=True):
        line = ""
        for text, ink in runs(glyphs, inks):
            codes = _codes(rgb, *divmod(ink, INKS))
            line += f"\x1b[{codes}m{text}{_RESET}" if codes else text
        lines.append(line.rstrip(" "))
    return "\n".join(lines)


def _codes(rgb: dict[int, tuple[int, int, int]], fore: int, back: int) -> str:
    """The terminal's codes for an ink on another; what is of the frame has the terminal's own colours."""
    parts = [(38, fore)] if fore in rgb else []
    parts += [(48, back)] if back != GROUND else []
    return ";".join(f"{kind};2;{';'.join(map(str, rgb[ink]))}" for kind, ink in parts)
