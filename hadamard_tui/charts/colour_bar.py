"""The scale of a heat map: its colours, or digits, with the numbers that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.code_points import write
from hadamard_tui.charts.colour_map import STEPS
from hadamard_tui.charts.half_blocks import DIGITS, HALVES, Inked
from hadamard_tui.charts.ticks import Tick, ticks

if TYPE_CHECKING:
    from hadamard_tui.charts.value_scale import ValueScale

_ROWS_PER_TICK, _MOST_TICKS = 3, 9
_THICK = 2
_UPPER, _FULL = ord("▀"), ord("█")


def upright(scale: ValueScale, rows: int, plain: bool) -> Inked:
    """A bar of so many rows, the most at the top, with its numbers at the right; as wide as these need."""
    marked = _ticks(scale, rows)
    bar = Inked.blank(rows, 1 + _THICK + 1 + max((cell_len(label) for _, label in marked), default=0))
    colours = slice(1, 1 + _THICK)
    if plain:
        steps = (np.arange(rows)[::-1] + 0.5) / max(rows, 1) * DIGITS
        bar.glyphs[:, colours] = (steps.astype(np.uint32) + ord("0"))[:, None]
    else:
        halves = rows * HALVES
        shares = ((np.arange(halves)[::-1] + 0.5) / max(halves, 1) * STEPS).astype(np.int16)
        bar.glyphs[:, colours] = _UPPER
        bar.fore[:, colours], bar.back[:, colours] = shares[::2, None], shares[1::2, None]
    for value, label in marked:
        row = rows - 1 - min(max(int(scale.share(value) * rows), 0), rows - 1)
        write(bar.glyphs, row, 1 + _THICK + 1, label)
    return bar


def flat(scale: ValueScale, width: int, plain: bool) -> Inked:
    """A bar of one row between the numbers of its ends, as wide as it may be."""
    low, high = (f"{end:.3g}" for end in scale.limits)
    bar = Inked.blank(1, width)
    room = width - len(low) - len(high) - 2
    if room < DIGITS:
        return bar
    write(bar.glyphs, 0, 0, low)
    write(bar.glyphs, 0, width - len(high), high)
    colours = slice(len(low) + 1, len(low) + 1 + room)
    share = (np.arange(room) + 0.5) / room
    if plain:
        bar.glyphs[0, colours] = (share * DIGITS).astype(np.uint32) + ord("0")
    else:
        bar.glyphs[0, colours], bar.fore[0, colours] = _FULL, (share * STEPS).astype(np.int16)
    return bar


def in_words(scale: ValueScale, label: str) -> str:
    """What the digits mean."""
    low, high = (f"{end:.3g}" for end in scale.limits)
    what = f"{label} " if label else ""
    return f"digits 0 to 9: {what}from {low} to {high}, {'logarithmic' if scale.log else 'linear'}"


def _ticks(scale: ValueScale, rows: int) -> tuple[Tick, ...]:
    return ticks(scale.limits, scale.log, min(_MOST_TICKS, max(2, rows // _ROWS_PER_TICK)))
