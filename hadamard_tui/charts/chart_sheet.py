"""A chart in characters, for any size: frame, picture and legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hadamard_tui.charts.frame import Frame, frame
from hadamard_tui.charts.legend import Piece, legend
from hadamard_tui.charts.raster import Raster, paint

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Series

# There is a legend from this height on, of two lines, or of one for so many rows.
_LEGEND_FROM, _ROWS_PER_LEGEND_LINE = 8, 12
# Rather than hide a name it takes more lines, one for so many rows, as long as so many are left to the chart.
_LEAST_ROWS_PER_LEGEND_LINE, _LEAST_CHART = 3, 11


class ChartSheet(NamedTuple):
    """The parts of a chart; the legend is below the frame, `legend_lines` before the end."""

    surround: Frame
    picture: Raster
    names: tuple[tuple[Piece, ...], ...]
    legend_lines: int


def compose(
    series: Sequence[Series],
    axes: Axes,
    width: int,
    height: int,
    note: str = "",
    playhead: float | None = None,
    legend_lines: int = 1,
    most_legend_lines: int | None = None,
) -> ChartSheet:
    """Lay out a chart in width × height characters.

    The legend depends on the painted picture, and the room for the picture depends on the legend. If the
    legend turns out longer or shorter than tried, the picture is painted again.

    Args:
        legend_lines: the lines of the legend that are tried first.
        most_legend_lines: the most lines of the legend, for charts beside a table of names; by default as
            many as the legend needs, if the chart has room.
    """
    tried: set[int] = set()
    while True:
        tried.add(legend_lines)
        surround = frame(axes, width, height - legend_lines)
        picture = paint(series, axes, surround.columns, surround.rows, playhead)
        names = _legend(series, axes, picture, width, height, note, most_legend_lines)
        needed = len(names)
        if needed == legend_lines or (needed in tried and legend_lines == max(tried)):
            return ChartSheet(surround, picture, names, legend_lines)
        legend_lines = max(tried) if needed in tried else needed


def _legend(
    series: Sequence[Series],
    axes: Axes,
    picture: Raster,
    width: int,
    height: int,
    note: str,
    most_lines: int | None,
) -> tuple[tuple[Piece, ...], ...]:
    """Return the legend of a painted picture."""
    lines = max(2, height // _ROWS_PER_LEGEND_LINE) if height >= _LEGEND_FROM else 0
    line_limit = min(height // _LEAST_ROWS_PER_LEGEND_LINE, max(lines, height - _LEAST_CHART))
    if most_lines is not None:
        lines, line_limit = min(lines, most_lines), min(line_limit, most_lines)
    return legend(
        series,
        width,
        lines,
        " · ".join(filter(None, (note, picture.remark))),
        line_limit,
        picture.groups,
        picture.named,
        left_out=picture.left_out,
        y_log=axes.y_log,
    )
