"""Implicit bias of rules: their steps against definitions, and the solutions they tend to."""

import math

import numpy as np
import pytest
import torch
from building import experiment, gd, raw
from scipy.optimize import minimize, nnls

from engine.core.cost import Logarithm
from engine.core.parts import BadInput
from engine.losses.exponential import Exponential
from engine.losses.logistic import Logistic
from engine.pictures.view import index_at
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.solvers.lp_margin import shortest
from engine.solvers.min_divergence import Entropy, Power, nearest
from engine.solvers.min_q import Path
from engine.spec import reading

SEPARABLE = {
    "matrix": {"kind": "gaussian", "n": 8, "d": 16},
    "target": "coin",
    "streams": "single",
    "seed": 0,
}
FITTED = {
    "matrix": {"kind": "gaussian", "n": 10, "d": 30},
    "target": {"kind": "weights", "w": [1, 0.5, 0.8]},
    "streams": "single",
    "seed": 0,
}


def separable():
    numbers = np.random.default_rng(0)
    return numbers.standard_normal((8, 16)), np.where(numbers.random(8) < 0.5, 1.0, -1.0)


def fitted():
    X = np.random.default_rng(0).standard_normal((10, 30))
    return X, X[:, :3] @ [1, 0.5, 0.8]


def final(described):
    """The weights of the only learner in the end."""
    return run(described).curves[0].weights[-1]


def coordinates(lr=0.05, **protocol):
    learner = {"architecture": "linear", "update": {"kind": "coordinate", "lr": lr}}
    words = {"kind": "steps", "loss": "exponential", "log_loss": True, "steps": 40, **protocol}
    return experiment(**SEPARABLE, learners={"it": learner}, protocol=words)


def test_coordinate_descent_is_adaboost_with_shrinkage():
    X, y = separable()
    shares, w = np.full(8, 1 / 8), np.zeros(16)
    for _ in range(40):  # features are the weak learners, and shares are the weights of the examples
        edges = [
            sum(D * label * row[j] for D, label, row in zip(shares, y, X, strict=True)) for j in range(16)
        ]
        best = max(range(16), key=lambda j: abs(edges[j]))
        step = 0.05 * edges[best]
        w[best] += step
        shares = shares * np.exp(-step * y * X[:, best])
        shares /= shares.sum()
    np.testing.assert_allclose(final(coordinates()), w, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("loss", [Exponential(), Logistic()])
@pytest.mark.slow
def test_slopes_of_the_log_loss_match_autograd(loss):
    predictions = torch.tensor([[0.3, -1.2, 2.0], [0.1, 0.2, -0.3]], dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[1.0, -1.0, 1.0]], dtype=torch.float64).expand(2, -1)
    loss.value(predictions, labels).mean(1).log().sum().backward()
    slope = Logarithm(loss).slope(predictions.detach(), labels) / 3  # of the mean over rows
    torch.testing.assert_close(slope, predictions.grad, rtol=1e-12, atol=0)


def test_the_log_loss_has_finite_slopes_if_the_loss_underflows():
    margins = torch.tensor([[900.0, 901.0]], dtype=torch.float64)
    labels = torch.ones_like(margins)
    assert Exponential().average(margins, labels) == 0
    slope = Logarithm(Exponential()).slope(margins, labels)
    expected = -2 / (1 + math.exp(-1)) * np.array([[1, math.exp(-1)]])
    np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-12)


def test_steepest_sign_descent_moves_all_weights_by_the_mean_size_of_gradients():
    learner = {"architecture": "linear", "update": {"kind": "sign", "lr": 0.1, "steepest": True}}
    described = experiment(**FITTED, learners={"it": learner}, protocol={"kind": "steps", "steps": 1})
    X, y = fitted()
    gradient = -2 / 10 * X.T @ y
    expected = -0.1 * np.abs(gradient).mean() * np.sign(gradient)
    np.testing.assert_allclose(final(described), expected, rtol=1e-10)


