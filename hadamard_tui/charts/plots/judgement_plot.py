"""Chart for the judgement of an update rule: its losses at the best rate, and the lower bound.

The lower bound is that for rotation-invariant learners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.judging.rule_judgement import D
from hadamard_tui.charts.plots.diagnosis_plot import COLOURS
from hadamard_tui.charts.series import BOUND_STYLE, Axes, Series, limits
from hadamard_tui.colours import palette

if TYPE_CHECKING:
    from engine.judging.rule_judgement import RuleJudgement

HIGHEST = 2.0
"""Largest loss that the chart shows: twice the loss of predicting 0. Larger losses are cut off."""


def chart_of(judged: RuleJudgement) -> tuple[list[Series], Axes]:
    series = []
    for (problem, points), colour in zip(judged.losses.items(), COLOURS, strict=False):
        k, losses, errors = np.array([(point.k, point.loss, point.stderr) for point in points], float).T
        losses = np.where(np.isfinite(losses), losses, np.nan)
        series.append(Series(problem, k, losses, colour, band=(losses - errors, losses + errors)))
    series.append(Series("bound 1 − k/d", k, 1 - k / D, palette.current().theory, BOUND_STYLE))
    heights = np.concatenate([curve.y for curve in series])
    shown = np.minimum(heights[np.isfinite(heights)], HIGHEST)
    axes = Axes(
        f"Loss of {judged.name} at its best rate",
        "examples k",
        "loss",
        limits(k),
        limits(np.append(shown, 0.0)),
    )
    return series, axes
