"""Quadratic models: where their flow ends, against an integration that shares no formula with the engine."""

import numpy as np
import pytest
import torch
from building import experiment
from scipy.integrate import quad_vec, solve_ivp

from engine.core import catalogue
from engine.core.streams import Streams
from engine.formulas.quadratic_model import first_correction, linear_limit, modes
from engine.runtime.run import run

SIZE, ROWS = 30, 6


def drawn(seed=0):
    """Φ [P, n], Ψ [n, P, P] and y [n] of theory/curvature#quadratic-models."""
    g = np.random.default_rng(seed)
    features = g.standard_normal((SIZE, ROWS)) / np.sqrt(SIZE)
    matrices = g.standard_normal((ROWS, SIZE, SIZE)) / np.sqrt(SIZE)
    return features, (matrices + matrices.swapaxes(1, 2)) / 2, g.standard_normal(ROWS)


def flow(features, matrices, labels, epsilon, time=400.0):
    """θ after gradient flow on ½ Σ r² from 0."""

    def velocity(_, theta):
        moved = matrices @ theta
        residual = features.T @ theta + epsilon / 2 * moved @ theta - labels
        return -(features + epsilon * moved.T) @ residual

    start = np.zeros(len(features))
    return solve_ivp(velocity, (0, time), start, "LSODA", rtol=1e-10, atol=1e-12).y[:, -1]


def predicted(features, matrices, labels):
    """θ^F and θ^I by the engine."""
    linear = modes(features[None])
    return linear_limit(linear, labels[None])[0], first_correction(linear, matrices[None], labels[None])[0]


@pytest.mark.parametrize(
    ("epsilon", "on_span", "off_span"), [(0.1, 4.40, 2.18), (0.05, 4.84, None), (0.0125, 5.14, 2.43)]
)
def test_the_flow_has_the_printed_numbers(epsilon, on_span, off_span):
    features, matrices, labels = drawn()
    theta, (limit, correction) = flow(features, matrices, labels, epsilon), predicted(*drawn())
    span = features @ np.linalg.pinv(features)
    error = span @ (theta - limit - epsilon * correction)
    assert np.linalg.norm(error) / epsilon**2 == pytest.approx(on_span, abs=0.006)
    if off_span is not None:
        assert np.linalg.norm(theta - span @ theta) / epsilon == pytest.approx(off_span, abs=0.006)


def test_the_first_correction_is_the_derivative_of_the_limit():
    features, matrices, labels = drawn(1)
    ends = [flow(features, matrices, labels, epsilon) for epsilon in (-1e-4, 1e-4)]
    limit, correction = predicted(features, matrices, labels)
    np.testing.assert_allclose((ends[0] + ends[1]) / 2, limit, rtol=0, atol=1e-6)
    np.testing.assert_allclose((ends[1] - ends[0]) / 2e-4, correction, rtol=0, atol=3e-5)


def test_the_correction_outside_the_span_integrates_along_the_linear_flow():
    features, matrices, labels = drawn(2)
    kernel = features.T @ features
    rates, vectors = np.linalg.eigh(kernel)

    def push(time):
        residual = vectors @ (np.exp(-rates * time) * (vectors.T @ labels))
        theta = features @ np.linalg.solve(kernel, labels - residual)
        return np.einsum("a,apq,q->p", residual, matrices, theta)

    integral = quad_vec(push, 0, 400, epsrel=1e-10)[0]
    outside = np.eye(SIZE) - features @ np.linalg.pinv(features)
    correction = predicted(features, matrices, labels)[1]
    np.testing.assert_allclose(outside @ correction, outside @ integral, rtol=0, atol=1e-8)


def test_a_repeated_row_does_not_change_the_limit():
    features, matrices, labels = drawn(3)
    twice = [0, 1, 2, 3, 4, 5, 0]
    again = predicted(features[:, twice], matrices[twice], labels[twice])
    np.testing.assert_allclose(predicted(features, matrices, labels)[0], again[0], rtol=0, atol=1e-12)


def test_the_model_is_a_linear_plus_a_quadratic_form():
    net = catalogue.make("architectures", "quadratic", epsilon=0.4, parameters=4)
    start = net.start(Streams([0, 1])("init"), 3)
    tensors = {tensor_name: torch.as_tensor(tensor) for tensor_name, tensor in start.items()}
    assert (tensors["theta"] == 0).all()
    theta = torch.linspace(-1, 1, 8, dtype=torch.float64).view(2, 4)
    weights = net.weights({**tensors, "theta": theta}).numpy()
    for member in range(2):
        for feature in range(3):
            matrix, vector = start["Psi"][member, feature], theta[member].numpy()
            np.testing.assert_array_equal(matrix, matrix.T)
            linear = start["Phi"][member, :, feature] @ vector
            weight = linear + 0.2 * vector @ matrix @ vector
            assert weights[member, feature] == pytest.approx(weight / np.sqrt(3), rel=1e-13)


@pytest.mark.parametrize("part", ["span", "off-span", "features"])
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.slow
def test_perturbation_error_matches_the_flow(part, corrected):
    features, matrices, labels = drawn()
    learner = {
        "architecture": {"kind": "quadratic", "epsilon": 0.1, "parameters": SIZE},
        "update": {"kind": "gd", "lr": 1},
        "start_seed": [0],
    }
    measure = {"kind": "perturbation-error", "part": part, "corrected": corrected}
    described = experiment(
        {"kind": "orthogonal", "permute": False, "row_signs": False},
        {"kind": "weights", "w": (labels / np.sqrt(ROWS)).tolist()},
        {"it": learner},
        d=ROWS,
        dtype="float64",
        protocol={"kind": "flow", "time": 300, "records": 1, "rtol": 1e-9, "atol": 1e-11},
        measures=[measure],
    )
    limit, correction = predicted(features, matrices, labels)
    missed = flow(features, matrices, labels, 0.1) - limit - 0.1 * corrected * correction
    on_span = features @ np.linalg.pinv(features) @ missed
    if part == "features":
        expected = np.linalg.norm(matrices @ missed) / np.linalg.norm(matrices @ limit)
    else:
        expected = np.linalg.norm(on_span if part == "span" else missed - on_span)
    (curve,) = run(described).curves
    name = f"{part}-error{'-corrected' if corrected else ''}"
    assert curve.mean(name)[-1] == pytest.approx(expected, rel=1e-5)
