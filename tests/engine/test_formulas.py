"""Formulas: the numbers of the theory pages, and each against another way to the same."""

import math

import numpy as np
import pytest
from diagonal_nets import inverse_transfer, potential, transfer
from scipy.integrate import quad
from scipy.optimize import brentq

from engine.formulas.teacher_student import (
    bayes,
    hebb,
    least_squares,
    max_margin,
    overlap,
    ridge,
)  # fmt: skip

LINES = (bayes, max_margin, ridge, least_squares, hebb)
ERRORS = {
    1: (0.25437, 0.26571, 0.25708, 0.5, 0.28563),
    2: (0.17453, 0.18848, 0.18603, 0.20595, 0.23082),
    4: (0.10228, 0.11366, 0.12804, 0.13093, 0.17819),
}
NEEDED = {
    0.2: (1.6079, 1.8103, 1.7358, 2.0813, 2.9758),
    0.1: (4.1054, 4.6491, 6.3112, 6.4067, 14.879),
    0.05: (8.6769, 9.8309, 23.729, 23.754, 62.617),
}


def examples_needed(line, error):
    """The α beyond which `line` is below an error in (0, ½); of `least_squares` the one past the peak."""
    upper = 1.0
    while line(upper) > error:
        upper *= 2
    least = 1 + 1e-9 if line is least_squares else 1e-6
    return brentq(lambda alpha: line(alpha) - error, least, upper, rtol=1e-12)


@pytest.mark.parametrize("alpha", ERRORS)
def test_half_space_lines_have_the_printed_errors(alpha):
    assert [line(alpha) for line in LINES] == pytest.approx(ERRORS[alpha], abs=6e-6)


@pytest.mark.parametrize("error", NEEDED)
def test_half_space_lines_need_the_printed_numbers_of_examples(error):
    for line, expected in zip(LINES, NEEDED[error], strict=True):
        assert examples_needed(line, error) == pytest.approx(expected, rel=6e-5)


def test_half_space_tails_have_the_printed_constants():
    assert bayes(100) * 100 == pytest.approx(0.4416, abs=5e-5)
    assert bayes(1e4) * 1e4 == pytest.approx(0.4417, abs=5e-5)
    assert max_margin(1e4) * 1e4 == pytest.approx(0.5005, abs=5e-5)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 3.0, 50.0])
def test_half_space_lines_begin_at_a_half_and_stay_above_bayes(alpha):
    for line in LINES:
        assert bayes(alpha) <= line(alpha) + 1e-9 <= 0.5 + 1e-9
        assert line(1e-5) == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("alpha", [0.2, 2.0, 20.0])
def test_the_bayes_overlap_solves_its_fixed_point_equation(alpha):
    q = overlap(alpha)
    steep = math.sqrt(q / (1 - q))

    def integrand(xi):
        t = max(steep * xi, -30.0)  # where nothing is left of either
        density = math.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
        below = math.erfc(-t / math.sqrt(2)) / 2
        return density**2 / below * math.exp(-(xi**2) / 2) / math.sqrt(2 * math.pi)

    assert q == pytest.approx(2 * alpha * quad(integrand, -8, 8)[0], rel=1e-6)


def test_least_squares_and_hebb_errors_agree_with_their_lines():
    n, m, draws = 60, 120, 200
    rng = np.random.default_rng(0)
    errors = {"lls": [], "hebb": []}
    for _ in range(draws):
        X = rng.standard_normal((m, n))
        y = np.sign(X[:, 0])
        for name, w in (("lls", np.linalg.lstsq(X, y)[0]), ("hebb", X.T @ y)):
            errors[name].append(math.acos(w[0] / np.linalg.norm(w)) / math.pi)
    for name, line in (("lls", least_squares), ("hebb", hebb)):
        mean, stderr = np.mean(errors[name]), np.std(errors[name]) / math.sqrt(draws)
        assert abs(mean - line(m / (n - 1))) <= 4 * stderr  # at finite n lines are met at α = m/(n − 1)


@pytest.mark.parametrize("depth", [2, 3, 4, 7])
@pytest.mark.parametrize("b", [-3.0, 1e-6, 0.02, 1.0, 40.0])
def test_the_potential_equals_the_integral_of_the_inverse_transfer(b, depth):
    area, _ = quad(inverse_transfer, 0, b, (depth,), epsrel=1e-11)
    assert potential(b, depth) == pytest.approx(area, rel=1e-8)
    z = inverse_transfer(b, depth)
    assert transfer(z, depth) == pytest.approx(b, rel=1e-8)
    if depth > 2:
        power = depth / (depth - 2)
        assert (1 - z) ** -power - (1 + z) ** -power == pytest.approx(b, rel=1e-8)


@pytest.mark.parametrize("depth", [2, 3, 4, 7])
def test_the_potential_grows_like_b_ln_b_or_b_for_large_b(depth):
    far, twice = potential(1e12, depth), potential(2e12, depth)
    slope = math.log(1e12 * 2 / math.e**0.5) if depth == 2 else 1.0
    assert (twice - far) / 1e12 == pytest.approx(slope, rel=0.02)


EXPLICIT = {0.01: 1.249992e-5, 0.3: 0.01118776, 1.0: 0.11835109, 5.0: 1.88747606, 100.0: 81.47370336}


@pytest.mark.parametrize("b", EXPLICIT)
def test_the_potential_of_depth_four_equals_the_smaller_quartic_root(b):
    """The smaller real root of r⁴ − 6r³ + (12 − 2b²)r² − (8 + 10b²)r + b² + b⁴."""
    roots = np.roots([1, -6, 12 - 2 * b**2, -(8 + 10 * b**2), b**2 + b**4])
    smaller = min(root.real for root in roots if abs(root.imag) < 1e-6)
    assert smaller == pytest.approx(EXPLICIT[b], rel=1e-6)
    assert potential(b, 4) == pytest.approx(smaller, rel=1e-9)


def test_the_least_squares_error_is_a_half_at_alpha_1():
    assert least_squares(1) == 0.5
    assert least_squares(1 - 1e-6) == pytest.approx(0.5, abs=1e-3)
    assert least_squares(1 + 1e-6) == pytest.approx(0.5, abs=1e-3)
