"""Charts say expressions and values as papers do."""

import pytest

from engine.core.expressions import BadExpression, number, values_written, written

WORDS = {"units": "hidden units", "cw": "C_w", "train": "training loss"}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("k", "k"),
        ("eta*step", "η·step"),
        ("sqrt(3*train)", "√(3·training loss)"),
        ("1/sqrt(n)", "1/√n"),
        ("1/sqrt(train)", "1/√(training loss)"),
        ("units*(d+1)/n", "hidden units·(d + 1)/n"),
        ("-2**-x - (-1)", "−2^−x − (−1)"),
        ("2d·cw", "2d·C_w"),
        ("functional_margin", "functional margin"),
        ("log(time/n)", "log(time/n)"),
    ],
)
def test_expressions_are_written_in_mathematical_notation(expression: str, text: str):
    assert written(expression, WORDS) == text


def test_invalid_expressions_are_refused():
    with pytest.raises(BadExpression):
        written("a & b", {})


def test_axis_values_are_written_with_symbols_or_words():
    text = values_written("fresh = True, turned = False, eta = 0.05, cw = 2, K = 3", WORDS)
    assert text == "fresh, not turned, η = 0.05, C_w = 2, K = 3"
    assert values_written(" η=1, size = 8", {"size": "d"}) == " η=1, d = 8"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1048576.0, "1048576"),
        (9999999, "9999999"),
        (1e7, "1e+07"),
        (2068.4, "2070"),
        (1.5, "1.5"),
        (0.99999, "1"),
        (0, "0"),
        (-3.0, "-3"),
        (0.12345, "0.123"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_whole_numbers_of_up_to_seven_digits_are_written_in_full(value: float, text: str):
    assert number(value) == text
    assert number(0.1234567, 6) == "0.123457"
