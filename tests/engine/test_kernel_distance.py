"""Distances of kernels and of units from their start, against loops over units and quadrature."""

import numpy as np
import pytest
from building import data_of, experiment, gd

from engine.core import catalogue
from engine.core.streams import Streams
from engine.runtime.run import run

N, D, WIDTH = 3, 4, 5
STEPS = {"kind": "steps", "steps": 3, "records": 1}


def trained(kind, protocol=STEPS, **words):
    """A measure at the last record [R], the starts, the weights after the steps, and the rows."""
    net = {"kind": "dense", "widths": [WIDTH], "activation": "tanh", "cw": 1.5, **words}
    learners = {"it": {**gd(0.2, **net), "layer_rates": {"W2": 0.0}}}
    settings = {"protocol": protocol, "measures": [kind], "replicas": 2, "dtype": "float64"}
    described = experiment({"kind": "gaussian", "n": N}, "coin", learners, d=D, **settings)
    curve, drawn = run(described).curves[0], data_of(described)
    start = described.learners[0].architecture.start(Streams([0, 1])("init"), D)
    (measure,) = described.run.measures
    rows, labels = drawn.instances.rows.double().numpy(), drawn.labels.double().numpy()
    return curve.values(measure.name)[-1], start, after_steps(start, rows, labels), rows


def layers(start, replica):
    """The factor of the first layer, its weights, and the output weights with their factor."""
    factors = [start[f"m{number}"][replica].item() if f"m{number}" in start else 1.0 for number in (1, 2)]
    return factors[0], start["W1"][replica], factors[1] * start["W2"][replica][0]


def after_steps(start, rows, labels):
    """First-layer weights after gradient descent on the mean squared error, replica by replica."""
    moved = []
    for replica in range(2):
        factor, weights, outputs = layers(start, replica)
        for _ in range(STEPS["steps"]):
            gradient = np.zeros_like(weights)
            for x, y in zip(rows[replica], labels[replica], strict=True):
                hidden = np.tanh(factor * weights @ x)
                error = outputs @ hidden - y
                gradient += 2 * error / N * np.outer(outputs * (1 - hidden**2), factor * x)
            weights = weights - 0.2 * gradient
        moved.append(weights)
    return moved


def kernel(factor, weights, outputs, rows):
    """K_ij = Σ_k (a_k σ′(w_k·x_i) factor x_i)·(a_k σ′(w_k·x_j) factor x_j)."""
    slopes = 1 - np.tanh(factor * rows @ weights.T) ** 2
    gradients = [np.outer(outputs * slope, factor * x).ravel() for slope, x in zip(slopes, rows, strict=True)]
    return np.array(gradients) @ np.array(gradients).T


@pytest.mark.parametrize("parametrisation", ["standard", "ntk"])
def test_kernel_distance_matches_loops_over_rows(parametrisation):
    distances, start, moved, rows = trained({"kind": "kernel-distance"}, parametrisation=parametrisation)
    for replica in range(2):
        factor, weights, outputs = layers(start, replica)
        before, after = (kernel(factor, w, outputs, rows[replica]) for w in (weights, moved[replica]))
        assert distances[replica] == pytest.approx(np.linalg.norm(after - before, 2), rel=1e-9)


def test_unit_movement_is_the_largest_weight_change_of_a_unit():
    distances, start, moved, _ = trained({"kind": "unit-movement"}, parametrisation="ntk")
    lengths = [np.linalg.norm(moved[replica] - start["W1"][replica], axis=1).max() for replica in range(2)]
    np.testing.assert_allclose(distances, lengths, rtol=1e-9)


@pytest.mark.parametrize("words", [
    {},
    {"cb": 0.3, "parametrisation": "ntk"},
    {"parametrisation": "ntk", "output_signs": True},
])  # fmt: skip
def test_the_mean_kernel_matches_quadrature(words):
    described = {"kind": "kernel-distance", "to": "mean"}
    distances, start, _, rows = trained(described, {"kind": "at-init"}, **words)
    nodes = np.linspace(-9, 9, 401)
    density = np.exp(-(nodes**2) / 2)
    grid, weights = np.meshgrid(nodes, nodes), np.outer(density, density) / density.sum() ** 2
    for replica in range(2):
        factor, first, outputs = layers(start, replica)
        biases = start["b1"][replica, :, 0] if "b1" in start else np.zeros(WIDTH)
        slopes = 1 - np.tanh(factor * rows[replica] @ first.T + biases) ** 2
        inner = factor**2 * rows[replica] @ rows[replica].T
        covariance = words.get("cb", 0.0) + 1.5 / D * rows[replica] @ rows[replica].T
        mean = np.zeros((N, N))
        for i, j in np.ndindex(N, N):
            ratio = covariance[i, j] / covariance[i, i]
            rest = np.sqrt(max(covariance[j, j] - ratio * covariance[i, j], 0.0))
            u = np.sqrt(covariance[i, i]) * grid[0]
            v = ratio * u + rest * grid[1]
            mean[i, j] = (weights * (1 - np.tanh(u) ** 2) * (1 - np.tanh(v) ** 2)).sum()
        now = inner * np.einsum("ik,jk,k->ij", slopes, slopes, outputs**2)
        expected = np.linalg.norm(now - inner * mean * np.square(outputs).sum(), 2)
        assert distances[replica] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("measure", "architecture", "reason"), [
    ({"kind": "kernel-distance"}, {"kind": "spindly"}, "a dense net"),
    ({"kind": "kernel-distance", "to": "mean"}, {"kind": "dense", "widths": [2, 2]}, "one hidden layer"),
    ({"kind": "kernel-distance", "to": "mean"}, {"kind": "dense", "init": "orthogonal"}, "Gaussian start"),
    ({"kind": "unit-movement"}, {"kind": "linear"}, "a dense net"),
])  # fmt: skip
def test_distances_refuse_unsupported_learners_with_a_reason(measure, architecture, reason):
    described = experiment("gaussian", "coin", {"it": gd(0.1, **architecture)}, d=4)
    settings = {name: setting for name, setting in measure.items() if name != "kind"}
    needed = catalogue.make("measures", measure["kind"], **settings)
    assert reason in needed.refuses(described.learners[0], described.problem)
