"""Stored charts of all presets: rows inside the frame, y ticks and legend at three sizes of the screen."""

from __future__ import annotations

import crossing
import pytest
from looping import looped

from engine.spec import presets
from hadamard_tui.charts.drawing.chart_sheet import compose
from hadamard_tui.running import stored
from hadamard_tui.widgets.chart_view import MOST_LEGEND_LINES

SIZES = ((80, 14, 9), (120, 25, 20), (159, 39, 34))
"""Width and height of the chart, and its minimum rows inside the frame, at 80×24, 120×40 and 200×60."""


@pytest.mark.slow
@looped("preset", presets.names())
def test_a_chart_has_its_rows_three_y_ticks_and_a_legend_of_two_rows(preset: str):
    pictures = stored.read(preset)
    assert pictures is not None
    place = presets.names().index(preset) % len(SIZES)
    sizes = SIZES if crossing.all_combinations else (SIZES[place],)
    for picture in filter(None, (pictures.first, pictures.law)):
        plot = picture.plot("r computes it", faint=True)
        for width, height, rows in sizes:
            sheet = compose(plot.series, plot.axes, width, height, plot.note, None, 1, MOST_LEGEND_LINES)
            assert sheet.surround.rows >= rows, (width, height)
            assert sum("┤" in line for line in sheet.surround.lines) >= 3, (width, height)
            assert sheet.legend_lines <= MOST_LEGEND_LINES
