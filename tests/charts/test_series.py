import math

import numpy as np
import pytest

from hadamard_tui.charts.series import Axes, Series, limits


def test_padding_does_not_cross_zero():
    assert limits(np.array([0.0, 1.0])) == (0, 1.05)
    assert limits(np.array([-1.0, 0.0])) == (-1.05, 0)
    assert limits(np.array([-1.0, 1.0])) == pytest.approx((-1.1, 1.1))


@pytest.mark.parametrize("values", [[], [0, 0], [3, 3], [-2], [1e-300, 1e300], [-1.7e308, 1.7e308], [1e-320]])
def test_limits_always_make_valid_axes(values):
    Axes("", "", "", (0, 1), limits(np.array(values, float)))


@pytest.mark.parametrize("wrong", [(1, 1), (2, 1), (0, math.inf), (math.nan, 1)])
def test_axes_refuse_invalid_limits(wrong):
    with pytest.raises(ValueError, match="y_limits"):
        Axes("", "", "", (0, 1), wrong)


def test_log_axes_refuse_non_positive_limits():
    with pytest.raises(ValueError, match="x_limits must be positive"):
        Axes("", "", "", (0, 1), (0, 1), x_log=True)


def test_series_refuse_arrays_of_unequal_length():
    with pytest.raises(ValueError, match="'GD'"):
        Series("GD", np.arange(3), np.arange(4), "red")
