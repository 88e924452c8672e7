"""Changes of kernels and movements of features, against numerical derivatives of a loop over layers."""

import numpy as np
import pytest
from building import data_of, experiment, gd

from engine.core.streams import Streams
from engine.runtime.run import run

N, D, WIDTH, STEPS, RATE = 3, 4, 5, 3, 0.2
NUDGE = 1e-5


def signals(tensors, x):
    """The activities of every layer for an input; the last is the prediction."""
    activities, count = [x], sum(tensor_name.startswith("W") for tensor_name in tensors)
    for number in range(1, count + 1):
        z = tensors.get(f"m{number}", 1.0) * tensors[f"W{number}"] @ activities[-1]
        activities.append(z if number == count else np.tanh(z))
    return activities[1:]


def tangents(tensors, x, factors):
    """∂ŷ/∂W of every weight times the root of the factor of its rate, by central differences."""
    slopes = []
    for tensor_name, factor in factors.items():
        for place in np.ndindex(tensors[tensor_name].shape):
            ends = []
            for sign in (1, -1):
                nudged = tensors[tensor_name].copy()
                nudged[place] += sign * NUDGE
                ends.append(signals({**tensors, tensor_name: nudged}, x)[-1].item())
            slopes.append(np.sqrt(factor) * (ends[0] - ends[1]) / (2 * NUDGE))
    return np.array(slopes)


def stepped(tensors, factors, rows, labels):
    """The tensors after gradient descent on the mean squared error."""
    for _ in range(STEPS):
        gradient = 0.0
        for x, y in zip(rows, labels, strict=True):
            gradient += 2 / N * (signals(tensors, x)[-1].item() - y) * tangents(tensors, x, factors)
        moved, first = dict(tensors), 0
        for tensor_name, factor in factors.items():
            step = gradient[first : first + tensors[tensor_name].size].reshape(tensors[tensor_name].shape)
            moved[tensor_name] = tensors[tensor_name] - RATE * np.sqrt(factor) * step
            first += tensors[tensor_name].size
        tensors = moved
    return tensors


def before_and_after(measure, parametrisation, widths):
    """The measure at the last record [R, …], and for every replica the tensors before and after, and rows."""
    net = {"kind": "dense", "widths": widths, "activation": "tanh", "cw": 1.5}
    learners = {"it": gd(RATE, **net, parametrisation=parametrisation)}
    settings = {
        "protocol": {"kind": "steps", "steps": STEPS, "records": 1},
        "measures": [measure],
        "replicas": 2,
        "dtype": "float64",
    }
    described = experiment({"kind": "gaussian", "n": N}, "coin", learners, d=D, **settings)
    curve, drawn = run(described).curves[0], data_of(described)
    architecture = described.learners[0].architecture
    factors, starts = architecture.layout(D).rate_factors, architecture.start(Streams([0, 1])("init"), D)
    pairs = []
    for replica in range(2):
        tensors = {
            tensor_name: tensor[replica].item() if tensor_name.startswith("m") else tensor[replica]
            for tensor_name, tensor in starts.items()
        }
        rows, labels = drawn.instances.rows[replica].numpy(), drawn.labels[replica].numpy()
        pairs.append((tensors, stepped(tensors, factors, rows, labels), rows, factors))
    (recorded,) = described.run.measures
    numbers, indexed = curve.values(recorded.name), curve.array(recorded.name)
    return (numbers if indexed is None else indexed.values)[-1], pairs


NETS = [("ntk", [WIDTH]), ("mean-field", [WIDTH]), ("mup", [WIDTH, WIDTH - 1]), ("standard", [WIDTH])]


@pytest.mark.parametrize(("parametrisation", "widths"), NETS)
def test_the_tangent_kernel_change_matches_numerical_derivatives(parametrisation, widths):
    changes, pairs = before_and_after({"kind": "kernel-change"}, parametrisation, widths)
    for change, (before, after, rows, factors) in zip(changes, pairs, strict=True):
        kernels = []
        for tensors in (before, after):
            jacobian = np.array([tangents(tensors, x, factors) for x in rows])
            kernels.append(jacobian @ jacobian.T)
        expected = np.linalg.norm(kernels[1] - kernels[0]) / np.linalg.norm(kernels[0])
        assert change == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("parametrisation", "widths"), NETS)
def test_the_feature_kernel_change_uses_the_last_hidden_layer(parametrisation, widths):
    changes, pairs = before_and_after({"kind": "kernel-change", "of": "features"}, parametrisation, widths)
    for change, (before, after, rows, _) in zip(changes, pairs, strict=True):
        kernels = []
        for tensors in (before, after):
            features = np.array([signals(tensors, x)[-2] for x in rows])
            kernels.append(features @ features.T / features.shape[1])
        expected = np.linalg.norm(kernels[1] - kernels[0]) / np.linalg.norm(kernels[0])
        assert change == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("parametrisation", "widths"), NETS)
def test_feature_movement_is_the_rms_activation_change_of_each_hidden_layer(parametrisation, widths):
    movements, pairs = before_and_after({"kind": "feature-movement"}, parametrisation, widths)
    for of_layers, (before, after, rows, _) in zip(movements, pairs, strict=True):
        for layer, movement in enumerate(of_layers):
            moved = [signals(after, x)[layer] - signals(before, x)[layer] for x in rows]
            assert movement == pytest.approx(np.sqrt(np.mean(np.square(moved))), rel=1e-6)
