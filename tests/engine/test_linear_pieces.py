"""Linear pieces of nets of one variable: tent maps, a naive count along a grid, and the law at the start."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from building import beginning, gd, raw

from engine.core import catalogue
from engine.core.parts import MOST, BadInput
from engine.core.streams import Streams
from engine.formulas.linear_pieces import pieces, pieces_of_one_layer
from engine.problems.instances import DenseInstances
from engine.runtime.run import run
from engine.spec.reading import parse

RELU = (1.0, 0.0)
INTERVAL = {"kind": "interval", "n": 2, "low": -1, "high": 1, "points": "spaced"}
NET = {"kind": "dense", "activation": "relu", "cw": 2, "cb": 1}


def tent(times):
    """σ(2σ(x) − 4σ(x − ½)), composed: two layers and three units each time."""
    first = np.array([[1.0], [1.0]]), np.array([0.0, -0.5])
    second = np.array([[2.0, -4.0]]), np.array([0.0])
    return [first, second] * times + [(np.eye(1), np.zeros(1))]


def drawn(seed, *widths):
    """The layers of a net with Gaussian weights and biases, of one input and one output."""
    normal = np.random.default_rng(seed).standard_normal
    sizes = (1, *widths, 1)
    return [(normal((above, below)) * (2 / below) ** 0.5, normal(above)) for below, above in pairwise(sizes)]


def naive(layers, slopes, places):
    """How often the slope changes from one place to the next, and one."""
    before = None
    count = 1
    for x in places:
        value, slope = np.array([x]), np.ones((1, 1))
        for number, (weights, biases) in enumerate(layers):
            value, slope = weights @ value + biases, weights @ slope
            if number < len(layers) - 1:
                factor = np.where(value > 0, *slopes)
                value, slope = factor * value, factor[:, None] * slope
        if before is not None and not np.allclose(slope, before, rtol=1e-9, atol=1e-12):
            count += 1
        before = slope
    return count


@pytest.mark.parametrize("times", [1, 2, 5, 8])
def test_composed_tent_maps_have_a_power_of_two_pieces(times):
    assert pieces(tent(times), RELU, 0.0, 1.0) == 2**times
    assert pieces(tent(times), RELU, -math.inf, math.inf) == 2**times + 2


@pytest.mark.parametrize("times", [1, 3])
def test_the_tent_net_starts_as_the_composition_of_tent_maps(times):
    net = catalogue.make("architectures", "tent", times=times)
    start = net.start(Streams([0, 1])("init"), 2)
    tensors = {tensor_name: torch.as_tensor(tensor) for tensor_name, tensor in start.items()}
    rows = np.random.default_rng(times).uniform(-1, 2, (2, 50, 2))
    expected = rows[:, :, 0]
    for _ in range(times):
        expected = np.where(expected < 0.5, 2 * expected, 2 - 2 * expected).clip(0)
    predictions = net.predict(tensors, DenseInstances(torch.as_tensor(rows)))
    np.testing.assert_allclose(predictions, expected, rtol=0, atol=1e-12)
    layers = [(layer.weights[0].numpy(), layer.biases[0].numpy()) for layer in net.edges(tensors, [0], MOST)]
    assert pieces(layers, RELU, -math.inf, math.inf) == 2**times + 2
    assert sum(len(weights) for weights, _ in layers) == 3 * times + 1


@pytest.mark.parametrize("slopes", [RELU, (1.0, 0.01), (math.sqrt(2), 0.0)])
@pytest.mark.slow
def test_pieces_match_a_count_along_a_fine_grid(slopes):
    for seed, widths in enumerate([(5,), (4, 4), (3, 3, 3)]):
        layers = drawn(seed, *widths)
        expected = naive(layers, slopes, np.linspace(-1, 1, 4001))
        assert pieces(layers, slopes, -1.0, 1.0) == expected


def test_one_layer_has_one_more_piece_than_units_on_the_whole_line():
    assert pieces(drawn(0, 50), RELU, -math.inf, math.inf) == 51


def test_units_without_outgoing_weights_make_no_pieces():
    weights = np.ones((2, 1)), np.array([0.0, -0.5])
    deaf = np.array([[1.0, 0.0]]), np.zeros(1)
    assert pieces([weights, deaf], RELU, -1.0, 1.0) == 2


def test_the_mean_number_of_pieces_of_one_layer_follows_the_formula():
    normal = np.random.default_rng(1).standard_normal
    switches = -normal((4000, 8)) * math.sqrt(0.5) / (normal((4000, 8)) * math.sqrt(3.0))
    for low, high in ((-1.0, 1.0), (0.0, 0.3), (-math.inf, math.inf)):
        counts = 1 + ((switches > low) & (switches < high)).sum(1)
        error = counts.std(ddof=1) / math.sqrt(len(counts))
        assert pieces_of_one_layer(8, 3.0, 0.5, low, high) == pytest.approx(
            counts.mean(), abs=4 * error + 1e-12
        )
    assert pieces_of_one_layer(8, 3.0, 0.0, -1.0, 1.0) == 9


def described(matrix, nets, *measures):
    """Nets at their start, with pictures of these measures."""
    pictures = [{"x": "step", "measure": measure} for measure in measures]
    learners = {name: gd(0.1, **net) for name, net in nets.items()}
    return parse(raw(matrix, "coin", learners, protocol="at-init", replicas=3) | {"pictures": pictures})


def test_the_measure_counts_pieces_at_the_start_and_its_lines_bind():
    nets = {"net": {**NET, "widths": [12]}, "ntk": {**NET, "widths": [12], "parametrisation": "ntk"}}
    trace = run(described(INTERVAL, nets, "pieces", {"kind": "pieces", "along": "line"}))
    net, ntk = trace.curves
    np.testing.assert_array_equal(net.values("pieces-of-line"), 13)
    assert ((net.values("pieces") >= 1) & (net.values("pieces") <= 13)).all()
    np.testing.assert_array_equal(ntk.values("pieces-of-line"), 13)
    lines = {line.kind: line for line in trace.lines if line.on_problem.holds}
    for kind in ("pieces-one-layer", "pieces-wide"):
        assert set(lines[kind].applies_to) == {"net", "ntk"}


@pytest.mark.parametrize(
    ("matrix", "words", "why"),
    [
        (INTERVAL, {**NET, "activation": "tanh"}, "σ bends only at 0"),
        ({"kind": "gaussian", "n": 1, "d": 2}, NET, "two instances"),
        (INTERVAL, {"kind": "layer-by-layer", "cw": 2, "cb": 1}, "a dense net"),
    ],
)
def test_pieces_refuses_unsupported_nets_with_a_reason(matrix, words, why):
    with pytest.raises(BadInput, match=why):
        described(matrix, {"net": words}, "pieces")


@pytest.mark.slow
def test_pieces_are_counted_on_the_line_through_the_first_two_instances():
    words = raw(
        {"kind": "gaussian", "n": 3, "d": 4},
        "zero",
        {"net": {"architecture": {**NET, "widths": [5, 4]}}},
        protocol="at-init",
        replicas=2,
    )
    words["run"]["measures"] = ["pieces", {"kind": "pieces", "along": "line"}]
    fit, data = beginning(parse(words))
    curve = run(parse(words)).curve("net")
    edges = fit.architecture.edges(fit.tensors, slice(None), MOST)
    layers = [(layer.weights.numpy(), layer.offsets.numpy()) for layer in edges]
    for replica, (first, second, _) in enumerate(data.instances.rows.numpy()):
        (weights, biases), *above = [(w[replica], b[replica]) for w, b in layers]
        along = [(weights @ (second - first)[:, None], biases + weights @ first), *above]
        assert curve.values("pieces")[0, replica] == naive(along, RELU, np.linspace(0, 1, 4001))
        assert curve.values("pieces-of-line")[0, replica] == pieces(along, RELU, -math.inf, math.inf)
