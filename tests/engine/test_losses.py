"""Losses: values, slopes and the constant of the bounds."""

import math

import naive
import numpy as np
import pytest
import torch

from engine import catalogue

LOSSES = list(catalogue.members("losses"))
PREDICTIONS = torch.tensor([-30.0, -2.5, -1.0, -0.3, 0.0, 1e-3, 0.9, 1.0, 4.0, 30.0], dtype=torch.float64)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_value_and_slope_equal_the_naive_twin(kind, label):
    assert kind in naive.LOSSES, f"loss {kind!r} has no naive twin yet: write one in tests/engine/naive.py"
    value, slope = naive.LOSSES[kind]
    loss, labels = catalogue.make("losses", kind), torch.full_like(PREDICTIONS, label)
    expected = [value(p, label) for p in PREDICTIONS.tolist()]
    np.testing.assert_allclose(loss.value(PREDICTIONS, labels), expected, rtol=1e-9, atol=1e-12)
    expected = [slope(p, label) for p in PREDICTIONS.tolist()]
    np.testing.assert_allclose(loss.slope(PREDICTIONS, labels), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_the_slope_is_the_derivative_of_the_value(kind, label):
    loss, labels, size = catalogue.make("losses", kind), torch.full_like(PREDICTIONS, label), 1e-5
    measured = (loss.value(PREDICTIONS + size, labels) - loss.value(PREDICTIONS - size, labels)) / (2 * size)
    torch.testing.assert_close(loss.slope(PREDICTIONS, labels), measured, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_constant_is_the_least_cost_of_not_knowing_a_sign(kind):
    loss = catalogue.make("losses", kind)
    grid = torch.linspace(-3, 3, 60001, dtype=torch.float64)
    ones = torch.ones_like(grid)
    least = float(((loss.value(grid, ones) + loss.value(grid, -ones)) / 2).min())
    assert math.isclose(loss.constant, least, rel_tol=1e-9)


@pytest.mark.parametrize("kind", LOSSES)
def test_losses_of_extreme_predictions_are_finite_in_float32(kind):
    loss, far = catalogue.make("losses", kind), torch.tensor([-1e4, 1e4])
    for label in (-1.0, 1.0):
        assert torch.isfinite(loss.value(far, torch.full_like(far, label))).all()
        assert torch.isfinite(loss.slope(far, torch.full_like(far, label))).all()


def test_square_loss_has_no_hidden_half():
    square = catalogue.make("losses", "square")
    three, one = torch.tensor([3.0]), torch.tensor([1.0])
    assert square.value(three, one).item() == 4
    assert square.slope(three, one).item() == 4
