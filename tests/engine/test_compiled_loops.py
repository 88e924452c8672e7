"""The loops of compiled passes against Sylvester's matrix and sums in float64."""

import numpy as np
import pytest

from engine.backends.passes.kernels import (
    LOW,
    count_right,
    multiply,
    multiply_both,
    sylvester_rows,
    transform,
)
from engine.problems.hadamard_matrices import sylvester

pytestmark = pytest.mark.slow

SIZES = (1, 2, 16, 128, LOW * LOW, 1024, 4096)


@pytest.mark.parametrize("d", SIZES)
def test_sylvester_rows_equal_the_matrix_rows_times_row_signs(d):
    random = np.random.default_rng(d)
    numbers, row_signs = random.integers(0, d, (2, 5)), random.choice([-1.0, 1.0], (2, 5))
    signs = np.zeros((2, 5, d), np.int8)
    sylvester_rows(numbers, row_signs, signs)
    np.testing.assert_array_equal(signs, sylvester(d)[numbers] * row_signs[..., None])


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_orders_all_row_products_by_their_low_bits(d, dtype):
    x = np.random.default_rng(d).integers(-9, 10, d).astype(dtype)  # whole numbers, whose sums are exact
    products, turned = sylvester(d) @ x.astype(np.float64), np.empty_like(x)
    transform(x.copy(), turned)
    expected = products.reshape(-1, LOW).T.ravel() if d >= LOW * LOW else products
    np.testing.assert_array_equal(turned, expected)


def test_predictions_near_0_are_neither_right_nor_wrong():
    w, turned = np.array([1.0, 0.5, 0.25, 0.25]), np.empty(4)
    predictions = sylvester(4) @ w
    np.testing.assert_array_equal(predictions, [2.0, 0.5, 1.0, 0.5])
    labels = np.array([1, -1, 1, -1], np.int8)
    assert count_right(w.copy(), turned, labels, 0.4) == 0
    assert count_right(w.copy(), turned, labels, 0.6) == 2
    assert count_right(w.copy(), turned, labels, 3.0) == 0


@pytest.mark.parametrize("d", [8, 4096, 3 * 4096 + 5])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_a_compiled_step_multiplies_by_two_factors_and_returns_two_sums(d, dtype, error):
    random = np.random.default_rng(d)
    a, b = random.random((2, d)).astype(dtype)
    signs, after = random.choice(np.array([-1, 1], np.int8), (2, d))
    up, down = dtype(0.75), dtype(1.5)
    after_a = a.astype(np.float64) * np.where(signs > 0, 0.75, 1.5)
    after_b = b.astype(np.float64) * np.where(signs > 0, 1.5, 0.75)
    single, first, second = a.copy(), a.copy(), b.copy()
    sums, sums_of_both = (
        multiply(single, signs, after, up, down),
        multiply_both(first, second, signs, after, up, down),
    )
    for weights, expected in ((single, after_a), (first, after_a), (second, after_b)):
        np.testing.assert_allclose(weights, expected, rtol=error)
    for sums_of, w in ((sums, after_a), (sums_of_both, after_a - after_b)):
        np.testing.assert_allclose(sums_of, [w @ after, w @ w], rtol=0, atol=error * np.abs(w).sum())
