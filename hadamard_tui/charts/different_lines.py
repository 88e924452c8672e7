"""Merge theory lines that are the same, so that a picture shows each once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

if TYPE_CHECKING:
    from engine.pictures.view import LineView

ROUNDING = 1e-9
"""Relative difference, of the largest value, up to which lines of several curves are the same."""


def different(lines: Sequence[LineView]) -> list[LineView]:
    """Return the lines to show, each once.

    Lines of a kind that are the same for all splits of the curves are one line, named by its kind. Lines that
    several curves have as their own are one line without an owner, if they are equal.
    """
    shown: list[LineView] = []
    for name, alike in _grouped((line.plain_name, line) for line in lines).items():
        shown += [replace(alike[0], name=name, values="", apart=())] if _are_same(alike, 0.0) else alike
    owned = _grouped(((line.called, line.values), line) for line in shown if line.curve)
    for first, *repetitions in owned.values():
        if _are_same([first, *repetitions], ROUNDING):
            shown[shown.index(first)] = replace(first, curve="", formula="")
            shown = [line for line in shown if line not in repetitions]
    return shown


def _are_same(lines: Sequence[LineView], rounding: float) -> bool:
    """Whether several lines have the same points, up to `rounding` times the largest value."""
    first, *more = lines
    least = rounding * float(np.nanmax(np.abs(first.y), initial=0.0))
    return bool(more) and all(
        np.array_equal(first.x, line.x, equal_nan=True)
        and np.allclose(first.y, line.y, rtol=0.0, atol=least, equal_nan=True)
        for line in more
    )


def _grouped(pairs: Iterable[tuple[Hashable, LineView]]) -> dict[Hashable, list[LineView]]:
    """Group lines by key, in the order of their first lines."""
    groups: dict[Hashable, list[LineView]] = {}
    for key, line in pairs:
        groups.setdefault(key, []).append(line)
    return groups
