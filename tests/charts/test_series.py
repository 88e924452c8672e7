import math

import numpy as np
import pytest

from hadamard_tui.charts.series import Axes, Series, limits

from .pictures import curve


def test_limits_ignore_what_cannot_be_drawn():
    assert limits([curve([math.nan, -math.inf, 1, 3, math.inf])], pad=0) == (1, 3)
    assert limits([curve([-1, 0, 0.1, 10, math.nan])], log=True, pad=0) == pytest.approx((0.1, 10))


def test_limits_include_the_band_and_all_series():
    banded = curve([1, 2], band=(np.array([0.5, 1.0]), np.array([1.5, 4.0])))
    assert limits([banded, curve([5, 5])], pad=0) == (0.5, 5)


def test_limits_of_x_come_from_x():
    assert limits([curve([9, 9, 9], x=[2, 3, 7])], axis="x", pad=0) == (2, 7)


def test_padding_does_not_cross_zero():
    assert limits([curve([0, 1])]) == (0, 1.05)
    assert limits([curve([-1, 0])]) == (-1.05, 0)
    assert limits([curve([-1, 1])], pad=0.1) == pytest.approx((-1.2, 1.2))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values", [[], [math.nan], [0, 0], [3, 3], [-2], [1e-300, 1e300], [-1.7e308, 1.7e308], [1e-320]]
)
def test_limits_always_make_valid_axes(values, log):
    found = limits([curve(values)], log=log)
    Axes("", "", "", (0, 1), found, y_log=log)


@pytest.mark.parametrize("wrong", [(1, 1), (2, 1), (0, math.inf), (math.nan, 1)])
def test_axes_refuse_limits_that_are_not_an_interval(wrong):
    with pytest.raises(ValueError, match="y_limits"):
        Axes("", "", "", (0, 1), wrong)


def test_log_axes_refuse_limits_that_are_not_positive():
    with pytest.raises(ValueError, match="x_limits must be positive"):
        Axes("", "", "", (0, 1), (0, 1), x_log=True)


def test_series_refuse_arrays_of_unequal_length():
    with pytest.raises(ValueError, match="'GD'"):
        Series("GD", np.arange(3), np.arange(4), "red")