def test_log_loss_runs_do_not_count_as_full_batch():
    plain, log = (coordinates(log_loss=log).protocol.schedule() for log in (False, True))
    assert plain.full_batch
    assert not plain.of_logarithm
    assert log.of_logarithm
    assert not log.full_batch


PAGE = {"1": 2.223350, "max": 0.297433, "fourier": 2.331353}


@pytest.mark.parametrize(("q", "norm"), PAGE.items(), ids=PAGE)
def test_largest_margins_have_the_printed_least_norms(q, norm):
    X, y = separable()
    w = shortest(X, y, q)
    assert (y * (X @ w)).min() >= 1 - 1e-8
    lengths = {"1": np.abs(w).sum(), "max": np.abs(w).max(), "fourier": np.abs(np.fft.fft(w)).sum() / 4}
    assert lengths[q] == pytest.approx(norm, abs=5e-7)


@pytest.mark.parametrize("q", PAGE)
def test_inseparable_labels_have_no_largest_margin(q):
    X = np.array([[1.0, 2.0, 0.0], [-1.0, -2.0, 0.0]])
    assert np.isnan(shortest(X, np.ones(2), q)).all()


@pytest.mark.parametrize("p", [3, 2 * math.log(30)])
def test_the_limit_of_p_norm_rules_has_the_least_norm(p):
    X, y = fitted()
    w, q = nearest(X, y, Power(p)), p / (p - 1)
    np.testing.assert_allclose(X @ w, y, atol=1e-9)
    null = np.linalg.svd(X)[2][10:]
    tried = minimize(lambda z: np.linalg.norm(w + z @ null, q), np.zeros(20), method="BFGS")
    assert np.linalg.norm(w, q) <= tried.fun * (1 + 1e-9)
    assert np.abs(w).sum() == pytest.approx({3: 2.54167}.get(p, 2.25342), abs=5e-6)


def test_the_least_relative_entropy_fit_is_stationary():
    X, y = fitted()
    w = nearest(X, y, Entropy(1 / 30))
    assert (w > 0).all()
    np.testing.assert_allclose(X @ w, y, atol=1e-9)
    logarithms = np.log(30 * w)  # in the span of the instances
    np.testing.assert_allclose(X.T @ np.linalg.lstsq(X.T, logarithms)[0], logarithms, atol=1e-9)


def distances(learner, steps=400, **more):
    document = raw(
        **FITTED, learners={"it": learner}, protocol={"kind": "steps", "steps": steps, "records": 20}
    )
    document["pictures"] = [{"x": "loss", "measure": "distance", **more}]
    described = reading.parse(document)
    trace = run(described)
    return view(described.pictures[0], of_one(described, trace)).curves[0], trace.curves[0], described


@pytest.mark.parametrize("seed", range(6))
def test_contradicting_labels_are_fitted_like_nonnegative_least_squares(seed):
    random = np.random.default_rng(seed)
    columns = random.choice([-1.0, 1.0], (20, 24))
    X, y = np.hstack([columns, -columns[:, :12], columns[:, :6]]), random.choice([-1.0, 1.0], 20)
    w = nearest(X, y, Entropy(1 / X.shape[1]))
    assert (w >= 0).all()
    assert np.linalg.norm(X @ w - y) == pytest.approx(nnls(X, y)[1], rel=1e-9, abs=1e-9)


def test_distance_is_measured_to_the_solution_nearest_the_start():
    start = {"architecture": {"kind": "neuron", "activation": "identity", "init": "gaussian", "scale": 5}}
    learner = {**start, "update": {"kind": "gd", "lr": 0.05}, "tends_to": "lls"}
    curve, _, described = distances(learner)
    (first, *_, last) = run(described).curves[0].weights
    X, y = fitted()
    limit = first + np.linalg.pinv(X) @ (y - X @ first)
    expected = np.linalg.norm(first - limit) / np.linalg.norm(limit)
    assert curve.y[0] == pytest.approx(expected, rel=1e-9)
    assert curve.y[-1] == pytest.approx(np.linalg.norm(last - limit) / np.linalg.norm(limit), abs=1e-12)


