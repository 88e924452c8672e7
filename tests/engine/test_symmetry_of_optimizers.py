"""Optimizers of torch have the symmetries that their formulas have."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.optim import LBFGS, SGD, Adam, Optimizer

import engine
from engine.symmetry.rules import GROUPS, Symmetry, symmetry


class SignSteps(Optimizer):
    """Steps along the signs of the gradient."""

    def __init__(self, parameters, lr=0.01):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(group["lr"] * parameter.grad.sign())


class HiddenPrecision(Optimizer):
    """Gradient descent that rounds gradients to float32."""

    def __init__(self, parameters, lr=0.05):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(group["lr"] * parameter.grad.float().double())


class Noisy(SignSteps):
    """Gradient descent with noise along the gradient."""

    @torch.no_grad()
    def step(self):
        factor = 0.1 * torch.rand(())
        for parameter in self.param_groups[0]["params"]:
            parameter.sub_(factor * parameter.grad)


ALL, COORDINATES = {"rotations", "permutations", "sign flips"}, {"permutations", "sign flips"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make_optimizer", "expected"),
    [
        (lambda parameters: SGD(parameters, lr=0.05, momentum=0.9), ALL),
        (lambda parameters: Adam(parameters, lr=0.02), COORDINATES),
        (SignSteps, COORDINATES),
    ],
    ids=["momentum", "Adam", "signs"],
)
def test_measured_symmetries_match_the_formulas(make_optimizer, expected):
    """Optimizers with hidden float32, closures or noise are in test_rule_symmetries.py."""
    words = {group: symmetry(make_optimizer, group).word for group in GROUPS}
    assert words == {group: "invariant" if group in expected else "not invariant" for group in GROUPS}


@pytest.mark.slow
def test_lbfgs_of_torch_is_not_rotation_invariant():
    """torch takes min(1, 1/‖g‖₁) η as its first step, and ‖g‖₁ depends on the axes."""
    measured = symmetry(lambda parameters: LBFGS(parameters, lr=0.5, max_iter=3), "rotations")
    assert measured.word == "not invariant"
    assert measured.change > 1000 * measured.by_rounding


def test_a_hidden_precision_is_named_and_step_counters_are_ignored():
    assert symmetry(HiddenPrecision, "rotations").precisions == ("float32",)
    assert symmetry(lambda parameters: Adam(parameters, lr=0.02), "sign flips").precisions == ()
    assert "the rule computes in float32" in symmetry(HiddenPrecision, "rotations").sentence


@pytest.mark.slow
def test_changes_of_sign_steps_match_a_naive_run():
    """Signed steps of a linear model on XGᵀ from w Gᵀ = w G⁻¹, one by one in numpy."""
    measured = symmetry(SignSteps, "permutations")
    assert measured.change < 1e-12
    rng = np.random.default_rng(0)
    x, start = rng.standard_normal((24, 8)), rng.standard_normal(8)
    turn, _ = np.linalg.qr(rng.standard_normal((8, 8)))

    def predictions(inputs, weights):
        for _ in range(20):
            weights = weights - 0.01 * np.sign(inputs.T @ (inputs @ weights - x[:, 0]))
        return inputs @ weights

    before, after = predictions(x, start), predictions(x @ turn.T, start @ turn.T)
    assert np.abs(before - after).max() > 0.01 * np.abs(before - x @ start).max()
    assert symmetry(SignSteps, "rotations").change > 0.01


def test_a_constructor_with_a_model_parameter_receives_the_model():
    received = []

    def make(parameters, model):
        received.append(model)
        return SGD(parameters, lr=0.1)

    symmetry(make, "sign flips")
    assert {type(model) for model in received} == {torch.nn.Module}


def test_symmetry_keeps_the_global_random_state():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    symmetry(Noisy, "sign flips")
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.slow
def test_assert_invariant_reports_the_measured_change():
    engine.assert_invariant(lambda parameters: SGD(parameters, lr=0.1))
    engine.assert_invariant(SignSteps, "permutations")
    with pytest.raises(
        AssertionError, match="not invariant under rotations: transformed inputs change predictions by 0"
    ):
        engine.assert_invariant(SignSteps)
    with pytest.raises(ValueError, match="there is no group 'turns'; the groups are rotations"):
        engine.assert_invariant(SignSteps, "turns")
    with pytest.raises(ValueError, match="does not change the weights"):
        engine.assert_invariant(lambda parameters: SGD(parameters, lr=0.0))


@pytest.mark.parametrize(
    ("change", "by_rounding", "precisions", "word"),
    [
        (1e-9, 1e-12, (), "invariant"),
        (1e-3, 1e-4, (), "unstable"),
        (1e-3, 1e-6, (), "not invariant"),
        (1e-3, 1e-3, ("bfloat16",), "invariant"),
        (0.8, 0.07, ("bfloat16",), "not invariant"),
    ],
)
def test_a_change_explained_by_rounding_is_no_violation(change, by_rounding, precisions, word):
    assert Symmetry("rotations", change, by_rounding, precisions).word == word
