import math

import pytest
from looping import looped
from msgspec.structs import replace

from hadamard_tui.charts.drawing.frame import ticks_along, ticks_up
from hadamard_tui.charts.scales import at_places, ticks, x_ticks
from hadamard_tui.charts.series import Axes


def labels(limits, log=False, tick_limit=6):
    return [label for _, label in ticks(limits, log, tick_limit)]


def test_linear_ticks_are_round():
    assert labels((0, 1.05)) == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert labels((0, 100), tick_limit=5) == ["0", "25", "50", "75", "100"]
    assert labels((0, 1), tick_limit=5) == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert labels((-3, 3), tick_limit=7) == ["-3", "-2", "-1", "0", "1", "2", "3"]


def test_limits_separated_only_by_rounding_have_increasing_ticks():
    for low in (-2.0, 1e-9, 0.1, 1.0, 123.456, 1e300):
        for units in (1, 2, 3, 4, 5, 8, 16, 100):
            limits = low, low + units * math.ulp(low)
            for log in (False, True)[: 1 + (low > 0)]:
                for tick_limit in range(9):
                    places = [place for place, _ in ticks(limits, log, tick_limit)]
                    assert places == sorted(set(places))


def test_ticks_of_counts_are_whole_numbers():
    for tick_limit in range(2, 20):
        assert all(
            "." not in text for text in [label for _, label in ticks((0.9, 5.1), False, tick_limit, True)]
        )
    assert [label for _, label in ticks((0.9, 5.1), False, 9, is_whole=True)] == ["1", "2", "3", "4", "5"]
    assert [label for _, label in ticks((2.9, 9.5), True, 4, is_whole=True)] == ["4", "6", "8"]


def test_named_places_are_ticks_as_far_as_room_allows():
    named = tuple((float(x), f"x{x}") for x in range(5))
    axes = Axes("", "", "", (-0.5, 4.5), (0, 1), x_names=named)
    assert x_ticks(axes, 9) == named
    assert x_ticks(axes, 3) == named[::2]
    assert x_ticks(axes, 1) == named[:1]
    assert x_ticks(replace(axes, x_limits=(1.5, 4.5)), 9) == named[2:]
    assert x_ticks(replace(axes, x_limits=(1.2, 1.8)), 9) == ()
    assert x_ticks(replace(axes, x_names=()), 2) == ticks((-0.5, 4.5), False, 2)


def test_unevenly_spaced_named_places_have_ticks_where_labels_fit():
    places = 0.078125, 0.15625, 0.3125, 0.625, 1.25, 2.5
    doubled = Axes("", "", "", (0, 2.6), (0, 1), x_names=at_places(places))
    assert [label for _, label in ticks_along(doubled, 72)] == ["0.07812", "0.625", "1.25", "2.5"]
    logarithmic = replace(doubled, x_limits=(0.07, 2.6), x_log=True)
    assert ticks_along(logarithmic, 72) == at_places(places)
    assert ticks_along(logarithmic, 40) == at_places(places[::2])
    assert ticks_along(replace(doubled, x_names=at_places((1.25,))), 3) == ()


def test_ranges_of_powers_of_two_have_ticks_at_binary_fractions():
    assert labels((0, 128)) == ["0", "32", "64", "96", "128"]
    assert labels((1, 1024), tick_limit=4) == ["256", "512", "768", "1024"]


def test_large_and_small_values_get_exponents():
    assert labels((0, 3e6), tick_limit=4) == ["0", "1e6", "2e6", "3e6"]
    assert labels((0, 3e-7), tick_limit=4) == ["0", "1e-7", "2e-7", "3e-7"]


def test_log_ticks_are_decades():
    assert labels((1e-3, 10), log=True) == ["0.001", "0.01", "0.1", "1", "10"]
    assert labels((1e-8, 1), log=True, tick_limit=5) == ["1e-8", "1e-6", "1e-4", "0.01", "1"]


def test_few_log_ticks_over_two_decades_are_still_decades():
    assert labels((4, 7e5), log=True, tick_limit=2) == ["10", "10000"]
    assert labels((1e-8, 1), log=True, tick_limit=2) == ["1e-5", "1"]
    for low in range(-12, 9):
        for decades in range(2, 20):
            limits = 10.0**low, 10.0 ** (low + decades)
            for tick_limit in range(2, 9):
                places = [place for place, _ in ticks(limits, True, tick_limit)]
                assert 2 <= len(places) <= tick_limit
                assert all(math.isclose(math.log10(place), round(math.log10(place))) for place in places)


def test_a_short_log_axis_keeps_some_of_its_multiples_as_ticks():
    assert labels((0.38, 9), log=True, tick_limit=3) == ["0.5", "2"]
    assert labels((0.38, 9), log=True, tick_limit=4) == ["0.5", "1", "2", "5"]


@pytest.mark.parametrize("rows", [8, 10, 12, 20, 30])
def test_ticks_of_a_low_chart_span_a_long_log_axis(rows):
    axes = Axes("", "x", "y", (0, 1), (6e-7, 8e-3), y_log=True)
    assert [label for _, label in ticks_up(axes, rows)] == ["1e-6", "1e-5", "1e-4", "0.001"]


@pytest.mark.parametrize("rows", [8, 10, 12, 20])
def test_ticks_of_a_low_chart_span_a_log_axis_of_four_multiples(rows):
    axes = Axes("", "x", "y", (0, 1), (6.5e-3, 0.17), y_log=True)
    assert [label for _, label in ticks_up(axes, rows)] == ["0.01", "0.02", "0.05", "0.1"]


def test_a_log_axis_below_two_decades_has_ticks_between_decades():
    assert labels((0.3, 8), log=True) == ["0.5", "1", "2", "5"]
    assert labels((2.1, 2.9), log=True, tick_limit=5) == ["2.2", "2.4", "2.6", "2.8"]


@looped("log", [False, True])
@looped("limits", [(1e-300, 1e300), (1, 1 + 1e-9), (5, 5.3), (1e-5, 3e-5), (7, 1e9), (1, 2), (16, 17)])
def test_ticks_are_few_distinct_and_inside(limits, log):
    for tick_limit in range(12):
        chosen = ticks(limits, log, tick_limit)
        places = [place for place, _ in chosen]
        assert len(chosen) <= tick_limit
        assert places == sorted(places)
        assert len({label for _, label in chosen}) == len(chosen)
        low, high = limits
        slack = 1e-9 * low if log else 1e-8 * (high - low) + 1e-12 * high
        assert all(low - slack <= place <= high * (1 + 1e-9) for place in places)


def test_ticks_at_given_places_show_all_their_digits():
    assert [label for _, label in at_places([0, 16, 1024, 1048576])] == ["0", "16", "1024", "1048576"]
    assert [label for _, label in at_places([1e-6, 0.0625, 0.7, 1.5, 1e12])] == [
        "1e-6", "0.0625", "0.7", "1.5", "1e12"
    ]  # fmt: skip
