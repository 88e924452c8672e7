"""The headless heat map: text for standard output."""

from __future__ import annotations

import numpy as np

from hadamard_tui.charts.code_points import as_text
from hadamard_tui.charts.colour_map import STEPS, ColourMap
from hadamard_tui.charts.half_blocks import BLACK, GROUND, INKS, WHITE
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.heat_sheet import compose

_RESET = "\x1b[0m"


def printed_heat_map(heat: HeatMap, width: int, height: int, colours: ColourMap | None) -> str:
    """A heat map of `height` lines of `width` cells, in digits where there are no colours."""
    cells = compose(heat, width, height, colours).cells
    if colours is None:
        return "\n".join(as_text(row).rstrip() for row in cells.glyphs)
    rgb = {ink: tuple(colours.colours[ink].tolist()) for ink in range(STEPS)}
    rgb |= {BLACK: (0, 0, 0), WHITE: (255, 255, 255)}
    lines = []
    for glyphs, inks in zip(cells.glyphs, cells.fore.astype(np.int32) * INKS + cells.back, strict=True):
        starts = [0, *(np.flatnonzero(np.diff(inks)) + 1).tolist()]
        line = ""
        for start, end in zip(starts, [*starts[1:], len(glyphs)], strict=True):
            codes = _codes(rgb, *divmod(int(inks[start]), INKS))
            text = as_text(glyphs[start:end])
            line += f"\x1b[{codes}m{text}{_RESET}" if codes else text
        lines.append(line.rstrip(" "))
    return "\n".join(lines)


def _codes(rgb: dict[int, tuple[int, ...]], fore: int, back: int) -> str:
    """The terminal's codes for an ink on another; what is of the frame has the terminal's own colours."""
    parts = [(38, fore)] if fore in rgb else []
    parts += [(48, back)] if back != GROUND else []
    return ";".join(f"{kind};2;{';'.join(map(str, rgb[ink]))}" for kind, ink in parts)
