"""Large steps on a net of two layers: recursions against gradient descent, and the printed numbers."""

import numpy as np
import pytest

from engine.formulas import catapult


def descended(m, d, rate, steps, target, seed):
    """Error and kernel along plain gradient descent on ½(z − y)² of a net with linear units."""
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((m, d)), rng.standard_normal(m)
    x = np.sqrt(d) * np.eye(d)[0]
    errors, kernels = [], []
    for _ in range(steps + 1):
        hidden, scale = u @ x, 1 / np.sqrt(m * d)
        errors.append(scale * v @ hidden - target)
        kernels.append(scale**2 * (hidden @ hidden + v @ v * (x @ x)))
        u, v = u - rate * errors[-1] * scale * np.outer(v, x), v - rate * errors[-1] * scale * hidden
    return np.array(errors), np.array(kernels)


@pytest.mark.parametrize("product", [0.5, 1.9, 3.0])
def test_the_recursion_is_gradient_descent(product):
    m, d, target = 64, 10, 1.0
    _, (kernel, *_) = descended(m, d, 0.0, 0, target, 1)
    errors, kernels = descended(m, d, product / kernel, 30, target, 1)
    found = catapult.recursion(errors[0], kernels[0], target, 1 / m, product / kernel, 30)
    np.testing.assert_allclose(found.errors, errors, rtol=0, atol=1e-11 * abs(errors).max())
    np.testing.assert_allclose(found.kernels, kernels, rtol=1e-11)


def test_a_wide_net_with_label_0_obeys_the_recursion_of_infinite_width():
    m, kernel, product, first = 10**6, 2.0, 3.0, 1.0
    rate = product / kernel
    found = catapult.recursion(first, kernel, 0.0, 1 / m, rate, 60)
    limit = catapult.wide_recursion(rate**2 * first**2 / m, product, 60)
    np.testing.assert_allclose(rate * found.kernels, limit.kernels, rtol=1e-9)
    np.testing.assert_allclose(rate**2 * found.errors**2 / m, limit.errors, rtol=1e-9, atol=1e-300)


def phases(product, steps=300, count=200):
    """The recursion of infinite width from small errors in every phase of their growth."""
    sizes = 1e-7 * (product - 1) ** (2 * np.arange(count) / count)
    return [catapult.wide_recursion(size, product, steps) for size in sizes]


@pytest.mark.parametrize(("product", "peak", "last"), [(2.5, 0.05337, 1.28234), (3.0, 0.1711, 0.2163)])
def test_peak_and_final_kernel_between_2_and_4_are_those_printed(product, peak, last):
    runs, rate = phases(product), product / 2
    assert np.mean([run.kernels[-1] for run in runs]) == pytest.approx(last, abs=5e-4)
    assert np.mean([run.errors.max() for run in runs]) / (2 * rate**2) == pytest.approx(peak, abs=5e-4)


@pytest.mark.parametrize("product", [0.5, 1.5, 1.9])
def test_below_2_errors_fall_in_every_step_and_the_kernel_stays(product):
    assert product < catapult.MONOTONE_BELOW
    found = catapult.wide_recursion(1e-9, product, 100)
    assert (np.diff(found.errors) < 0).all()
    assert found.kernels[-1] == pytest.approx(product, abs=1e-7)


@pytest.mark.parametrize("product", [2.1, 3.5, 3.9])
def test_between_2_and_4_errors_rise_and_the_kernel_ends_below_2(product):
    assert catapult.MONOTONE_BELOW < product < catapult.DIVERGES_FROM
    found = catapult.wide_recursion(1e-9, product, 5000)
    assert found.errors.max() > 1e-3
    assert found.kernels[-1] < catapult.MONOTONE_BELOW
    assert found.errors[-1] < 1e-12


@pytest.mark.parametrize("product", [4.1, 4.5])
def test_above_4_errors_grow_without_end(product):
    assert product > catapult.DIVERGES_FROM
    found = catapult.wide_recursion(1e-9, product, 100)
    assert not found.errors[-1] < 1e8
