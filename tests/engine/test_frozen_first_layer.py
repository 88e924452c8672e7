"""With a frozen first layer, some learners cannot notice rotations of their instances."""

import msgspec
import numpy as np
import pytest
import torch
from building import experiment
from discovery import variants

from engine.architectures import LayerSignals
from engine.core import catalogue
from engine.core.groups import UNCHANGED
from engine.runtime.run import run
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict

D = 16
NET = {"kind": "dense", "widths": [8], "activation": "tanh"}
STEEPEST = {"kind": "sign", "steepest": True, "lr": 0.05}
COORDINATE = {"kind": "coordinate", "lr": 0.05}
POLYAK = {"kind": "polyak", "lr": 0.05}
BY_VALUE = {"clip": {"value": 0.05}}
DENSE = catalogue.make("architectures", "dense", widths=[3])


def frozen(update, matrix="gaussian", net=NET, d=D, added=None, **words):
    """An experiment with one net and a frozen first layer."""
    learner = {"update": update, "architecture": net, "layer_rates": {"W1": 0.0}, **(added or {})}
    return experiment(matrix, learners={"it": learner}, d=d, **words)


@pytest.mark.parametrize(("update", "added"), [
    (COORDINATE, {}), (STEEPEST, {}), (POLYAK, BY_VALUE), ({"kind": "agd"}, BY_VALUE),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(6, 3, 1), (12, 5, 2), (D, 8, 3)])
def test_rules_that_compare_layer_entries_lose_invariance_with_a_frozen_layer(update, added, shape):
    d, width, seed = shape
    net = {**NET, "widths": [width]}
    described = frozen(update, net=net, d=d, seed=seed, added=added)
    (it,) = described.learners
    assert verdict(it, described).invariant is False
    assert certificate(described, it) > 1e-3


@pytest.mark.parametrize(("update", "added"), [
    (POLYAK, {}), ({"kind": "agd"}, {}), ({"kind": "agd-momentum"}, {}), ({"kind": "gd"}, BY_VALUE),
    ({"kind": "adam"}, BY_VALUE), ({"kind": "lamb"}, BY_VALUE), ({"kind": "lion"}, {}),
    ({"kind": "sign"}, {}), ({"kind": "sophia"}, {}), ({**STEEPEST, "shared": True}, {}),
])  # fmt: skip
@pytest.mark.parametrize("seed", [1, 2])
def test_other_rules_stay_rotation_invariant_with_a_frozen_first_layer(update, added, seed):
    described = frozen(update, seed=seed, added=added)
    (it,) = described.learners
    assert verdict(it, described).invariant is True
    assert certificate(described, it) < UNCHANGED


@pytest.mark.parametrize("update", [COORDINATE, STEEPEST])
@pytest.mark.parametrize("matrix", ["hadamard", {"kind": "hadamard", "rotate": True}, "orthogonal"])
@pytest.mark.parametrize("batch", [1, 3])
def test_the_default_backend_equals_dense_for_a_frozen_first_layer(update, matrix, batch):
    words = {
        "protocol": {"kind": "one-pass", "batch": batch},
        "replicas": 3,
        "net": {**NET, "widths": [4, 4]},
    }
    default = run(frozen(update, matrix, **words)).curves[0].mean("loss")
    dense = run(frozen(update, matrix, path="dense", **words)).curves[0].mean("loss")
    np.testing.assert_allclose(default, dense, rtol=1e-9)


@pytest.mark.parametrize("update", [COORDINATE, STEEPEST])
def test_no_lower_bound_binds_coordinate_or_steepest_rules_with_frozen_layers(update):
    trace = run(frozen(update))
    assert [
        line.kind for line in trace.lines if line.statement.direction == "lower" and "it" in line.applies_to
    ] == []


def rules():
    """Every choice of every rule that trains a net of two layers."""
    for kind, member in catalogue.members("updates").items():
        for words in variants(member):
            rule = msgspec.convert(words, member)
            if rule.refuses(DENSE) is None:
                yield pytest.param(rule, id=f"{kind} {words}")


