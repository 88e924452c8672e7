"""Content of a heat map: its cells, the scale of their values, contour lines, and marked points."""

from __future__ import annotations

import math
from typing import ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace
from rich.cells import cell_len

from engine.core.expressions import number
from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import Axes, Limits, LineStyle, are_whole

# Largest absolute value of a cell border or scale limit. It is so small that twice the range cannot overflow.
# Larger values are shown at the end of the scale.
_LARGEST = 8e307


def cell_borders(values: np.ndarray, log: bool) -> np.ndarray:
    """Return the borders [n + 1] of cells around n increasing values.

    Inner borders are halfway between neighbouring values. The first and the last value are in the middle of
    their cells. A single cell reaches from 1/2 to 3/2 of its value, or from −1/2 to 1/2 if the value is 0. On
    a log axis, it reaches from half the value to twice the value.
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
    """Return the index of the heat map cell that is drawn in each of `slots` along an axis.

    A slot is, for example, a row or column of the screen. The drawn cell is the cell that contains the centre
    of the slot, or else the nearest cell. A border between two cells belongs to the cell with the larger
    value.

    Args:
        slots: numbers of slots.
        scale: scale that maps slots to data values.
        values: increasing values of the cells, from which `cell_borders` computes the borders.
    """
    low, high = (np.log10(scale.limits) if scale.log else np.asarray(scale.limits)).tolist()
    places = low + slots * ((high - low) / max(scale.size - 1, 1))
    inner = cell_borders(np.log10(values) if scale.log else values, False)[1:-1]
    seen: np.ndarray = np.searchsorted(inner, places, side="right")
    return seen


# If the range of values is narrower than this, relative to the values, it comes from rounding errors.
_NOISE = 1e-12
_FACTOR = 2.0
"""Factor by which the scale extends above and below a single value."""


class ValueScale(msgspec.Struct, frozen=True):
    """Scale from the values of a heat map to colours: its limits, and whether it is logarithmic.

    Args:
        hidden: phrase about the values that the scale cannot show; empty if it can show all values.
    """

    limits: Limits
    log: bool
    hidden: str = ""

    def steps(self, values: np.ndarray, count: int) -> np.ndarray:
        """Return the index of the colour step of each value, if the colour scale has `count` equal steps.

        Values beyond the scale belong to its first or last step. The index is −1 for NaN.
        """
        share = Scale(self.limits, self.log, 2).place(values)
        defined = ~np.isnan(share)
        steps = np.where(defined, share, 0.0) * count
        return np.where(defined, steps.clip(0, count - 1), -1).astype(np.int16)

    def share(self, value: float) -> float:
        return float(Scale(self.limits, self.log, 2).place(np.asarray(value)))


def value_scale(z: np.ndarray, log: bool) -> ValueScale:
    """Return the colour scale for the values `z`. Its limits are the smallest and the largest finite value.

    A log scale ignores values ≤ 0. If `log` is True but no value is above 0, the scale is linear. The field
    `hidden` of the scale names values that it cannot show, and says why it is linear.
    """
    finite = z[np.isfinite(z)]
    positive = finite[finite > 0]
    reasons = []
    if infinite := int(np.isinf(z).sum()):
        reasons.append(f"{infinite} infinite")
    if log and finite.size and not positive.size:
        log = False
        reasons.append("linear scale, because no value is above 0")
    elif log and (lost := finite.size - positive.size):
        reasons.append(f"{lost} not above 0")
    return ValueScale(_axis_limits(positive if log else finite, log), log, ", ".join(reasons))


def _axis_limits(usable: np.ndarray, log: bool) -> Limits:
    if not usable.size:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = max(float(usable.min()), -_LARGEST), min(float(usable.max()), _LARGEST)
    if high - low > _NOISE * max(abs(low), abs(high)):
        return low, high
    if log:
        return low / _FACTOR or low, high * _FACTOR
    room = abs(low) / _FACTOR or 1.0
    return low - room, high + room


_PLAIN = (1e-4, 1e6)
"""Range of numbers that are written in decimal notation. Numbers outside are written with a power of ten."""


class ContourLine(msgspec.Struct, frozen=True, eq=False):
    """Line drawn over a heat map.

    Args:
        name: the name in the legend; a line with an empty name is not in the legend.
        path: shape [n, 2], x and y in data units; a row of NaN interrupts the line.
    """

    name: str
    path: np.ndarray
    style: LineStyle = "solid"

    def __post_init__(self) -> None:
        if self.path.ndim != 2 or self.path.shape[1] != 2:
            raise ValueError(f"contour {self.name!r}: the path must have shape [n, 2], got {self.path.shape}")


class MarkedPoint(msgspec.Struct, frozen=True):
    """Point on a heat map. Its mark is one letter or sign, which the legend explains by `name`."""

    name: str
    x: float
    y: float
    mark: str = "●"

    def __post_init__(self) -> None:
        if len(self.mark) != 1 or cell_len(self.mark) != 1:
            raise ValueError(f"point {self.name!r}: the mark must be one letter or sign, got {self.mark!r}")


class Column(msgspec.Struct, frozen=True):
    """Column of a heat map with a mark above and below the map. The legend explains the mark by `name`."""

    name: str
    x: float

    MARK: ClassVar[str] = "▼"
    FOOT: ClassVar[str] = "▲"


class HeatMap(msgspec.Struct, frozen=True, eq=False):
    """Values over a grid. The constructor sorts them by increasing x and y.

    Args:
        x, y: coordinates of the values, shapes [Nx] and [Ny], without duplicates. On a log axis, they must be
            above 0.
        z: values, shape [Ny, Nx]; NaN for missing values.
        stderr: standard errors of z, same shape.
        z_log: whether the colour scale is logarithmic.
        missing: phrase for cells without a value (NaN).
        y_names: names of y = 0, 1, 2, … that replace numbers; empty if numbers are shown.
        z_limits: the ends of the colour scale; by default, the smallest and the largest value.
        y_down: whether y increases downwards, like the row numbers of a matrix.
        unlit: True for each row that is grey instead of coloured, shape [Ny]. None if all rows are coloured.
        unlit_words: phrase that explains the grey rows.
        focus: a point (x, y). If not all cells fit, the cells around this point are shown. Without a focus,
            evenly spaced cells are shown.
        full_size: numbers of columns and rows of the complete map. None if this map is complete.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    stderr: np.ndarray | None = None
    x_label: str = ""
    y_label: str = ""
    z_label: str = ""
    title: str = ""
    x_log: bool = False
    y_log: bool = False
    z_log: bool = False
    contours: tuple[ContourLine, ...] = ()
    points: tuple[MarkedPoint, ...] = ()
    missing: str = "not computed yet"
    y_names: tuple[str, ...] = ()
    z_limits: Limits | None = None
    y_down: bool = False
    unlit: np.ndarray | None = None
    unlit_words: str = ""
    columns: tuple[Column, ...] = ()
    focus: tuple[float, float] | None = None
    full_size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        shape = len(self.y), len(self.x)
        for field_name, values in (("z", self.z), ("stderr", self.stderr)):
            if values is not None and np.shape(values) != shape:
                raise ValueError(f"{field_name} must have shape [Ny, Nx] = {shape}, got {np.shape(values)}")
        for field_name, values, log in (("x", self.x, self.x_log), ("y", self.y, self.y_log)):
            order = np.argsort(values, kind="stable")
            along = np.asarray(values, dtype=np.float64)[order]
            if not (along.size and np.isfinite(along).all() and (np.diff(along) > 0).all()):
                raise ValueError(f"{field_name} must be finite numbers without repetition, got {values}")
            if log and along[0] <= 0:
                raise ValueError(f"{field_name} must be above 0 on a log axis, got {along[0]:g}")
            msgspec.structs.force_setattr(self, field_name, along)
            for part in ("z", "stderr"):
                if (grid := getattr(self, part)) is not None:
                    ordered = np.asarray(grid, dtype=np.float64).take(
                        order, axis=1 if field_name == "x" else 0
                    )
                    msgspec.structs.force_setattr(self, part, ordered)
            if field_name == "y" and self.unlit is not None:
                msgspec.structs.force_setattr(self, "unlit", np.asarray(self.unlit, dtype=bool)[order])

    @property
    def scale(self) -> ValueScale:
        if self.z_limits is None:
            return value_scale(self.z, self.z_log)
        return ValueScale(self.z_limits, self.z_log)

    def y_name(self, y: float) -> str | None:
        return self.y_names[int(y)] if self.y_names else None

    @property
    def axes(self) -> Axes:
        (x_low, *_, x_high), (y_low, *_, y_high) = (
            cell_borders(self.x, self.x_log),
            cell_borders(self.y, self.y_log),
        )
        return Axes(
            self.title,
            self.x_label,
            self.y_label,
            (float(x_low), float(x_high)),
            (float(y_low), float(y_high)),
            self.x_log,
            self.y_log,
            are_whole(self.x),
            self.y_down,
            self.y_names,
            y_whole=are_whole(self.y),
        )

    def nearest(self, x: float, y: float) -> tuple[int, int]:
        return int(np.abs(self.x - x).argmin()), int(np.abs(self.y - y).argmin())

    def part(self, columns: slice, rows: slice) -> HeatMap:
        return replace(
            self,
            x=self.x[columns],
            y=self.y[rows],
            z=self.z[rows, columns],
            stderr=None if self.stderr is None else self.stderr[rows, columns],
            unlit=None if self.unlit is None else self.unlit[rows],
            full_size=self.full_size or (len(self.x), len(self.y)),
        )

    def around(self, place: tuple[float, float], columns: int, rows: int) -> tuple[slice, slice]:
        """Return slices that select at most `columns` columns and `rows` rows around the point `place`.

        Near a border of the map, the point is not in the middle of the selected columns or rows.
        """
        return _window_around(self.x, place[0], columns), _window_around(self.y, place[1], rows)


