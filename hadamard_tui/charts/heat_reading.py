"""What a heat map says about one of its cells, in numbers and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from engine.core.notation import number

if TYPE_CHECKING:
    from hadamard_tui.charts.heat_map import HeatMap

_PLAIN = (1e-4, 1e6)
"""Numbers between these are written with as many decimals as their error has, others in powers of ten."""


class Reading(msgspec.Struct, frozen=True):
    """One cell; z may be NaN."""

    x: float
    y: float
    z: float
    text: str


def read(heat: HeatMap, ix: int, iy: int) -> Reading:
    """What is at these positions among x and y."""
    x, y, z = float(heat.x[ix]), float(heat.y[iy]), float(heat.z[iy, ix])
    stderr = math.nan if heat.stderr is None else float(heat.stderr[iy, ix])
    where = f"{heat.x_label or 'x'} {_place(x)}, {heat.y_label or 'y'} {heat.y_name(y) or _place(y)}"
    value = heat.missing if math.isnan(z) else with_error(z, stderr)
    grey = heat.unlit is not None and bool(heat.unlit[iy])
    return Reading(x, y, z, f"{where}: {value}{f', {heat.unlit_words}' if grey else ''}")


def _place(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < _PLAIN[1] else f"{value:.4g}"


def with_error(value: float, stderr: float) -> str:
    """ "0.034 ± 0.002": the value to the digit of its standard error; without one, three digits."""
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinity"
    if not (math.isfinite(stderr) and stderr > 0):
        return f"{value:.3g}"
    if not _PLAIN[0] <= max(abs(value), stderr) < _PLAIN[1]:
        return f"{value:.3g} ± {number(stderr, 1)}"
    decimals = max(-math.floor(math.log10(stderr)), 0)
    return f"{value:.{decimals}f} ± {stderr:.{decimals}f}"