def moves_of_second_layer(rule, of_first):
    """Second layer after steps in which only the gradients of the first layer differ."""
    rng = np.random.default_rng(3)
    params = {
        name: torch.from_numpy(rng.normal(size=(1, *shape))) for name, shape in DENSE.layout(4).shapes.items()
    }
    after, state = rule.start(params)
    for _ in range(4):
        gradients = {
            tensor_name: torch.from_numpy(rng.normal(size=w.shape)) for tensor_name, w in params.items()
        }
        gradients["W1"] = of_first(gradients["W1"])
        if rule.structure().observes:
            back = {
                tensor_name: torch.from_numpy(rng.normal(size=(1, w.shape[1], 5)))
                for tensor_name, w in params.items()
            }
            inputs = {
                tensor_name: torch.from_numpy(rng.normal(size=(1, w.shape[2], 5)))
                for tensor_name, w in params.items()
            }
            back["W1"] = of_first(back["W1"])
            signals = {
                tensor_name: LayerSignals(inputs[tensor_name], back[tensor_name]) for tensor_name in params
            }
            state = rule.observe(signals, torch.full((1, 1), 0.2, dtype=torch.float64), state)
        after, state = rule.step(after, gradients, dict.fromkeys(params, 0.1), state)
    return after["W2"]


@pytest.mark.parametrize("rule", rules())
def test_a_declared_layerwise_rule_ignores_gradients_of_other_layers(rule):
    plain = moves_of_second_layer(rule, lambda g: g)
    changes_of_other_layers = (lambda g: 3 * g, lambda g: g.flip(1), lambda g: g.square())
    measured = all(
        torch.equal(moves_of_second_layer(rule, other), plain) for other in changes_of_other_layers
    )
    assert measured or not rule.structure().layerwise
    compares = getattr(rule, "steepest", False) or rule.kind in (
        "agd",
        "agd-momentum",
        "coordinate",
        "polyak",
    )
    assert not (measured and compares), "the measurement can tell"


def test_the_rounding_threshold_of_shared_rates_does_not_depend_on_the_axes():
    rule = catalogue.make("updates", "sign", shared=True)
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))
    first = torch.zeros(1, 3, 4, dtype=torch.float64)
    first[0, 0, 0] = 1.0
    least = 256 * torch.finfo(torch.float64).eps / 2  # half of the largest entry is the root mean square
    second = torch.tensor([[[0.9 * least, 1.1 * least, -2 * least]]], dtype=torch.float64)
    for turned in (first, first @ torch.from_numpy(turn)):
        gradients = {"W1": turned, "W2": second}
        zero = {tensor_name: torch.zeros_like(g) for tensor_name, g in gradients.items()}
        after, _ = rule.step(zero, gradients, dict.fromkeys(zero, 1.0), {})
        assert after["W2"].flatten().tolist() == [0.0, -1.0, 1.0]


def test_steepest_sign_descent_has_equal_losses_on_all_backends():
    learner = {"update": STEEPEST, "architecture": NET}
    losses = [
        run(experiment(learners={"it": learner}, d=D, path=path)).curves[0].mean("loss")
        for path in ("auto", "structured", "dense")
    ]
    for other in losses[1:]:
        np.testing.assert_allclose(other, losses[0], rtol=1e-9)


def test_shared_steepest_steps_use_the_root_mean_square_of_each_unit():
    rng = np.random.default_rng(7)
    g1, g2 = rng.normal(size=(3, 4)), rng.normal(size=(1, 3))
    sizes = np.sqrt((g1**2).mean(1, keepdims=True))
    mean = (4 * sizes.sum() + abs(g2).sum()) / 15
    rule = catalogue.make("updates", "sign", steepest=True, shared=True)
    gradients = {"W1": torch.from_numpy(g1[None]), "W2": torch.from_numpy(g2[None])}
    zero = {tensor_name: torch.zeros_like(g) for tensor_name, g in gradients.items()}
    after, _ = rule.step(zero, gradients, dict.fromkeys(zero, 0.5), {})
    np.testing.assert_allclose(after["W1"][0], -0.5 * mean * g1 / sizes, rtol=1e-12)
    np.testing.assert_allclose(after["W2"][0], -0.5 * mean * np.sign(g2), rtol=1e-12)