def test_index_at_finds_the_first_record_that_reaches_a_loss():
    curve, run_of_it, _ = distances({**gd(0.05), "tends_to": "lls"})
    losses = run_of_it.mean("loss")
    np.testing.assert_array_equal(curve.x, losses)
    assert index_at(curve, 1e-3) == np.flatnonzero(losses <= 1e-3)[0]
    assert index_at(curve, 2 * losses[0]) is None
    assert index_at(curve, losses[-1] / 2) is None


def test_a_picture_along_the_loss_cannot_be_relative_to_a_learner():
    with pytest.raises(BadInput, match="learners have different values"):
        distances({**gd(0.05), "tends_to": "lls"}, relative="it")


def test_distance_and_norm_ratio_compare_a_solver_with_its_limit():
    learner = {"solver": {"kind": "min-q", "alpha": 1}, "tends_to": "lls"}
    document = raw(**FITTED, learners={"it": learner}, protocol="at-init")
    document["pictures"] = [{"x": "k", "measure": "distance"}, {"x": "k", "measure": "norm-ratio"}]
    curve, (X, y) = run(reading.parse(document)).curves[0], fitted()
    w, least = Path(X, y, 2, np.ones(30)).at(1.0), np.linalg.pinv(X) @ y
    length = np.linalg.norm(least)
    assert curve.mean("distance")[-1] == pytest.approx(np.linalg.norm(w - least) / length, rel=1e-9)
    assert curve.mean("norm-ratio")[-1] == pytest.approx(np.linalg.norm(w) / length, rel=1e-12)


@pytest.mark.slow
def test_norm_ratio_compares_the_margin_with_the_largest_margin():
    learner = {"architecture": "linear", "update": {"kind": "coordinate", "lr": 0.05}}
    learner["tends_to"] = {"kind": "lp-margin", "q": "1"}
    words = {"kind": "steps", "loss": "exponential", "log_loss": True, "steps": 400, "records": 2}
    document = raw(**SEPARABLE, learners={"it": learner}, protocol=words)
    document["pictures"] = [{"x": "functional_margin", "measure": "norm-ratio"}]
    described = reading.parse(document)
    curve = run(described).curves[0]
    (X, y), w = separable(), final(described)
    least = (y * (X @ w)).min()
    assert curve.mean("functional-margin")[-1] == pytest.approx(least)
    assert curve.mean("norm-ratio")[-1] == pytest.approx(np.abs(w).sum() / least / 2.223350, abs=1e-6)
    assert np.isnan(curve.mean("norm-ratio")[0])


@pytest.mark.slow
def test_the_kkt_angle_matches_its_formula_and_is_small_after_training():
    learner = {"architecture": "linear", "update": {"kind": "gd", "lr": 0.1}}
    words = {"kind": "steps", "loss": "exponential", "log_loss": True, "steps": 2000, "records": 1}
    document = raw(**SEPARABLE, learners={"it": learner}, protocol=words)
    document["pictures"] = [{"x": "step", "measure": "kkt-angle"}]
    described = reading.parse(document)
    w, (X, y) = final(described), separable()
    margins = y * (X @ w)
    shares = np.exp(-(margins - margins.min()))
    against = (shares * y) @ X
    expected = 1 - w @ against / np.linalg.norm(w) / np.linalg.norm(against)
    assert 0 < expected < 1e-3
    assert run(described).curves[0].mean("kkt-angle")[-1] == pytest.approx(expected, rel=1e-6)


REFUSED = {
    "an untrained net tends to nothing": (
        {"architecture": "linear", "tends_to": "lls"},
        "for learners with an update rule or a solver",
    ),
    "margins need signs": ({**gd(0.1), "tends_to": "max-margin"}, "needs labels"),
}


@pytest.mark.parametrize(("learner", "why"), REFUSED.values(), ids=REFUSED)
def test_an_impossible_limit_of_a_learner_is_refused(learner, why):
    with pytest.raises(BadInput, match=why):
        experiment(**FITTED, learners={"it": learner})
