"""Symmetries of update rules, measured in the engine, against naive runs and against declared verdicts."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch
from torch.optim import SGD

from engine.core import catalogue, optimizers
from engine.core.parts import BadInput
from engine.judging.named_rule import rule_of
from engine.symmetry import rules
from engine.symmetry.certificate import Comparison
from engine.symmetry.rules import STEPS, Symmetry, contradictions, declared, symmetries
from engine.updates.gd import GD

COORDINATES = {"permutations", "sign flips"}
ALL = {"rotations", *COORDINATES}


class SignSteps(SGD):
    """Steps along the signs of the gradient."""

    @torch.no_grad()
    def step(self):
        for weights in self.param_groups[0]["params"]:
            weights.sub_(0.01 * weights.grad.sign())


class HiddenPrecision(SGD):
    """Gradient descent that rounds gradients to float32."""

    @torch.no_grad()
    def step(self):
        for weights in self.param_groups[0]["params"]:
            weights.sub_(0.05 * weights.grad.float().double())


class NeedsClosure(SGD):
    """Gradient descent along the mean of two gradients that it evaluates itself."""

    def step(self, closure):
        parameters = self.param_groups[0]["params"]
        closure()
        first = [parameter.grad.clone() for parameter in parameters]
        closure()
        with torch.no_grad():
            for parameter, gradient in zip(parameters, first, strict=True):
                parameter.sub_(0.05 * (parameter.grad + gradient) / 2)


class Noisy(SGD):
    """Gradient descent with a random rate."""

    @torch.no_grad()
    def step(self):
        rate = 0.1 * torch.rand(())
        for weights in self.param_groups[0]["params"]:
            weights.sub_(rate * weights.grad)


@pytest.fixture(autouse=True)
def no_registered_optimizers(monkeypatch):
    monkeypatch.setattr(optimizers, "registered", {})


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("egu", {"permutations"}),
        pytest.param("gd", ALL, marks=pytest.mark.slow),
        pytest.param("sign", COORDINATES, marks=pytest.mark.slow),
        pytest.param("spectral", {"sign flips"}, marks=pytest.mark.slow),
        pytest.param(SignSteps, COORDINATES, marks=pytest.mark.slow),
        pytest.param(HiddenPrecision, ALL, marks=pytest.mark.slow),
        pytest.param(NeedsClosure, ALL, marks=pytest.mark.slow),
        pytest.param(Noisy, ALL, marks=pytest.mark.slow),
    ],
)
def test_measured_symmetries_match_the_formulas(rule, expected):
    measured = symmetries(rule_of(rule))
    assert {symmetry.group for symmetry in measured if symmetry.word == "invariant"} == expected
    assert {symmetry.word for symmetry in measured} <= {"invariant", "not invariant"}


@pytest.mark.slow
def test_the_hidden_precision_of_a_rule_is_named():
    assert symmetries(rule_of(HiddenPrecision), ("rotations",))[0].precisions == ("float32",)
    assert symmetries(GD(), ("rotations",))[0].precisions == ()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in catalogue.members("updates") if kind != "torch"])
def test_no_measurement_contradicts_the_declared_verdict_of_a_rule(kind):
    update = catalogue.make("updates", kind)
    assert contradictions(declared(update), symmetries(update)) == []


def test_a_contradiction_is_found():
    by_rounding = 1e-15
    invariant = Symmetry("rotations", 1e-14, by_rounding, ())
    changed = Symmetry("rotations", 0.1, by_rounding, ())
    assert contradictions(declared(GD()), [changed]) == [
        "by structure, the rule is invariant under rotations, but predictions change"
    ]
    assert contradictions(declared(rule_of("sign")), [invariant]) == [
        "by structure, the rule is not invariant under rotations, but predictions do not change"
    ]
    assert (
        contradictions(declared(GD()), [invariant])
        == contradictions(declared(rule_of("sign")), [changed])
        == []
    )


def test_changes_under_scalings_match_a_naive_run():
    """Gradient descent of a neuron from 0 on XS, in numpy, relative to how far predictions moved."""
    (setup, _) = rules.setups(GD(lr=0.02))
    learner = setup.learners[0]
    comparison = Comparison(setup, learner, learner, relative_to_movement=True)
    x, y = comparison.data.instances.rows[0].numpy(), comparison.data.labels[0].numpy()
    factors = np.linspace(0.5, 2, x.shape[1])

    def predictions(inputs):
        w = np.zeros(inputs.shape[1])
        yield inputs @ w
        for _ in range(STEPS):
            w = w - 0.02 * 2 * inputs.T @ (inputs @ w - y) / len(y)
            yield inputs @ w

    before, after = (np.array(list(predictions(inputs))) for inputs in (x, x * factors))
    expected = np.abs(after - before).max() / np.abs(before - before[0]).max()
    assert comparison.under_scalings([factors]) == pytest.approx(expected, rel=1e-12)


def test_the_model_with_the_worst_violation_decides():
    """Rounding of one model does not hide the violation by another."""
    unstable = Symmetry("rotations", 1e-2, 1e-3, ())
    broken = Symmetry("rotations", 1e-3, 1e-15, ())
    invariant = Symmetry("rotations", 1e-15, 1e-15, ())
    assert max((unstable, broken, invariant), key=rules._severity) is broken
    assert max((unstable, invariant), key=rules._severity) is unstable


def test_a_rule_without_movement_and_an_unknown_group_are_refused():
    class Frozen(SGD):
        def step(self):
            pass

    with pytest.raises(BadInput, match="does not change the weights of the model"):
        symmetries(rule_of(Frozen), ("rotations",))
    with pytest.raises(ValueError, match="there is no group 'turns'; the groups are rotations"):
        symmetries(GD(), ("turns",))


def test_a_rule_with_its_own_loss_is_measured_on_it():
    assert [setup.protocol.loss for setup in rules.setups(rule_of("perceptron"))] == ["mistake"]
    assert [setup.protocol.loss for setup in rules.setups(rule_of("gd"))] == ["square", "square"]
    assert msgspec.to_builtins(rules.setups(GD(lr=0.5))[0].learners[0].update)["lr"] == 0.5
