"""Losses: values, slopes and the constants of the bounds."""

import math

import naive
import numpy as np
import pytest
import torch
from building import experiment
from discovery import asked

from engine.core import catalogue
from engine.core.cost import square_lengths
from engine.core.parts import BadInput

LOSSES = list(catalogue.members("losses"))
PREDICTIONS = torch.tensor([-30.0, -2.5, -1.0, -0.3, 0.0, 1e-3, 0.9, 1.0, 4.0, 30.0], dtype=torch.float64)
SIGNS, BITS = (-1.0, 1.0), (0.0, 1.0)

CASES = [
    pytest.param(kind, label, id=f"{kind} {label:g}")
    for kind in LOSSES
    for label in {"signs": SIGNS, "bits": BITS, "any": (*SIGNS, 0.0, 0.3)}[
        catalogue.make("losses", kind).labels
    ]
]


@pytest.mark.parametrize(("kind", "label"), [case for case in CASES if case.values[0] in asked("losses")])
def test_value_and_slope_equal_the_naive_twin(kind, label):
    assert kind in naive.LOSSES, f"loss {kind!r} has no naive twin yet: write one in tests/engine/naive.py"
    value, slope = naive.LOSSES[kind]
    loss, labels = catalogue.make("losses", kind), torch.full_like(PREDICTIONS, label)
    expected = [value(p, label) for p in PREDICTIONS.tolist()]
    np.testing.assert_allclose(loss.value(PREDICTIONS, labels), expected, rtol=1e-9, atol=1e-12)
    expected = [slope(p, label) for p in PREDICTIONS.tolist()]
    np.testing.assert_allclose(loss.slope(PREDICTIONS, labels), expected, rtol=1e-9, atol=1e-12)


KINKS = {"hinge": 1.0, "mistake": 0.0}
"""Where y ŷ a loss has no derivative."""


@pytest.mark.parametrize(("kind", "label"), CASES)
def test_the_slope_is_the_derivative_of_the_value(kind, label):
    predictions = PREDICTIONS[label * PREDICTIONS != KINKS.get(kind)]
    loss, labels, size = catalogue.make("losses", kind), torch.full_like(predictions, label), 1e-5
    measured = (loss.value(predictions + size, labels) - loss.value(predictions - size, labels)) / (2 * size)
    torch.testing.assert_close(loss.slope(predictions, labels), measured, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_constants_are_the_least_costs_of_not_knowing_a_sign_or_a_bit(kind):
    loss = catalogue.make("losses", kind)
    takes = {"signs": ("signs",), "bits": ("bits",), "any": ("signs", "bits")}[loss.labels]
    grid = torch.linspace(-3, 3, 60001, dtype=torch.float64)
    for name, pair, constant in (("signs", SIGNS, loss.constant), ("bits", BITS, loss.bit_constant)):
        if name not in takes:
            assert constant is None
            continue
        costs = [loss.value(grid, torch.full_like(grid, label)) for label in pair]
        least = float(((costs[0] + costs[1]) / 2).min())
        assert math.isclose(constant, least, rel_tol=1e-9, abs_tol=1e-15)


@pytest.mark.parametrize(("kind", "label"), CASES)
def test_losses_of_extreme_predictions_are_finite_in_float32(kind, label):
    size = 80.0 if kind == "exponential" else 1e4
    loss, far = catalogue.make("losses", kind), torch.tensor([-size, size])
    assert torch.isfinite(loss.value(far, torch.full_like(far, label))).all()
    assert torch.isfinite(loss.slope(far, torch.full_like(far, label))).all()


def test_square_loss_has_no_hidden_half():
    square = catalogue.make("losses", "square")
    three, one = torch.tensor([3.0]), torch.tensor([1.0])
    assert square.value(three, one).item() == 4
    assert square.slope(three, one).item() == 4


@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 3 * 1024, 1_000_003])
def test_long_sums_of_squares_in_float32_lose_no_more_digits_than_short_ones(n):
    vectors = torch.from_numpy(np.random.default_rng(0).normal(1.0, 0.1, (2, n)).astype(np.float32))
    exact = vectors.double().square().sum(-1)
    np.testing.assert_allclose(square_lengths(vectors), exact, rtol=3e-7)


def test_entropic_loss_is_logistic_loss_of_the_bit_as_a_sign():
    entropic, logistic = (catalogue.make("losses", kind) for kind in ("entropic", "logistic"))
    for bit in BITS:
        bits = torch.full_like(PREDICTIONS, bit)
        torch.testing.assert_close(
            entropic.value(PREDICTIONS, bits), logistic.value(PREDICTIONS, 2 * bits - 1), rtol=0, atol=1e-15
        )
        torch.testing.assert_close(
            entropic.slope(PREDICTIONS, bits), logistic.slope(PREDICTIONS, 2 * bits - 1), rtol=0, atol=1e-15
        )


ADMITTED = [
    ("logistic", {}),
    ("hinge", {"target": "doubled"}),
    ("exponential", {"matrix": {"kind": "xor"}}),
    ("logistic", {"matrix": {"kind": "threshold", "values": "signs"}}),
    ("hinge", {"target": {"kind": "sparse", "r": 1, "signs": True}}),
    ("entropic", {"matrix": "hadamard01"}),
    ("entropic", {"matrix": "hadamard01", "target": "constant"}),
    ("entropic", {"matrix": "threshold", "target": "all"}),
    ("square", {"matrix": "orthogonal"}),
]

REFUSED = [
    ("logistic", {"matrix": "gaussian"}, "needs labels +1 and −1"),
    ("hinge", {"matrix": "hadamard01"}, "needs labels +1 and −1"),
    ("exponential", {"noise": 0.1}, "noise makes them real"),
    ("logistic", {"target": "sparse"}, "hadamard with target sparse has others"),
    ("entropic", {}, "needs labels 0 and 1"),
    ("entropic", {"matrix": "hadamard01", "noise": 0.1}, "noise makes them real"),
    ("entropic", {"matrix": "hadamard01", "target": "doubled"}, "needs labels 0 and 1"),
    ("entropic", {"matrix": {"kind": "hadamard01", "repeat": 1}}, "needs labels 0 and 1"),
    ("entropic", {"matrix": {"kind": "threshold", "values": "signs"}}, "needs labels 0 and 1"),
]


@pytest.mark.parametrize(("loss", "words"), ADMITTED)
def test_a_loss_takes_the_labels_it_is_made_for(loss, words):
    assert experiment(d=8, loss=loss, **words).protocol.loss == loss


@pytest.mark.parametrize(("loss", "words", "said"), REFUSED)
def test_a_loss_refuses_other_labels_with_the_reason(loss, words, said):
    with pytest.raises(BadInput) as caught:
        experiment(d=8, loss=loss, **words)
    assert caught.value.where == "protocol.loss"
    assert said in caught.value.what
    assert "take square" in caught.value.what


@pytest.mark.parametrize("labels", ["sign", "bernoulli"])
def test_hard_labels_of_bits_are_refused(labels):
    with pytest.raises(BadInput) as caught:
        experiment("hadamard01", d=8, labels=labels)
    assert caught.value.where == "problem.labels"
    assert "take soft" in caught.value.what
