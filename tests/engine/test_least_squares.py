"""The recursion of least squares against a fresh pseudo-inverse for every k."""

import numpy as np
import pytest
import torch
from building import LLS, data_of, experiment, weights
from naive import least_squares

from engine.core import catalogue
from engine.problems.data import Data
from engine.problems.instances import DenseInstances
from engine.runtime.run import run
from engine.training import training_run

NEAR = 1e-9


def against_pinv(X, Y):
    """The largest difference over k and targets, X [n, d] and Y [n, m]."""
    labels = torch.from_numpy(np.ascontiguousarray(Y.T))
    data = Data(DenseInstances(torch.from_numpy(X[None])), labels, 1, Y.shape[1])
    fit = catalogue.make("solvers", "lls").begin(data)
    fitted_weights = [fit.weights().numpy()]
    for k in range(len(X)):
        fit.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        fitted_weights.append(fit.weights().numpy())
    truth = np.stack([least_squares(X, y) for y in Y.T], 1)
    return abs(np.stack(fitted_weights) - truth).max()


def random(seed: int, *shape: int):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("seed", range(3))
def test_least_squares_matches_the_naive_twin_on_full_rank_rows(seed):
    X = random(seed, 16, 16)
    assert against_pinv(X, X[:, :1]) <= NEAR


def test_least_squares_matches_the_naive_twin_on_fewer_rows_than_features():
    assert against_pinv(random(1, 7, 20), random(2, 7, 1)) <= NEAR


def test_least_squares_matches_the_naive_twin_on_many_noisy_rows():
    X = random(3, 40, 10)
    assert against_pinv(X, X[:, :1] + 0.5 * random(4, 40, 1)) <= NEAR


def test_least_squares_matches_the_naive_twin_on_contradicting_labels():
    X = random(5, 6, 12)[[0, 1, 0, 2, 3, 1, 1, 4, 5, 0]]
    assert against_pinv(X, random(6, 10, 1)) <= NEAR


def test_least_squares_matches_the_naive_twin_on_rows_in_a_subspace():
    X = random(7, 20, 4) @ random(8, 4, 12)
    assert against_pinv(X, random(9, 20, 1)) <= NEAR


def test_least_squares_matches_the_naive_twin_on_opposite_scaled_and_zero_rows():
    X = random(10, 4, 8)
    X = np.stack([X[0], -X[0], np.zeros(8), 3 * X[1], X[1], X[0] + X[1], X[2], X[3]])
    assert against_pinv(X, random(11, 8, 1)) <= NEAR


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_least_squares_matches_the_naive_twin_on_instances_of_any_size(size):
    X = size * random(12, 12, 8)
    assert size * against_pinv(X, random(13, 12, 1)) <= NEAR


def test_least_squares_matches_the_naive_twin_on_several_targets():
    assert against_pinv(random(14, 18, 9), random(15, 18, 5)) <= NEAR


@pytest.mark.parametrize("family", ["hadamard", "gaussian", "rademacher"])
@pytest.mark.parametrize("target", ["feature", "all"])
def test_least_squares_matches_the_naive_twin_on_replicas_and_targets(family, target):
    described = experiment(family, target, {"LLS": LLS}, d=8, replicas=3, noise=0.3, seed=20)
    lls_weights, data = weights(described), data_of(described)
    for member, labels in enumerate(data.labels.numpy()):
        X = data.instances.rows[member // data.targets].numpy()
        np.testing.assert_allclose(lls_weights[:, member], least_squares(X, labels), rtol=0, atol=NEAR)


def test_least_squares_interpolates_the_seen_rows():
    described = experiment({"kind": "gaussian", "d": 12, "n": 9}, learners={"LLS": LLS}, seed=3)
    lls_weights, data = weights(described)[:, 0], data_of(described)
    X, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
    for k in range(10):
        np.testing.assert_allclose(X[:k] @ lls_weights[k], y[:k], rtol=0, atol=1e-10)


def test_float32_experiments_are_solved_in_float64():
    words = {"matrix": {"kind": "gaussian", "d": 24}, "learners": {"LLS": LLS}, "seed": 8}
    single, double = (weights(experiment(**words, dtype=dtype)) for dtype in ("float32", "float64"))
    assert single.dtype == np.float32
    assert abs(single - double).max() < 1e-4


def fitted(solver, drawn, together):
    """Weights [B, d] after all examples, of which the solver is given `together` at a time."""
    hypothesis = solver.begin(drawn)
    for first in range(0, drawn.instances.n, together):
        block = slice(first, first + together)
        hypothesis.learn(drawn.instances.at(block), drawn.labels[:, block])
    return hypothesis.weights().numpy()


OF_MANY = {
    "fewer than features": random(20, 2, 150, 160),
    "more than features": random(21, 2, 230, 12),
    "as many as features": random(22, 2, 70, 70),
    "in a subspace": random(23, 2, 200, 4) @ random(24, 2, 4, 9),
    "repeated": random(25, 2, 30, 40)[:, [*range(30), *range(20), *range(30)]],
    "spanning in one replica only": np.stack([random(26, 150, 8), random(27, 150, 3) @ random(28, 3, 8)]),
}


@pytest.mark.parametrize("together", [1, 7, 64, 300])
@pytest.mark.parametrize("rows", OF_MANY.values(), ids=OF_MANY)
def test_blocks_of_examples_give_the_closed_form_solution(rows, together):
    replicas, n, _ = rows.shape
    labels = random(29, replicas * 3, n)
    drawn = Data(DenseInstances(torch.from_numpy(rows)), torch.from_numpy(labels), replicas, 3)
    for solver in (catalogue.make("solvers", "lls"), catalogue.make("solvers", "ridge", lam=0.5)):
        solved = fitted(solver, drawn, together).reshape(replicas, 3, -1)
        for X, Y, of_replica in zip(rows, labels.reshape(replicas, 3, n), solved, strict=True):
            inverse = np.linalg.inv(X.T @ X + 0.5 * np.eye(X.shape[1])) @ X.T
            truth = (np.linalg.pinv(X) if solver.kind == "lls" else inverse) @ Y.T
            np.testing.assert_allclose(of_replica.T, truth, rtol=0, atol=1e-9 * abs(truth).max())


@pytest.mark.parametrize("solver", ["lls", "ridge"])
def test_giving_examples_in_blocks_changes_no_weights(solver, monkeypatch):
    described = experiment(
        {"kind": "gaussian", "n": 90},
        learners={solver: {"solver": solver}},
        d=6,
        replicas=2,
        protocol={"kind": "steps", "steps": 1},
    )
    weights_by_blocks = run(described).curves[0].weights
    monkeypatch.setattr(training_run, "TOGETHER", 1)
    np.testing.assert_allclose(run(described).curves[0].weights, weights_by_blocks, rtol=0, atol=1e-6)
