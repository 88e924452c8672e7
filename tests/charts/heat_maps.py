"""Heat maps for tests, and functions that read painted ones."""

from __future__ import annotations

import math

import numpy as np

from hadamard_tui.charts.drawing.heat_sheet import Inked
from hadamard_tui.charts.heat_map import ContourLine, HeatMap, MarkedPoint
from hadamard_tui.charts.plots.level_lines import level_lines
from hadamard_tui.colours.palette import STEPS

GRID = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def heat(z=GRID, x=None, y=None, **rest) -> HeatMap:
    z = np.asarray(z, dtype=float)
    return HeatMap(
        np.arange(1.0, z.shape[1] + 1) if x is None else np.asarray(x, dtype=float),
        np.arange(1.0, z.shape[0] + 1) if y is None else np.asarray(y, dtype=float),
        z,
        **rest,
    )


def criticality() -> HeatMap:
    """Variances of the layers of a ReLU net without biases, (C_w / 2)^depth; one corner is missing."""
    depth, cw = np.arange(1.0, 51.0), np.linspace(0.5, 4.0, 25)
    z = (cw[:, None] / 2) ** depth
    line = level_lines(depth, cw, np.repeat(cw[:, None], 50, axis=1), 2.0)
    z[-3:, 30:] = math.nan
    return HeatMap(
        depth,
        cw,
        z,
        stderr=z / 20,
        x_label="depth",
        y_label="C_w",
        z_label="layer variance",
        title="Variance of the layers",
        z_log=True,
        contours=(ContourLine("critical: C_w = 2", line),),
        points=(MarkedPoint("He's start", 25.0, 3.0),),
    )


def halves(painted: Inked) -> list[list[int]]:
    """Colour steps of the cells of a picture in half blocks, −1 for empty cells."""
    steps_by_row = []
    for glyphs, fore, back in zip(painted.glyphs, painted.fore, painted.back, strict=True):
        cells = [
            (chr(glyph), int(ink), int(other)) for glyph, ink, other in zip(glyphs, fore, back, strict=True)
        ]
        steps_by_row.append(
            [
                ink if glyph == "▀" else other if glyph == "▄" and other < STEPS else -1
                for glyph, ink, other in cells
            ]
        )
        steps_by_row.append(
            [
                ink if glyph == "▄" else other if glyph == "▀" and other < STEPS else -1
                for glyph, ink, other in cells
            ]
        )
    return steps_by_row


def lines(painted: Inked) -> list[str]:
    return ["".join(map(chr, row)) for row in painted.glyphs]
