"""Lines with fewer points keep their course."""

from __future__ import annotations

import numpy as np
import pytest

from hadamard_tui.sharing.svg import outline


@pytest.mark.parametrize("within", [0.1, 1.0, 10.0])
def test_a_line_with_fewer_points_passes_all_others_within_the_distance(within):
    across = np.linspace(0, 700, 2000)
    down = 170 + 100 * np.sin(across / 40) + np.random.default_rng(0).normal(size=2000)
    x, y = outline(across, down, within)
    assert (x[0], x[-1]) == (across[0], across[-1])
    assert len(x) < 2000
    assert np.abs(np.interp(across, x, y) - down).max() <= within * np.hypot(1, np.diff(y) / np.diff(x)).max()
    if within == 10.0:
        assert len(x) < 100


def test_stretches_stay_apart_and_ends_stay():
    across = np.arange(9.0)
    down = np.array([1.0, 1, 1, np.nan, np.nan, 2, 2, 2, 2])
    x, y = outline(across, down, 0.5)
    np.testing.assert_equal(x, [0, 2, 3, 5, 8])
    np.testing.assert_equal(y, [1, 1, np.nan, 2, 2])


def test_a_line_that_comes_back_to_its_start_keeps_its_way():
    x, y = outline(np.array([0.0, 5, 0]), np.array([0.0, 9, 0]), 0.5)
    assert (x.tolist(), y.tolist()) == ([0, 5, 0], [0, 9, 0])


def test_within_no_distance_all_points_stay():
    across = np.arange(5.0)
    assert outline(across, across, 0.0)[0] is across
