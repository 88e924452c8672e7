"""Charts of a diagnosis: learning curves of pairs of learners, before and after the data are rotated.

A diagnosis measures which inductive bias a table rewards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.diagnosis.pairs import PAIRS, LearnerPair, learner_called
from hadamard_tui.charts.series import Axes, LineStyle, Series, limits

if TYPE_CHECKING:
    from engine.diagnosis.diagnosing import Diagnosis

COLOURS = ("#0072b2", "#d55e00")
"""Colours of a pair: a learner that depends on the coordinate axes, and its rotation-invariant partner.

The colours are from the palette of Okabe and Ito.
"""


def pairs_of(diagnosis: Diagnosis) -> Iterator[LearnerPair]:
    return (pair for pair in PAIRS if pair.axes in diagnosis.losses)


def chart_of(diagnosis: Diagnosis, pair: LearnerPair) -> tuple[list[Series], Axes]:
    sizes = np.array(diagnosis.plan.sizes, dtype=float)
    series = []
    for number, (name, colour) in enumerate(zip(pair.names, COLOURS, strict=True)):
        title = learner_called(name).title
        for rotated in (False, True):
            losses, errors = diagnosis.mean(name, rotated), diagnosis.error(name, rotated)
            if rotated and not learner_called(name).sees_axes:
                continue  # the control has a single point, which is on the curve before the rotation
            band = None if rotated else (losses - errors, losses + errors)
            label = f"{title}, rotated" if rotated else title
            mark = ("ab" if rotated else "AB")[number]
            style: LineStyle = "dashed" if rotated else "solid"
            series.append(Series(label, sizes, losses, colour, style, band, mark))
    heights = np.concatenate([curve.y for curve in series])
    unit = "0/1 error" if diagnosis.table.is_classified else "loss / variance"
    title = " against ".join(learner_called(name).title for name in pair.names)
    axes = Axes(
        title,
        "examples",
        unit,
        limits(sizes) if len(sizes) < 2 else (sizes[0], sizes[-1]),
        limits(np.append(heights[np.isfinite(heights)], 0.0)),
        x_log=len(sizes) > 1,
    )
    return series, axes
