"""Cells along an axis: each reaches half way to its neighbours, geometrically on a log axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hadamard_tui.charts.scale import Scale

# No border lies beyond: a range of twice as much is still a number.
_LARGEST = 8e307


def borders(values: np.ndarray, log: bool) -> np.ndarray:
    """Return the borders of the cells around increasing values, shape [n + 1].

    The outer cells are symmetric around their values. A single cell reaches from half its value to one and a
    half of it, on a log axis to twice of it, or from −1/2 to 1/2 around 0.
    """
    if log:
        logs = np.log10(values)
        room = np.log10(2.0)
    else:
        logs = values
        room = abs(values[0]) / 2 or 0.5
    steps = np.diff(logs / 2) if len(values) > 1 else np.array([room])
    between = np.concatenate([[logs[0] - steps[0]], logs[:-1] / 2 + logs[1:] / 2, [logs[-1] + steps[-1]]])
    if log:
        smallest, largest = np.log10(np.finfo(np.float64).tiny), np.log10(_LARGEST)
        return 10.0 ** between.clip(min(smallest, logs[0] - room), largest)
    return between.clip(-_LARGEST, _LARGEST)


def cells_at(slots: np.ndarray, scale: Scale, values: np.ndarray) -> np.ndarray:
    """Return the cell around `values` at the centre of each slot; beyond the ends, the outermost cell.

    A border belongs to the cell above it.
    """
    low, high = (np.log10(scale.limits) if scale.log else np.asarray(scale.limits)).tolist()
    places = low + slots * ((high - low) / max(scale.size - 1, 1))
    inner = borders(np.log10(values) if scale.log else values, False)[1:-1]
    seen: np.ndarray = np.searchsorted(inner, places, side="right")
    return seen
