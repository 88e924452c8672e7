"""Update rules of the catalogue take the steps that other libraries take, up to stated differences."""

from __future__ import annotations

import re

import pytest
import torch

from engine.architectures import LayerSignals
from engine.core import catalogue
from engine.core.optimizers import optimizer_names
from engine.core.parts import docstring
from engine.learners.learner import Decay
from engine.updates import descended

SECOND = "pytorch-optimizer"
STEPS = 20
NEAR = 1e-6

GENERATOR = torch.Generator().manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR)


X, Y = normal(30, 6), normal(30, 3)
START = {"W1": normal(1, 5, 6) / 2, "W2": normal(1, 3, 5) / 2}


def gradients(params):
    """Gradients of the mean square error of a tanh net, by torch."""
    with torch.enable_grad():
        weights = {layer: w[0].clone().requires_grad_() for layer, w in params.items()}
        outputs = torch.tanh(X @ weights["W1"].T) @ weights["W2"].T
        slopes = torch.autograd.grad(((outputs - Y) ** 2).mean(), list(weights.values()))
    return {layer: slope[None] for layer, slope in zip(weights, slopes, strict=True)}


def trained(rule, lr, rate=lambda w, step: 1.0, decay=None):
    """Weights after steps of a rule; `rate` is a further factor of the rates of a layer."""
    params, state = rule.start(START)
    for step in range(1, STEPS + 1):
        rates = {layer: lr * rate(w, step) for layer, w in params.items()}
        slopes = gradients(params)
        if decay is not None:
            params = descended(params, decay.direction(params), rates)
        params, state = rule.step(params, slopes, rates, state)
    return params


def distance(ours, theirs):
    """Largest difference of a weight, relative to the largest change of a weight."""
    moved = max(float((ours[layer] - w).abs().max()) for layer, w in START.items())
    return max(float((ours[layer] - w).abs().max()) for layer, w in theirs.items()) / moved


def library_rule(name, library="torch", **options):
    return catalogue.make("updates", "torch", name=name, library=library, options=options)


TINY = {"eps": 1e-30}
"""With ε near 0, it does not matter whether ε stands inside the root."""

EQUAL = {
    "gd": ({}, ("SGD", "torch"), {}, 0.1),
    "sgd": ({}, ("SGD", "torch"), {}, 0.1),
    "momentum": ({}, ("SGD", "torch"), {"momentum": 0.9}, 0.01),
    "adam": (TINY, ("Adam", "torch"), TINY, 0.01),
    "adagrad": (TINY, ("Adagrad", "torch"), TINY, 0.03),
    "rmsprop": (TINY, ("RMSprop", "torch"), TINY, 0.003),
    "sign": ({}, ("SignSGD", SECOND), {"momentum": 0.0}, 0.003),
    "lion": ({}, ("Lion", SECOND), {"weight_decay": 0.0}, 0.003),
    "lars": ({}, ("LARS", SECOND), {"weight_decay": 0.0, "trust_coefficient": 1.0}, 0.003),
    "shampoo": ({}, ("Shampoo", SECOND), {"matrix_eps": 1e-6}, 0.05),
    "adam-mini": ({**TINY, "per": "tensor"}, ("AdamMini", SECOND), {**TINY, "weight_decay": 0.0}, 0.01),
}
"""Fields of a rule, its optimizer elsewhere with options, and a rate."""


DIFFERENT = {"adafactor", "lamb", "muon", "soap", "sophia"}
"""Rules whose docstring states how the optimizer elsewhere differs. The tests below measure how."""


def test_each_rule_with_a_library_namesake_is_compared():
    published = {
        optimizer.lower().removesuffix("h")
        for library in ("torch", SECOND)
        for optimizer in optimizer_names(library)
    }
    elsewhere = {kind for kind in catalogue.members("updates") if kind.replace("-", "") in published}
    assert len(elsewhere) >= 12
    assert elsewhere <= EQUAL.keys() | DIFFERENT
    for kind in DIFFERENT:
        assert re.search("[Tt]orch", docstring(catalogue.members("updates")[kind])), kind


@pytest.mark.parametrize("kind", EQUAL)
def test_a_rule_takes_the_steps_of_its_library_optimizer(kind):
    fields, (name, library), options, lr = EQUAL[kind]
    ours = trained(catalogue.make("updates", kind, **fields), lr)
    assert distance(ours, trained(library_rule(name, library, **options), lr)) < NEAR


@pytest.mark.parametrize(("kind", "name"), [("adam", "Adam"), ("adagrad", "Adagrad"), ("rmsprop", "RMSprop")])
def test_adaptive_rules_differ_from_libraries_only_by_the_place_of_epsilon(kind, name):
    def difference(eps):
        ours = trained(catalogue.make("updates", kind, eps=eps), 0.01)
        return distance(ours, trained(library_rule(name, eps=eps), 0.01))

    assert difference(1e-4) > 1000 * NEAR
    assert difference(1e-30) < NEAR