def _window_around(values: np.ndarray, place: float, count: int) -> slice:
    count = min(max(count, 1), len(values))
    nearest = int(np.abs(values - place).argmin())
    first = min(max(nearest - count // 2, 0), len(values) - count)
    return slice(first, first + count)


class Reading(msgspec.Struct, frozen=True):
    """Content of one heat map cell: x, y, the value (NaN if it is missing), and a text with all three."""

    x: float
    y: float
    z: float
    text: str


def read_cell(heat: HeatMap, ix: int, iy: int) -> Reading:
    x, y, z = float(heat.x[ix]), float(heat.y[iy]), float(heat.z[iy, ix])
    stderr = math.nan if heat.stderr is None else float(heat.stderr[iy, ix])
    where = (
        f"{heat.x_label or 'x'} {_place_text(x)}, {heat.y_label or 'y'} {heat.y_name(y) or _place_text(y)}"
    )
    value = heat.missing if math.isnan(z) else with_error(z, stderr)
    grey = heat.unlit is not None and bool(heat.unlit[iy])
    return Reading(x, y, z, f"{where}: {value}{f', {heat.unlit_words}' if grey else ''}")


def _place_text(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < _PLAIN[1] else f"{value:.4g}"


def with_error(value: float, stderr: float) -> str:
    """Return a value with its standard error as text, such as "0.034 ± 0.002".

    An error below 1 is rounded to one significant digit, and the value to as many decimals. A larger error
    and its value are rounded to whole numbers. If both numbers are very small, or one is very large, the
    value has three significant digits. If the error is 0, infinite or NaN, the text is the value alone, with
    three significant digits.
    """
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinity"
    if not (math.isfinite(stderr) and stderr > 0):
        return f"{value:.3g}"
    if not _PLAIN[0] <= max(abs(value), stderr) < _PLAIN[1]:
        return f"{value:.3g} ± {number(stderr, 1)}"
    decimals = max(-math.floor(math.log10(stderr)), 0)
    return f"{value:.{decimals}f} ± {stderr:.{decimals}f}"
