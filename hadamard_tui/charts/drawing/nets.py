"""Draws nets as nodes and edges, with the inputs at the left. Stronger edges are brighter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.drawing.legend import whole_remarks
from hadamard_tui.charts.drawing.raster import (
    BRAILLE,
    DOTS_ACROSS,
    DOTS_DOWN,
    braille,
    elided,
    line_dots,
    write_text,
)

if TYPE_CHECKING:
    from hadamard_tui.charts.series import LineStyle

LEVELS = 8
"""Number of levels of brightness of an edge."""

WEAK = 2
"""Level of brightness below which an edge is dotted, so that strong edges stand out even without colour."""

MOST_UNITS = 8
"""Maximum number of drawn units per layer. The edges of more units would merge into one area."""

NARROWEST = 24
"""Minimum width of a net in columns."""

NODE, TARGET, ELLIPSIS = "●", "★", "⋮"
WORDS = "weights: bright = large, dotted = small, dashed < 0"

TITLE, NAME, NODES, NOTE = -1, -2, -3, -4
"""Inks (colour numbers) of everything but edges.

The ink of an edge is the index of its net times LEVELS, plus its level of brightness.
"""

_BLANK = ord(" ")
_MARGIN = 6  # number of columns for the labels of inputs


class Net(NamedTuple):
    """Weights of a net at one evaluation point.

    Args:
        layers: weights of the edges of each layer [units, units below], from the inputs upwards.
        inputs: indices of the features that have edges to the first layer.
        target: index of the target's feature; None if the target is not a feature.
        units: number of units of every layer, starting with the inputs.
        largest: largest absolute weight in the run. It is drawn with the greatest brightness.
    """

    name: str
    colour: str
    layers: Sequence[np.ndarray]
    inputs: np.ndarray
    target: int | None
    units: Sequence[int]
    largest: float


class Nets(NamedTuple):
    """Nets to draw side by side. If they do not all fit, only the first ones are drawn."""

    title: str
    nets: Sequence[Net]


class Drawn(msgspec.Struct, frozen=True):
    """Characters and their inks (colour numbers), [rows, columns]."""

    glyphs: np.ndarray
    inks: np.ndarray


class NodePlace(NamedTuple):
    """Drawn units of a layer, and the rows in which they are drawn.

    Args:
        ellipsis: row that states the number of units that are not drawn; None if there is no such row.
        more: number of units that are not drawn.
    """

    units: np.ndarray
    rows: np.ndarray
    ellipsis: int | None
    more: int


def draw(shown: Nets, width: int, height: int) -> Drawn:
    drawn = Drawn(np.full((height, width), _BLANK, np.uint32), np.full((height, width), NOTE, np.int16))
    count = max(1, min(len(shown.nets), width // NARROWEST))
    more = len(shown.nets) - count
    _write_text(drawn, 0, 0, elided(shown.title, width), TITLE)
    words = WORDS if not more else f"{WORDS} · {more} more in a wider view"
    _write_text(drawn, height - 1, 0, whole_remarks(words, width), NOTE)
    net_width = width // count
    for number, net in enumerate(shown.nets[:count]):
        _draw_net(
            drawn, net, number, slice(number * net_width, (number + 1) * net_width - 1), slice(1, height - 1)
        )
    return drawn


def _draw_net(drawn: Drawn, net: Net, number: int, columns: slice, rows: slice) -> None:
    wide, high = columns.stop - columns.start - _MARGIN - 1, rows.stop - rows.start - 1
    _write_text(drawn, rows.start, columns.start, _net_heading(net, columns.stop - columns.start), NAME)
    if wide < 2 * len(net.layers) or high < 1:
        return
    places = _layer_places(net, high)
    at = np.linspace(0, wide - 1, len(places)).round().astype(int)
    first_column, first_row = columns.start + _MARGIN, rows.start + 1
    area = np.s_[first_row : first_row + high, first_column : first_column + wide]
    levels, bits = _edge_levels_and_dots(net, places, at, wide, high)
    on = levels >= 0
    drawn.glyphs[area][on] = bits[on].astype(np.uint32) + BRAILLE
    drawn.inks[area][on] = number * LEVELS + levels[on]
    for layer, (place, column) in enumerate(zip(places, at.tolist(), strict=True)):
        for unit, row in zip(place.units.tolist(), place.rows.tolist(), strict=True):
            is_target = layer == 0 and net.inputs[unit] == net.target
            _write_text(drawn, first_row + row, first_column + column, TARGET if is_target else NODE, NODES)
            if layer == 0:
                _write_text(
                    drawn, first_row + row, columns.start, f"x{net.inputs[unit]}"[: _MARGIN - 1], NOTE
                )
        if place.ellipsis is not None:
            text = f"{ELLIPSIS} {place.more} more"
            start = (
                columns.start
                if layer == 0
                else first_column + column - (layer == len(places) - 1) * cell_len(text)
            )
            _write_text(drawn, first_row + place.ellipsis, start, text, NOTE)


def _net_heading(net: Net, width: int) -> str:
    """Return the name of a net and its largest weight, in at most `width` cells. The weight is never cut."""
    weight = f"{net.largest:.3g}"
    heading = f"{net.name}, largest weight {weight}"
    if cell_len(heading) <= width:
        return heading
    brief = f", max |w| {weight}"
    return f"{elided(net.name, max(width - cell_len(brief), 1))}{brief}"


def _layer_places(net: Net, high: int) -> list[NodePlace]:
    """Return the units to draw for each layer of a net, with their rows.

    A unit above the inputs is drawn if it has an edge from a drawn unit of the layer below. If no unit of a
    layer has such an edge, the first units of the layer are drawn.
    """
    high, room = min(high, MOST_UNITS + 1), high
    among = np.arange(len(net.inputs))
    chosen = among[: max(high - (net.units[0] > high), 1)]
    target_places = np.flatnonzero(net.inputs == net.target)
    if len(target_places) and target_places[0] not in chosen:
        chosen = np.append(chosen[:-1], target_places[0])
    places = [_place_of_units(chosen, net.units[0], room)]
    for layer, unit_count in zip(net.layers, net.units[1:], strict=True):
        linked = np.flatnonzero((layer[:, places[-1].units] != 0).any(1))
        units = linked if len(linked) else np.arange(len(layer))
        places.append(_place_of_units(units[: max(high - (unit_count > high), 1)], unit_count, room))
    return places


def _place_of_units(units: np.ndarray, count: int, high: int) -> NodePlace:
    more = count - len(units)
    last = max(high - 1 - (more > 0 and high > 1), 0)
    rows = np.linspace(0, last, len(units)).round().astype(int) if len(units) > 1 else np.array([last // 2])
    return NodePlace(units, rows, high - 1 if more and high > 1 else None, more)


def _edge_levels_and_dots(
    net: Net, places: Sequence[NodePlace], at: np.ndarray, wide: int, high: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the drawing of a net's edges: the level of brightness in each cell, and the dots of all edges.

    The level is that of the strongest edge in the cell, or −1 if the cell has no edges.
    """
    paths_by_look: dict[tuple[int, bool], list[np.ndarray]] = {}
    for layer, weights in enumerate(net.layers):
        below, above = places[layer], places[layer + 1]
        for unit, row in zip(above.units.tolist(), above.rows.tolist(), strict=True):
            for lower, start in zip(below.units.tolist(), below.rows.tolist(), strict=True):
                size = float(weights[unit, lower])
                if size != 0 and np.isfinite(size):
                    ends = np.array([[at[layer], start], [at[layer + 1], row], [np.nan, np.nan]])
                    paths_by_look.setdefault((_brightness_level(size, net.largest), size < 0), []).append(
                        ends
                    )
    levels, all_dots = (
        np.full((high, wide), -1, np.int16),
        np.zeros((high * DOTS_DOWN, wide * DOTS_ACROSS), bool),
    )
    for (level, negative), paths in sorted(paths_by_look.items()):
        across, down = np.concatenate(paths).T
        style: LineStyle = "sparse" if level < WEAK else "dashed" if negative else "solid"
        right, below_top = across * DOTS_ACROSS + 0.5, down * DOTS_DOWN + 1.5
        dots = line_dots(right, below_top, style, all_dots.shape[1], all_dots.shape[0])
        levels[braille(dots) > 0] = level
        all_dots |= dots
    return levels, braille(all_dots)


def _brightness_level(size: float, largest: float) -> int:
    return min(int(abs(size) / largest * LEVELS), LEVELS - 1) if largest > 0 else 0


def _write_text(drawn: Drawn, row: int, column: int, text: str, ink: int) -> None:
    if 0 <= row < len(drawn.glyphs) and (span := write_text(drawn.glyphs, row, column, text)) is not None:
        drawn.inks[row, span] = ink
