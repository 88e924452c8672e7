"""Losses: values, slopes and the constants of the bounds."""

import math

import naive
import numpy as np
import pytest
import torch
from building import beginning, experiment
from discovery import asked
from looping import looped

from engine.core import catalogue
from engine.core.cost import square_lengths
from engine.core.parts import BadInput
from engine.measures import Probe, named

EVERY = list(catalogue.members("losses"))
JOINT = [kind for kind in EVERY if catalogue.make("losses", kind).joint]
LOSSES = [kind for kind in EVERY if kind not in JOINT]
PREDICTIONS = torch.tensor([-30.0, -2.5, -1.0, -0.3, 0.0, 1e-3, 0.9, 1.0, 4.0, 30.0], dtype=torch.float64)
SIGNS, BITS = (-1.0, 1.0), (0.0, 1.0)

CASES = [
    pytest.param(kind, label, id=f"{kind} {label:g}")
    for kind in LOSSES
    for label in {"signs": SIGNS, "bits": BITS, "any": (*SIGNS, 0.0, 0.3)}[
        catalogue.make("losses", kind).labels
    ]
]


@looped(("kind", "label"), [case for case in CASES if case.values[0] in asked("losses")])
def test_value_and_slope_equal_the_naive_twin(kind, label):
    assert kind in naive.LOSSES, f"loss {kind!r} has no naive twin yet: write one in tests/engine/naive.py"
    value, slope = naive.LOSSES[kind]
    loss, labels = catalogue.make("losses", kind), torch.full_like(PREDICTIONS, label)
    expected = [value(p, label) for p in PREDICTIONS.tolist()]
    np.testing.assert_allclose(loss.value(PREDICTIONS, labels), expected, rtol=1e-9, atol=1e-12)
    expected = [slope(p, label) for p in PREDICTIONS.tolist()]
    np.testing.assert_allclose(loss.slope(PREDICTIONS, labels), expected, rtol=1e-9, atol=1e-12)


@looped(("kind", "label"), [case for case in CASES if not catalogue.make("losses", case.values[0]).joint])
def test_slopes_declared_continuous_do_not_jump(kind, label):
    loss = catalogue.make("losses", kind)
    near = torch.linspace(-3, 3, 6001, dtype=torch.float64)
    largest = loss.slope(near, torch.full_like(near, label)).diff().abs().max()
    assert largest < 0.05 if loss.continuous_slope else largest > 0.5


KINKS = {"hinge": 1.0, "mistake": 0.0}
"""Where y ŷ a loss has no derivative."""


