"""Lines with fewer points keep their course."""

from __future__ import annotations

import numpy as np
import pytest

from hadamard_tui.sharing.svg import outline


@pytest.mark.parametrize("within", [0.1, 1.0, 10.0])
def test_a_simplified_line_passes_omitted_points_within_the_distance(within):
    across = np.linspace(0, 700, 2000)
    down = 170 + 100 * np.sin(across / 40) + np.random.default_rng(0).normal(size=2000)
    x, y = outline(across, down, within)
    assert (x[0], x[-1]) == (across[0], across[-1])
    assert len(x) < 2000
    assert np.abs(np.interp(across, x, y) - down).max() <= within * np.hypot(1, np.diff(y) / np.diff(x)).max()
    if within == 10.0:
        assert len(x) < 100


def test_simplification_keeps_gaps_and_ends_of_stretches():
    across = np.arange(9.0)
    down = np.array([1.0, 1, 1, np.nan, np.nan, 2, 2, 2, 2])
    x, y = outline(across, down, 0.5)
    np.testing.assert_equal(x, [0, 2, 3, 5, 8])
    np.testing.assert_equal(y, [1, 1, np.nan, 2, 2])


def test_simplification_keeps_the_turning_point_of_a_closed_line():
    x, y = outline(np.array([0.0, 5, 0]), np.array([0.0, 9, 0]), 0.5)
    assert (x.tolist(), y.tolist()) == ([0, 5, 0], [0, 9, 0])


def test_simplification_within_distance_0_keeps_all_points():
    across = np.arange(5.0)
    assert outline(across, across, 0.0)[0] is across
