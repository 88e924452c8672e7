"""Fully connected nets: settings of shape, C_w and C_b, and the effect of each parametrisation."""

import math

import naive
import numpy as np
import pytest
import torch
from building import beginning, experiment, gd, predictions, raw

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.problems.instances import DenseInstances
from engine.spec import reading

EXACT = 1e-12
ERRORS = 4
TANH = {"kind": "dense", "activation": "tanh"}


def dense_net(**words):
    return catalogue.make("architectures", "dense", **words)


def starts(d, **words):
    return dense_net(**words).start(Streams(range(200))("init"), d)


def passed(architecture, lr=0.01, **more):
    """Predictions over a pass on Gaussian data."""
    words = raw("gaussian", learners={"it": gd(lr, **architecture)}, d=8, seed=4)
    words["learners"][0] |= more
    return predictions(reading.parse(words))


@pytest.mark.parametrize(
    ("words", "field", "reason"),
    [
        ({"widths": [4], "depth": 2}, "depth", "give either `widths`, or `depth` and `width`"),
        ({"widths": [4], "width": 4}, "width", "give either `widths`, or `depth` and `width`"),
        ({"depth": 3}, "width", "it is required if depth is set"),
        ({"width": 3}, "depth", "it is required if width is set"),
        ({"scale": 1.0, "cw": 1.0}, "cw", "C_w = s²"),
        ({"widths": [4, 4], "cw": [1.0, 2.0]}, "cw", "2 values for 3 layers"),
        ({"widths": [4], "cb": [0.1, 0.1, 0.1]}, "cb", "3 values for 2 layers"),
        ({"widths": [4, 4], "parametrisation": "mean-field"}, "parametrisation", "take `mup`"),
    ],
    ids=str,
)
def test_contradictory_or_incomplete_settings_are_refused_with_a_remedy(words, field, reason):
    with pytest.raises(BadInput) as caught:
        experiment(learners={"it": gd(0.01, kind="dense", **words)})
    assert caught.value.where == f"learners[0].architecture.{field}"
    assert reason in caught.value.fault


@pytest.mark.parametrize(
    ("words", "other"),
    [
        ({"depth": 3, "width": 5}, {"widths": [5, 5, 5]}),
        ({}, {"widths": [128]}),
        ({"cw": 0.25}, {"scale": 0.5}),
        ({"cw": [0.25, 0.25]}, {"cw": 0.25}),
        ({"cb": [0.3, 0.3]}, {"cb": 0.3}),
        ({"cb": 0.0}, {}),
    ],
    ids=str,
)
def test_equivalent_settings_describe_the_same_net(words, other):
    assert np.array_equal(passed({**TANH, **words}), passed({**TANH, **other}))


def test_requested_biases_follow_the_weights_of_their_layer():
    for words in ({"biases": True}, {"cb": 0.1}, {"cb": [0.0, 0.1]}):
        net = dense_net(widths=[5], **words)
        assert net.layers == ("W1", "b1", "W2", "b2")
        assert net.layout(8).shapes == {"W1": (5, 8), "b1": (5, 1), "W2": (1, 5), "b2": (1, 1)}
        assert net.layout(8).units == 5
        assert net.weights({}) is None
    assert dense_net(widths=[5]).layers == ("W1", "W2")


def test_biases_do_not_change_the_initial_weights():
    plain, biased = starts(8, widths=[5, 4]), starts(8, widths=[5, 4], cb=0.2)
    assert all(np.array_equal(plain[name], biased[name]) for name in plain)
    assert not any(starts(8, widths=[5], biases=True)["b1"].ravel())


def promised(sample, variance):
    """How many standard errors the mean square of Gaussian numbers is away from their variance."""
    return abs((sample**2).mean() / variance - 1) / np.sqrt(2 / sample.size)


CW, CB = [0.5, 1.5, 2.0], [0.1, 0.2, 0.4]


@pytest.mark.parametrize(
    ("parametrisation", "variances"),
    [
        ("standard", (0.5 / 16, 1.5 / 32, 2.0 / 24)),
        ("ntk", (1.0, 1.0, 1.0)),
        ("mup", (0.5 / 16, 1.5 / 32, 2.0 / 24**2)),
    ],
)
def test_weights_and_biases_start_with_the_variance_of_their_layer(parametrisation, variances):
    start = starts(16, widths=[32, 24], cw=CW, cb=CB, parametrisation=parametrisation)
    for number, (weights, bias) in enumerate(zip(variances, CB, strict=True), start=1):
        assert promised(start[f"W{number}"], weights) < ERRORS
        assert promised(start[f"b{number}"], bias) < ERRORS