def test_adam_with_the_decay_of_a_learner_is_adamw():
    decay = Decay(rate=0.1)
    ours = trained(catalogue.make("updates", "adam", **TINY), 0.01, decay=decay)
    assert distance(ours, trained(library_rule("AdamW", weight_decay=0.1, **TINY), 0.01)) < NEAR
    assert distance(ours, trained(library_rule("AdamW", weight_decay=0.0, **TINY), 0.01)) > 1000 * NEAR


def test_adafactor_of_torch_multiplies_rates_by_the_size_of_the_weights():
    rule, lr = catalogue.make("updates", "adafactor", **TINY), 0.004
    theirs = trained(library_rule("Adafactor"), lr)

    def rate(w, step):
        return max(1e-3, float(w.square().mean().sqrt())) * min(1.0, 1 / (lr * step**0.5))

    assert distance(trained(rule, lr, rate), theirs) < NEAR
    assert distance(trained(rule, lr), theirs) > 0.1


def test_muon_differs_from_torch_only_by_bfloat16_rounding(monkeypatch):
    rule, theirs = catalogue.make("updates", "muon"), library_rule("Muon", weight_decay=0.0)
    ours = trained(rule, 0.02)
    assert 1e-4 < distance(ours, trained(theirs, 0.02)) < 0.1
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor)
    assert distance(ours, trained(theirs, 0.02)) < NEAR


def test_lamb_of_the_library_divides_its_step_by_the_momentum_correction():
    rule = catalogue.make("updates", "lamb", **TINY)
    theirs = trained(library_rule("Lamb", SECOND, weight_decay=0.0, max_grad_norm=0.0, **TINY), 0.003)
    assert distance(trained(rule, 0.003, lambda w, step: 1 / (1 - 0.9**step)), theirs) < NEAR
    assert distance(trained(rule, 0.003), theirs) > 0.1


def distance_from(start, params, theirs):
    """Largest difference of a weight of one matrix, relative to the largest change of a weight."""
    moved = (params["W"] - start["W"]).abs().max()
    return float((params["W"][0] - theirs.detach()).abs().max() / moved)


SQUARE = {"W": normal(1, 4, 4)}
"""Gradients of full rank: elsewhere, eigenvectors of eigenvalue 0 are arbitrary."""


@pytest.mark.parametrize(("refresh", "close"), [(100, 1e-9), (2, NEAR)])
def test_soap_of_the_library_has_epsilon_outside_the_root_and_refreshes_in_float32(refresh, close):
    from pytorch_optimizer import SOAP

    def difference(eps):
        rule = catalogue.make("updates", "soap", refresh=refresh, eps=eps**2)
        theirs = torch.nn.Parameter(SQUARE["W"][0].clone())
        optimizer = SOAP(
            [theirs], 0.01, (0.95, 0.95), weight_decay=0.0, precondition_frequency=refresh, eps=eps
        )
        params, state = rule.start(SQUARE)
        for _ in range(STEPS):
            theirs.grad = normal(4, 4)
            params, state = rule.step(params, {"W": theirs.grad[None]}, {"W": 0.01}, state)
            optimizer.step()
        return distance_from(SQUARE, params, theirs)

    assert difference(1e-12) < close
    assert difference(1e-2) > 1000 * NEAR


def test_sophia_matches_the_library_given_the_exact_diagonal():
    from pytorch_optimizer import SophiaH

    start = {"W": normal(1, 1, 6)}
    rule = catalogue.make("updates", "sophia", gamma=1.0, delta=1e-12)
    theirs = torch.nn.Parameter(start["W"][0].clone())
    optimizer = SophiaH([theirs], 0.01, (0.96, 0.99), weight_decay=0.0, p=1.0, eps=1e-12)
    params, state = rule.start(start)
    clipped = 0
    for _ in range(STEPS):
        x, back, shares = normal(1, 6, 10), normal(1, 1, 10), torch.full((1, 10), 0.1, dtype=torch.float64)
        theirs.grad = normal(1, 6)
        diagonal = (back[0, 0].square() * x[0].square()).mean(1)[None]
        state = rule.observe({"W": LayerSignals(x, back)}, shares, state)
        params, state = rule.step(params, {"W": theirs.grad[None]}, {"W": 0.01}, state)
        optimizer.step(hessian=[diagonal])
        clipped += int((state["M"]["W"].abs() >= state["h"]["W"]).sum())
    assert 0 < clipped < 6 * STEPS, "both branches of the clipping are compared"
    assert distance_from(start, params, theirs) < NEAR
