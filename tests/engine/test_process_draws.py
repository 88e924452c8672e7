"""Draws of a Gaussian process that are conditioned on examples, against the exact posterior."""

import numpy as np
import pytest
import torch
from building import data_of, raw

from engine.core import catalogue
from engine.core.streams import Streams
from engine.problems.instances import DenseInstances
from engine.spec import reading

LAM, WIDTH = 0.2, 0.8


def examples(replicas):
    """The same six examples in every replica."""
    matrix = {"kind": "interval", "n": 6, "low": -1, "high": 2, "points": "spaced"}
    target = {"kind": "function", "f": "sin(2*x)"}
    described = raw(matrix, target, {"it": {"solver": "lls"}}, replicas=replicas, dtype="float64")
    return data_of(reading.parse(described))


def fitted(dataset, draws, places):
    solver = catalogue.make("solvers", "process-draws", draws=draws, lam=LAM, width=WIDTH)
    hypothesis = solver.begin(dataset, Streams(range(dataset.replicas)))
    rows = torch.as_tensor(places).expand(dataset.replicas, -1)[..., None]
    before = hypothesis.predict(DenseInstances(rows)).numpy()
    hypothesis.learn(dataset.instances, dataset.labels)
    return before, hypothesis.predict(DenseInstances(rows)).numpy()


def rbf(rows, other_rows):
    return np.exp(-((rows[:, None] - other_rows) ** 2) / (2 * WIDTH**2))


def posterior(dataset, places):
    """Mean [n] and covariance [n, n]."""
    x, y = dataset.instances.rows[0, :, 0].numpy(), dataset.labels[0].numpy()
    gain = rbf(places, x) @ np.linalg.inv(rbf(x, x) + LAM * np.eye(len(x)))
    return gain @ y, rbf(places, places) - gain @ rbf(x, places)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [1, 3])
def test_draws_have_the_mean_and_covariance_of_prior_and_posterior(draws):
    dataset, places = examples(4000), np.array([-1.5, 0.1, 0.7, 3.0])
    before, after = fitted(dataset, draws, places)
    mean, covariance = posterior(dataset, places)
    for drawn, expected, spread in ((before, 0 * mean, rbf(places, places)), (after, mean, covariance)):
        spread = spread / draws
        sizes = np.sqrt(np.diag(spread))
        assert (abs(drawn.mean(0) - expected) < 4.5 * sizes / np.sqrt(4000)).all()
        errors = np.sqrt((np.outer(sizes, sizes) ** 2 + spread**2) / 4000)
        assert (abs(np.cov(drawn.T) - spread) < 4.5 * errors).all()


def test_the_mean_of_many_draws_is_kernel_ridge_regression():
    dataset, places = examples(1), np.linspace(-1, 2, 31)
    mean, covariance = posterior(dataset, places)
    _, after = fitted(dataset, 100_000, places)
    assert (abs(after[0] - mean) < 4.5 * np.sqrt(np.diag(covariance) / 100_000)).all()