def test_output_weights_of_a_mean_field_net_have_variance_c_w():
    start = starts(16, widths=[32], cw=[0.5, 2.0], parametrisation="mean-field")
    assert promised(start["W1"], 0.5 / 16) < ERRORS
    assert promised(start["W2"], 2.0) < ERRORS


@pytest.mark.parametrize("n", [16, 64])
@pytest.mark.parametrize(
    ("parametrisation", "power"), [("standard", 0), ("ntk", 0), ("mean-field", -1), ("mup", -1)]
)
def test_initial_outputs_have_the_size_of_their_parametrisation(parametrisation, power, n):
    """E ŷ² of a linear net for ‖x‖² = d: C_w of every layer multiplied, over n where the output is small."""
    net = dense_net(widths=[n], cw=1.5, parametrisation=parametrisation)
    start = net.start(Streams(range(2000))("init"), 8)
    params = {tensor_name: torch.from_numpy(value) for tensor_name, value in start.items()}
    squares = net.predict(params, DenseInstances(torch.ones(2000, 1, 8, dtype=torch.float64))).numpy() ** 2
    off = (squares.mean() - 1.5**2 * n**power) / (squares.std() / np.sqrt(squares.size))
    assert abs(off) < ERRORS


def test_ntk_equals_the_standard_parametrisation_with_rates_of_c_w_over_fan_in():
    shape = {**TANH, "widths": [6, 5], "cw": CW, "cb": CB}
    rates = {"W1": 0.5 / 8, "W2": 1.5 / 6, "W3": 2.0 / 5}
    ntk_predictions = passed({**shape, "parametrisation": "ntk"}, lr=0.05)
    np.testing.assert_allclose(ntk_predictions, passed(shape, lr=0.05, layer_rates=rates), rtol=0, atol=EXACT)
    assert abs(ntk_predictions - passed(shape, lr=0.05)).max() > 1e-3


def test_mup_equals_mean_field_for_one_hidden_layer():
    shape = {**TANH, "widths": [6], "cw": 1.5, "cb": 0.2}
    mup_predictions = passed({**shape, "parametrisation": "mup"})
    np.testing.assert_allclose(
        mup_predictions, passed({**shape, "parametrisation": "mean-field"}), rtol=0, atol=EXACT
    )
    assert abs(mup_predictions - passed(shape)).max() > 1e-3


def test_a_layer_rate_multiplies_the_rate_of_the_parametrisation():
    shape = {**TANH, "widths": [6, 5]}
    n_rates = {"W1": 6.0, "W2": 5 / 6, "W3": 1 / 5}
    mup, _ = beginning(experiment(learners={"it": gd(0.5, **shape, parametrisation="mup")}, d=8))
    assert mup.rates == {tensor_name: 0.5 * factor for tensor_name, factor in n_rates.items()}
    words = raw(learners={"it": gd(0.5, **shape, parametrisation="mup")}, d=8)
    words["learners"][0]["layer_rates"] = {"W1": 0.5}
    assert beginning(reading.parse(words))[0].rates["W1"] == 1.5


def trained(net, weights, X, y, steps, until=0.0):
    """Tensors after full-batch gradient descent on mean square loss at rate ½, and the steps that it took."""
    rows, labels = DenseInstances(torch.from_numpy(X)[None]), torch.from_numpy(y)[None]
    params = {name: torch.from_numpy(value)[None] for name, value in weights.items()}
    fixed = net.start(Streams([0])("init"), X.shape[1])
    params |= {name: torch.from_numpy(fixed[name]) for name in fixed.keys() - params.keys()}
    rates = net.layout(X.shape[1]).rate_factors
    for step in range(steps):
        if (net.predict(params, rows) - labels).square().mean() < until:
            return params, step
        gradients = net.gradient(params, rows, lambda predictions: 2 * (predictions - labels) / len(y))
        params |= {
            tensor_name: params[tensor_name] - 0.5 * rates[tensor_name] * g
            for tensor_name, g in gradients.items()
        }
    return params, steps


