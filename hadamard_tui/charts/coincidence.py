"""Which curves run along each other, so that one would hide the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hadamard_tui.charts.series import Series
from hadamard_tui.charts.spans import Spans

NEAR = 1
"""So many dots apart, two curves are seen as one."""

ROUNDING = 1e-4
"""Relative to the largest value, curves that differ by less are equal."""

LEAST_SHARE = 1 / 8
"""Two curves run along each other if they do so over at least so much of the width of the chart."""


def coincident(series: Sequence[Series], lines: Spans) -> list[tuple[int, ...]]:
    """The positions of named series that are near the first of their group wherever both are shown.

    Those with a mark come first. Every named series that is drawn is in one group, mostly alone.
    """
    drawn = [at for at, one in enumerate(series) if one.name and not one.faint and lines.shown[at].any()]
    groups: list[list[int]] = []
    for index in sorted(drawn, key=lambda at: not series[at].mark):
        for group in groups:
            if _are_near(lines, group[0], index):
                group.append(index)
                break
        else:
            groups.append([index])
    return [tuple(group) for group in groups]


def _are_near(lines: Spans, one: int, other: int) -> bool:
    shared = lines.shown[one] & lines.shown[other]
    if np.count_nonzero(shared) < LEAST_SHARE * len(shared):
        return False
    edges = (lines.top, lines.bottom)
    return all((np.abs(edge[one] - edge[other])[shared] <= NEAR).all() for edge in edges)


def are_equal(one: Series, other: Series) -> bool:
    """Whether two curves are the same where both are, and not only too near to be told apart."""
    there = np.isfinite(one.y) & (one.x >= other.x.min()) & (one.x <= other.x.max())
    if not there.any():
        return False
    y = one.y[there]
    far = np.abs(y - np.interp(one.x[there], other.x, other.y))
    return bool((far <= ROUNDING * np.abs(y).max()).all())
