"""Least squares with a net: its derivatives, that a fit is a stationary point, and when labels are fitted."""

import math

import numpy as np
import pytest
from building import beginning, experiment

from engine.core import catalogue
from engine.solvers.net_least_squares import jacobian, outputs


def draw(n, d, seed=0):
    draws = np.random.default_rng(seed)
    return draws.standard_normal((n, d)), draws.choice([-1.0, 1.0], n)


def naive(net, x):
    """Σ_j v_j ln(1 + e^(w_j·x)) of units (v, w) for one instance."""
    units = [net[place : place + len(x) + 1] for place in range(0, len(net), len(x) + 1)]
    inside = (sum(a * b for a, b in zip(w, x, strict=True)) for _, *w in units)
    return sum(unit[0] * math.log1p(math.exp(signal)) for unit, signal in zip(units, inside, strict=True))


def test_outputs_and_derivatives_match_the_formula():
    X, _ = draw(4, 3)
    net = np.random.default_rng(1).standard_normal(2 * 4)
    np.testing.assert_allclose(outputs(net, X), [naive(net.tolist(), x.tolist()) for x in X], rtol=1e-12)
    step = 1e-6
    for place, column in enumerate(jacobian(net, X).T):
        up, down = net.copy(), net.copy()
        up[place], down[place] = net[place] + step, net[place] - step
        np.testing.assert_allclose((outputs(up, X) - outputs(down, X)) / (2 * step), column, atol=1e-8)


@pytest.mark.parametrize(("units", "fitted"), [(1, False), (3, True)])
@pytest.mark.slow
def test_labels_are_fitted_if_the_net_has_enough_parameters(units, fitted):
    X, y = draw(8, 3, 2)
    net = catalogue.make("solvers", "net-least-squares", units=units).fit(X, y)
    residual = outputs(net, X) - y
    assert ((residual**2).mean() < 1e-20) == fitted
    assert abs(jacobian(net, X).T @ residual).max() < 1e-5


@pytest.mark.slow
def test_more_starts_never_increase_the_loss():
    X, y = draw(10, 2, 3)

    def loss(starts):
        solver = catalogue.make("solvers", "net-least-squares", units=2, starts=starts)
        return ((outputs(solver.fit(X, y), X) - y) ** 2).mean()

    losses = [loss(starts) for starts in (1, 3, 6)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1]


@pytest.mark.slow
def test_each_replica_and_target_has_its_own_fitted_net():
    learners = {"it": {"solver": {"kind": "net-least-squares", "units": 2, "starts": 2}}}
    described = experiment({"kind": "gaussian", "n": 5, "d": 3}, "all", learners=learners, replicas=2)
    hypothesis, data = beginning(described)
    assert not hypothesis.predict(data.instances).any()
    hypothesis.learn(data.instances, data.labels)
    net_predictions = hypothesis.predict(data.instances).numpy().reshape(2, 3, 5)
    for rows, labels, predicted in zip(
        data.instances.rows.numpy(), data.labels.numpy().reshape(2, 3, 5), net_predictions, strict=True
    ):
        for y, predictions_of_net in zip(labels, predicted, strict=True):
            net = described.learners[0].solver.fit(rows, y)
            np.testing.assert_allclose(predictions_of_net, outputs(net, rows), rtol=1e-9, atol=1e-12)