@pytest.mark.parametrize(
    ("parametrisation", "steps", "moved"),
    [("mean-field", (65.4, 0.2), (0.975, 0.003)), ("ntk", (254, 2), (0.0387, 0.0009))],
)
@pytest.mark.slow
def test_weights_of_two_layer_nets_move_as_far_as_printed(parametrisation, steps, moved):
    """Steps to a loss of 10⁻³, and ‖W − W₀‖/‖W₀‖ there, with standard errors over 5 starts, of which two.

    Source: theory/wide-nets#mean-field, first picture, n = 4096.
    """
    n, draw = 4096, np.random.default_rng(3)
    X = draw.standard_normal((16, 8))
    X *= math.sqrt(8) / 2 / np.linalg.norm(X, axis=1, keepdims=True)
    y = np.sign(draw.standard_normal(16))
    net = dense_net(widths=[n], activation="tanh", cw=[8.0, 1.0], parametrisation=parametrisation)
    measured = []
    for seed in range(2):
        start = np.random.default_rng(seed)
        weights = {"W1": start.standard_normal((n, 8)), "W2": start.standard_normal((1, n))}
        params, steps_taken = trained(net, weights, X, y, 400, until=1e-3)
        change = params["W1"][0].numpy() - weights["W1"]
        measured.append((steps_taken, np.linalg.norm(change) / np.linalg.norm(weights["W1"])))
    for mean, (expected, error) in zip(np.mean(measured, axis=0), (steps, moved), strict=True):
        assert abs(mean - expected) < ERRORS * error * math.sqrt(5 / 2)


@pytest.mark.parametrize(("n", "first", "second"), [(64, 0.648, 0.603), (256, 0.634, 0.587)])
@pytest.mark.slow
def test_features_of_mup_move_as_far_as_printed_at_each_width(n, first, second):
    """The rms change of σ(z) of both hidden layers in 30 steps. Source: theory/wide-nets#mean-fieldd
    picture."""
    draw = np.random.default_rng(3)
    X, y = draw.standard_normal((16, 8)), np.sign(draw.standard_normal(16))
    net = dense_net(widths=[n, n], activation="tanh", parametrisation="mup")
    changes = []
    for seed in range(3):
        start = np.random.default_rng(seed)
        weights = {
            "W1": start.standard_normal((n, 8)) / math.sqrt(8),
            "W2": start.standard_normal((n, n)) / math.sqrt(n),
            "W3": start.standard_normal((1, n)) / n,
        }
        rows = DenseInstances(torch.from_numpy(X)[None])
        before = {name: torch.from_numpy(value)[None] for name, value in weights.items()}
        after, _ = trained(net, weights, X, y, 30)
        pairs = zip(net.preactivations(before, rows), net.preactivations(after, rows), strict=True)
        changes.append([float((new.tanh() - old.tanh()).square().mean().sqrt()) for old, new in pairs])
    assert np.mean(changes, axis=0) == pytest.approx((first, second), abs=0.01)


HIDDEN = {
    "dense": [
        {"widths": [5, 4], "activation": "tanh", "cb": 0.2, "parametrisation": "ntk", "cw": 2.0},
        {"widths": [5, 4]},
    ],
    "normalised": [{"widths": [5, 4], "activation": "tanh", "of": "instances"}],
    "sparse-input": [{"width": 6, "connectivity": 3, "activation": "tanh"}],
    "dense-spindly": [{"width": 5}],
    "relu-layer": [{"width": 5}],
    "tent": [{"times": 2}],
    "layer-by-layer": [{"depth": 2, "width": 5, "activation": "tanh", "cw": 2.0, "cb": 0.2}],
}


@pytest.mark.parametrize("kind", catalogue.members("architectures"))
def test_preactivations_match_the_naive_twin(kind):
    for words in HIDDEN.get(kind, [{}]):
        architecture = catalogue.make("architectures", kind, **words)
        start = architecture.start(Streams([1, 2])("init"), 8)
        params = {tensor_name: torch.from_numpy(value) for tensor_name, value in start.items()}
        X = np.random.default_rng(0).standard_normal((2, 3, 8))
        layers = architecture.preactivations(params, DenseInstances(torch.from_numpy(X)))
        if kind not in HIDDEN:
            assert layers == []
            continue
        of_shape = ["widths", "width", "depth", "connectivity", *(["cb"] if kind == "dense" else [])]
        takes = {name: value for name, value in words.items() if name not in of_shape}
        net = naive.ARCHITECTURES[kind](**takes)
        for replica, row in np.ndindex(2, 3):
            ours = {tensor_name: value[replica] for tensor_name, value in start.items()}
            signals = net._signals(ours, X[replica, row])
            hidden = [signals] if kind in ("sparse-input", "dense-spindly") else signals[:-1]
            for layer, other in zip(layers, hidden, strict=True):
                np.testing.assert_allclose(layer[replica, :, row], other, rtol=0, atol=EXACT)
