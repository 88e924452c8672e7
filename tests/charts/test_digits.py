"""Numbers of tables: one notation per column, only 0 is written as 0, and counts are whole numbers."""

from __future__ import annotations

import pytest

from engine.core.expressions import number
from hadamard_tui.widgets.scoreboard import count_text, decimals, number_text, ratio_text


def column(*numbers: float, rounding: float = 1e-11, digits: int = 1) -> list[str]:
    places = decimals(numbers, rounding, digits)
    return [number_text(number, places, rounding) for number in numbers]


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((0.0, 1.1e-4, 0.01198), ["0.00000", "0.00011", "0.01198"]),
        ((879.714, 8.78571), ["879.714", "8.786"]),
        ((2.6e-4, 252.7), ["2.60e-04", "2.53e+02"]),
        ((4.1e-11, 2.2e-7, 0.0016), ["4.10e-11", "2.20e-07", "1.60e-03"]),
        ((141.95, 123.5, 98.73), ["141.950", "123.500", "98.730"]),
        ((0.5, 9e-10), ["5.00e-01", "9.00e-10"]),
        ((-3e-14, 0.5), ["0.00000", "0.50000"]),
        ((float("inf"), 0.5, float("-inf")), ["never", "0.50000", "–"]),
        ((3.2e9, 12.0), ["3.20e+09", "1.20e+01"]),
    ],
)
def test_a_column_has_one_notation_and_only_rounding_is_shown_as_0(
    numbers: tuple[float, ...], texts: list[str]
):
    assert column(*numbers) == texts


def test_numbers_on_a_log_axis_have_two_digits_and_are_never_0():
    assert column(1.0, 3.3e-5) == ["1.00000", "0.00003"]
    assert column(1.0, 3.3e-5, digits=2) == ["1.00e+00", "3.30e-05"]
    assert column(2e-7, 4.4e-12, rounding=0.0, digits=2) == ["2.00e-07", "4.40e-12"]
    assert column(2e-7, 0.0, rounding=0.0, digits=2) == ["2.00e-07", "0"]


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (1024, "1024"),
        (1048576, "1048576"),
        (160000, "160000"),
        (1e-6, "1e-06"),
        (0.825, "0.825"),
        (5.7e11, "5.7e+11"),
    ],
)
def test_whole_numbers_of_up_to_seven_digits_are_shown_completely(x: float, text: str):
    assert number(x) == text


def test_counts_are_shown_with_their_significant_digits():
    assert [count_text(count) for count in (12, 48.817, 943725.0, 3.2e9)] == [
        "12",
        "48.817",
        "943725",
        "3.2e+09",
    ]


def test_only_the_ratio_0_is_shown_as_0():
    texts = [ratio_text(number) for number in (0.0, 3.5e-4, 0.023, 1.529, 100.13, 1e5, -0.4)]
    assert texts == ["0.000", "3.5e-04", "0.023", "1.529", "100.130", "1.0e+05", "-0.400"]
