"""A thinned curve shows everything that the long curve shows."""

import gc

import numpy as np
import pytest

from hadamard_tui.charts.drawing.raster import paint_series
from hadamard_tui.charts.plots.series_builder import BLOCKS, ENOUGH, BufferCache, Sums, Thinning, thinned

from .pictures import axes, curve, dots

LONG = 3 * ENOUGH * BLOCKS[1] + 77


@pytest.fixture
def noise() -> np.ndarray:
    return np.random.default_rng(3).normal(size=LONG).cumsum()


@pytest.mark.parametrize(("first", "last"), [(0, LONG), (5, LONG - 3), (1000, 1000 + 9 * ENOUGH), (7, 9)])
def test_a_thinned_stretch_keeps_its_extremes(noise, first, last):
    picked = Thinning().pick(noise, first, last)
    assert (np.diff(picked) >= 0).all()
    assert picked[0] >= first
    assert picked[-1] < last
    assert noise[picked].max() == noise[first:last].max()
    assert noise[picked].min() == noise[first:last].min()


def test_a_thinned_curve_is_shorter_and_paints_the_same_picture(noise):
    full_curve = curve(noise)
    picked = Thinning().pick(noise, 0, LONG)
    assert len(picked) < LONG / 20
    on = axes((0, LONG - 1), (float(noise.min()), float(noise.max())))
    seen, thin = (
        dots(paint_series([drawn_curve], on, 60, 20))
        for drawn_curve in (full_curve, curve(noise[picked], x=picked.astype(float)))
    )
    # A block may lie across the border of two columns of dots, and then shows in one of them only.
    assert len(seen ^ thin) <= 0.1 * len(seen)


def test_short_stretches_keep_every_point(noise):
    assert Thinning().pick(noise, 10, 10 + ENOUGH).tolist() == list(range(10, 10 + ENOUGH))


def test_a_growing_series_is_thinned_like_a_complete_one(noise):
    growing, buffer = Thinning(), noise.copy()
    for length in (100, LONG // 3, LONG // 2 + 1, LONG):
        grown = growing.pick(buffer[:length], 0, length)
        assert (grown == Thinning().pick(buffer[:length], 0, length)).all()


def test_cached_columns_belong_to_a_buffer_and_are_freed_with_it(noise):
    buffer = np.stack([noise, -noise[::-1]], 1)
    x = np.arange(float(LONG))
    for column in (0, 1, 0):
        for length in (LONG // 2, LONG):
            y = buffer[:length, column]
            picked = thinned(x[:length], y, -np.inf, np.inf)
            assert (picked == Thinning().pick(y, 0, length)).all()
    other = -noise
    assert (thinned(x, other[:], -np.inf, np.inf) == Thinning().pick(other, 0, LONG)).all()
    remembered = BufferCache(list)
    remembered.of(other[: LONG // 2]).append("it")
    assert remembered.of(other[:]) == ["it"]
    del other
    gc.collect()
    assert not remembered._entries


def test_gaps_do_not_hide_extremes(noise):
    noise[::3] = np.nan
    picked = Thinning().pick(noise, 0, LONG)
    assert np.nanmax(noise[picked]) == np.nanmax(noise)
    assert np.nanmin(noise[picked]) == np.nanmin(noise)


def test_a_thinned_window_includes_a_point_beyond_each_end():
    x = np.arange(100.0)
    assert thinned(x, x, 40, 50).tolist() == list(range(39, 52))


@pytest.mark.parametrize("half", [0, 1, 7])
def test_a_running_mean_averages_a_symmetric_window(half):
    y = np.random.default_rng(0).normal(size=50)
    at = np.arange(50)
    reach = np.minimum(half, np.minimum(at, 49 - at))
    naive = [y[i - h : i + h + 1].mean() for i, h in zip(at, reach, strict=True)]
    assert Sums().mean(y, at, half) == pytest.approx(naive, abs=1e-12)


def test_a_running_mean_of_a_growing_curve_equals_a_fresh_computation():
    buffer = np.random.default_rng(0).normal(size=1000)
    growing = Sums()
    for length in (1, 2, 10, 600, 1000):
        at = np.arange(0, length, 7)
        grown = growing.mean(buffer[:length], at, 5)
        assert grown == pytest.approx(Sums().mean(buffer[:length].copy(), at, 5), abs=1e-10)


def test_a_running_mean_ignores_nan():
    y = np.array([np.nan, 1.0, 2.0, 6.0, np.nan])
    means = Sums().mean(y, np.arange(5), 1)
    assert means[1:4] == pytest.approx([1.5, 3.0, 4.0])
    assert np.isnan(means[[0, 4]]).all()