@looped(("kind", "label"), CASES)
def test_the_slope_is_the_derivative_of_the_value(kind, label):
    predictions = PREDICTIONS[label * PREDICTIONS != KINKS.get(kind)]
    loss, labels, size = catalogue.make("losses", kind), torch.full_like(predictions, label), 1e-5
    measured = (loss.value(predictions + size, labels) - loss.value(predictions - size, labels)) / (2 * size)
    torch.testing.assert_close(loss.slope(predictions, labels), measured, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", LOSSES)
def test_constants_are_the_least_mean_loss_on_an_unknown_label(kind):
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


@looped(("kind", "label"), CASES)
def test_losses_of_extreme_predictions_are_finite_in_float32(kind, label):
    size = 80.0 if kind == "exponential" else 1e4
    loss, far = catalogue.make("losses", kind), torch.tensor([-size, size])
    assert torch.isfinite(loss.value(far, torch.full_like(far, label))).all()
    assert torch.isfinite(loss.slope(far, torch.full_like(far, label))).all()


CLASSES = torch.tensor([[-3.0, 0.0, 0.7, 2.0], [1.0, 0.0, 0.7, -9.0], [0.2, 0.0, 4.0, 5.0]]).double()
"""Predictions [m, n] of three classes for four instances."""

ONE_HOT = torch.eye(3, dtype=torch.float64)[:, [0, 1, 2, 2]]


@pytest.mark.parametrize("kind", JOINT)
def test_a_joint_loss_equals_its_naive_twin(kind):
    assert kind in naive.JOINT_LOSSES, (
        f"loss {kind!r} has no naive twin yet: write one in tests/engine/naive.py"
    )
    value, slopes = naive.JOINT_LOSSES[kind]
    instances = list(zip(CLASSES.T.tolist(), ONE_HOT.T.tolist(), strict=True))
    loss = catalogue.make("losses", kind)
    loss_values = loss.value(CLASSES, ONE_HOT)
    assert loss_values.shape == CLASSES.shape
    for row in loss_values:
        np.testing.assert_allclose(row, [value(*instance) for instance in instances], rtol=1e-12)
    expected = np.transpose([slopes(*instance) for instance in instances])
    np.testing.assert_allclose(loss.slope(CLASSES, ONE_HOT), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", JOINT)
def test_the_slope_of_a_joint_loss_is_its_gradient(kind):
    loss, size = catalogue.make("losses", kind), 1e-5
    for target in range(3):
        step = torch.zeros_like(CLASSES)
        step[target] = size
        change = loss.value(CLASSES + step, ONE_HOT) - loss.value(CLASSES - step, ONE_HOT)
        slope = loss.slope(CLASSES, ONE_HOT)[target]
        torch.testing.assert_close(slope, change[0] / (2 * size), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", JOINT)
def test_joint_losses_of_extreme_predictions_are_finite_in_float32(kind):
    loss, far = catalogue.make("losses", kind), torch.tensor([[1e4, -1e4], [-1e4, 1e4], [0.0, 0.0]])
    labels = torch.tensor([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    assert loss.value(far, labels)[0].tolist() == [0, 2e4]
    assert loss.slope(far, labels).isfinite().all()


def test_cross_entropy_of_two_classes_is_logistic_loss_of_the_difference():
    joint, logistic = (catalogue.make("losses", kind) for kind in ("cross-entropy", "logistic"))
    two = torch.stack((PREDICTIONS, PREDICTIONS.flip(0) / 3))
    for number, sign in ((0, 1.0), (1, -1.0)):
        labels = torch.zeros_like(two)
        labels[number] = 1
        signs = torch.full_like(PREDICTIONS, sign)
        difference = two[0] - two[1]
        value, slope = joint.value(two, labels), joint.slope(two, labels)
        torch.testing.assert_close(value[0], logistic.value(difference, signs), rtol=1e-13, atol=1e-14)
        torch.testing.assert_close(slope[0], logistic.slope(difference, signs), rtol=0, atol=1e-15)
        torch.testing.assert_close(slope[1], -slope[0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", JOINT)
def test_a_batched_joint_loss_equals_the_loss_of_single_replicas(kind):
    loss = catalogue.make("losses", kind)
    batch, labels = torch.cat((CLASSES, CLASSES.flip(0))), torch.cat((ONE_HOT, ONE_HOT))
    cost = loss.of_targets(3)
    for half, alone in ((slice(0, 3), CLASSES), (slice(3, 6), CLASSES.flip(0))):
        assert torch.equal(cost.value(batch, labels)[half], loss.value(alone, ONE_HOT))
        assert torch.equal(cost.slope(batch, labels)[half], loss.slope(alone, ONE_HOT))
        mean = loss.value(alone, ONE_HOT).mean(-1)
        torch.testing.assert_close(cost.average(batch, labels)[half], mean, rtol=1e-15, atol=0)


def test_square_loss_has_no_factor_one_half():
    square = catalogue.make("losses", "square")
    three, unit = torch.tensor([3.0]), torch.tensor([1.0])
    assert square.value(three, unit).item() == 4
    assert square.slope(three, unit).item() == 4


@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 3 * 1024, 1_000_003])
def test_long_float32_sums_of_squares_are_accurate(n):
    vectors = torch.from_numpy(np.random.default_rng(0).normal(1.0, 0.1, (2, n)).astype(np.float32))
    exact = vectors.double().square().sum(-1)
    np.testing.assert_allclose(square_lengths(vectors), exact, rtol=3e-7)


def test_entropic_loss_of_a_bit_is_logistic_loss_of_its_sign():
    entropic, logistic = (catalogue.make("losses", kind) for kind in ("entropic", "logistic"))
    for bit in BITS:
        bits = torch.full_like(PREDICTIONS, bit)
        torch.testing.assert_close(
            entropic.value(PREDICTIONS, bits), logistic.value(PREDICTIONS, 2 * bits - 1), rtol=0, atol=1e-15
        )
        torch.testing.assert_close(
            entropic.slope(PREDICTIONS, bits), logistic.slope(PREDICTIONS, 2 * bits - 1), rtol=0, atol=1e-15
        )


THREE = {"matrix": {"kind": "clusters", "classes": 3}, "target": "classes"}

ADMITTED = [
    ("cross-entropy", THREE),
    ("entropic", THREE),
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
    ("exponential", {"noise": 0.1}, "noise makes labels real numbers"),
    ("logistic", {"target": "sparse"}, "hadamard with target sparse has other labels"),
    ("entropic", {}, "needs labels 0 and 1"),
    ("entropic", {"matrix": "hadamard01", "noise": 0.1}, "noise makes labels real numbers"),
    ("entropic", {"matrix": "hadamard01", "target": "doubled"}, "needs labels 0 and 1"),
    ("entropic", {"matrix": {"kind": "hadamard01", "repeat": 1}}, "needs labels 0 and 1"),
    ("entropic", {"matrix": {"kind": "threshold", "values": "signs"}}, "needs labels 0 and 1"),
    ("cross-entropy", {}, "needs labels 0 and 1"),
    ("cross-entropy", {"matrix": "hadamard01", "target": "all"}, "three classes or more"),
    ("cross-entropy", {"matrix": {"kind": "clusters", "classes": 2}, "target": "classes"}, "labels 0 and 1"),
    ("cross-entropy", {**THREE, "noise": 0.1}, "noise makes labels real numbers"),
]


@looped(("loss", "words"), ADMITTED)
def test_a_loss_accepts_its_kinds_of_labels(loss, words):
    assert experiment(d=8, loss=loss, **words).protocol.loss == loss


@looped(("loss", "words", "reason"), REFUSED)
def test_a_loss_refuses_other_labels_with_the_reason(loss, words, reason):
    with pytest.raises(BadInput) as caught:
        experiment(d=8, loss=loss, **words)
    assert caught.value.where == "protocol.loss"
    assert reason in caught.value.fault
    assert "take square" in caught.value.fault


@pytest.mark.parametrize("labels", ["sign", "bernoulli"])
def test_hard_labels_of_bits_are_refused(labels):
    with pytest.raises(BadInput) as caught:
        experiment("hadamard01", d=8, labels=labels)
    assert caught.value.where == "problem.labels"
    assert "set labels = soft" in caught.value.fault


def test_the_brier_score_is_the_square_error_of_the_probability_of_a_label():
    _, data = beginning(experiment("rademacher", d=6, replicas=2))
    logits = np.random.default_rng(0).normal(0, 3, (2, 6))

    class Fixed:
        def predict(self, instances):
            return torch.from_numpy(logits)

    counts = torch.tensor([[1.0, 0.0, 2.0, 0.0, 0.0, 1.0]])
    probe = Probe(data, None, Fixed(), lambda: counts)
    ones = (data.labels.numpy() + 1) / 2
    scores = 4 * (ones - 1 / (1 + np.exp(-logits))) ** 2
    expected = {"brier": scores, "brier-seen": scores[:, [0, 2, 2, 5]], "brier-unseen": scores[:, [1, 3, 4]]}
    for name, of_rows in expected.items():
        measured_scores = named()[name].value(probe)
        np.testing.assert_allclose(measured_scores[:, 0], of_rows.mean(1), rtol=1e-6)
