"""Stored charts of all presets: rows inside the frame, y ticks and legend at three sizes of the screen."""

from __future__ import annotations

import re

import crossing
import pytest
from looping import looped

from engine.spec import presets
from hadamard_tui.browsing import preview
from hadamard_tui.charts.drawing.chart_sheet import compose
from hadamard_tui.running import stored
from hadamard_tui.widgets.chart_view import MOST_LEGEND_LINES

SIZES = ((80, 14, 9), (120, 25, 20), (159, 39, 34))
"""Width and height of the chart, and its minimum rows inside the frame, at 80×24, 120×40 and 200×60."""


@pytest.mark.slow
@looped("preset", presets.names())
def test_stored_charts_keep_their_rows_three_y_ticks_and_a_short_legend(preset: str):
    pictures = stored.read(preset)
    assert pictures is not None
    place = presets.names().index(preset) % len(SIZES)
    sizes = SIZES if crossing.all_combinations else (SIZES[place],)
    for picture in filter(None, (pictures.first, pictures.law)):
        plot = picture.plot("r computes it", faint=True)
        for width, height, rows in sizes:
            sheet = compose(
                plot.series, plot.axes, width, height, plot.screen_note, None, 1, MOST_LEGEND_LINES
            )
            assert sheet.surround.rows >= rows, (width, height)
            assert sum("┤" in line for line in sheet.surround.lines) >= 3, (width, height)
            assert sheet.legend_lines <= MOST_LEGEND_LINES


NUMBER = r"(?<![\w.^])-?\d[\d.]*(?:e[-+]?\d+)?(?! (?:more|per|of \d+ replicas|replicas))"
NOT_A_PLACE = (
    r"“[^”]*”|[<>=] [\d.e+-]+|within [\d.e+-]+|\d/\d error|by [\d.e+-]+ per unit|\^-?[\d.]+|\([\d.]+ d\)"
    r"|[\d.]+ to [\d.]+ more|minus N is .*"
)
"""Names, thresholds, tolerances, laws and differences, which are in the legend, the labels or the claim."""


@pytest.mark.slow
@looped("preset", presets.names())
def test_headline_values_lie_within_the_axes_or_in_the_text_of_a_claim(preset: str):
    pictures = stored.read(preset)
    assert pictures is not None
    if pictures.first is None:
        return
    experiment, axes = presets.load(preset), pictures.first.axes
    words = preview.read_file(preview.FILE)[preset].caption
    texts = [text for series in pictures.first.series for text in (series.name, series.formula) if text]
    for text in sorted(texts + [learner.name for learner in experiment.learners], key=len, reverse=True):
        words = words.replace(text, "N")
    claims = " ".join(claim.text for claim in experiment.claims)
    for number in re.findall(NUMBER, re.sub(NOT_A_PLACE, "", words)):
        y = float(number)
        slack = 0.005 * abs(y)
        is_visible = any(
            min(limits) - slack <= y <= max(limits) + slack for limits in (axes.x_limits, axes.y_limits)
        )
        is_zero_below = axes.y_log and y == 0  # a mark at the lower edge
        assert is_visible or is_zero_below or number.lstrip("-0") in claims, (number, words)
