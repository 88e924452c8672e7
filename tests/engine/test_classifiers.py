"""Solvers that classify: logistic regression with a penalty, largest margin, perceptron and Hebb's rule."""

import math

import numpy as np
import pytest
import torch
from building import beginning, experiment, weights
from looping import looped
from naive import hold_out, length, logistic_objective, perceptron, sylvester, widest_margin
from test_solvers import as_data, dependent

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.formulas.teacher_student import hebb, max_margin, ridge
from engine.runtime.run import run
from engine.solvers import l1_logistic, l2_logistic
from engine.solvers.max_margin import widest


def examples(seed, k, d, noise=0.0):
    """Instances [k, d] and labels ±1 of the first feature, some of them wrong by noise."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((k, d))
    return X, np.where(X[:, 0] + noise * draws.standard_normal(k) < 0, -1.0, 1.0)


SHAPES = {
    "fewer than features": examples(0, 5, 9),
    "more than features": examples(1, 30, 4),
    "not separable": examples(2, 25, 3, noise=2.0),
    "dependent": (dependent(3), np.array([1.0, -1, 1, 1, 1, -1, 1, 1, -1, 1])),
    "one": examples(4, 1, 3),
    "all of one class": (examples(5, 8, 5)[0], np.ones(8)),
}
by_shape = looped(("X", "y"), SHAPES.values(), ids=SHAPES)
by_strength = looped("C", [1e-6, 0.03, 1.0, 100.0, 1e6])


def solve(kind, X, y, **words):
    """The weights of a solver after all examples."""
    data = as_data(X, y[:, None])
    fit = catalogue.make("solvers", kind, **words).begin(data)
    fit.learn(data.instances, data.labels)
    return fit.weights().numpy()[0]


def slope(X, y, w):
    """−∇ Σ_j ln(1 + e^(−y_j x_jᵀw)), example by example."""
    return sum(label * x / (1 + np.exp(min(label * (x @ w), 700.0))) for x, label in zip(X, y, strict=True))


@by_shape
@by_strength
@pytest.mark.slow
def test_l2_logistic_satisfies_its_stationarity_condition(X, y, C):
    w = solve("l2-logistic", X, y, C=C)
    scale = max(abs(C * slope(X, y, 0 * w)).max(), 1e-300)
    np.testing.assert_allclose(C * slope(X, y, w) / scale, w / scale, rtol=0, atol=1e-6)


@by_shape
@by_strength
def test_l1_logistic_satisfies_its_subgradient_condition(X, y, C):
    w = solve("l1-logistic", X, y, C=C)
    slopes, scale = C * slope(X, y, w), max(1.0, abs(C * slope(X, y, 0 * w)).max())
    on = w != 0
    assert abs(slopes[on] - np.sign(w[on])).max(initial=0.0) <= 1e-3 * scale
    assert abs(slopes).max() <= 1 + 1e-3 * scale
    if C == 1e-6:
        assert not on.any()


@pytest.mark.parametrize(("kind", "p"), [("l1-logistic", "1"), ("l2-logistic", "2")])
def test_logistic_solvers_minimise_the_penalised_and_the_constrained_objective(kind, p):
    X, y = examples(6, 20, 3, noise=0.5)

    def penalty(w):
        return length(w, p) if p == "1" else length(w, p) ** 2 / 2

    w, draws = solve(kind, X, y, C=2.0), np.random.default_rng(7)
    least = logistic_objective(X, y, w, 2.0, penalty(w))
    for _ in range(200):
        other = w + draws.standard_normal(3) * 10 ** draws.uniform(-4, 0)
        assert logistic_objective(X, y, other, 2.0, penalty(other)) >= least * (1 - 1e-9)
        inside = other * min(1.0, length(w, p) / length(other, p))
        assert logistic_objective(X, y, inside, 1.0, 0.0) >= logistic_objective(X, y, w, 1.0, 0.0) * (
            1 - 1e-6
        )


@pytest.mark.parametrize(
    ("kind", "fitted", "strengths"),
    [
        ("l1-logistic", l1_logistic.fitted, [0.1, 0.3, 1, 3, 10, 30]),
        ("l2-logistic", l2_logistic.fitted, [1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100]),
    ],
)
@pytest.mark.slow
def test_logistic_strengths_are_chosen_by_hold_out(kind, fitted, strengths):
    chosen_strengths = set()
    for seed in range(8):
        X, y = examples(seed, 20, 6, noise=1.0)
        strength = hold_out(lambda X, y, C: fitted(X * y[:, None], C), X, y, strengths)
        chosen_strengths.add(strength)
        np.testing.assert_allclose(solve(kind, X, y), solve(kind, X, y, C=strength), rtol=0, atol=1e-7)
    assert len(chosen_strengths) > 2, "the draws tell strengths apart"
    X, y = examples(0, 1, 3)
    np.testing.assert_array_equal(solve(kind, X, y), solve(kind, X, y, C=strengths[0]))


def test_strengths_lie_within_the_configured_range():
    assert l2_logistic.strengths(0.03, 30.0, (1, 3)) == [0.03, 0.1, 0.3, 1, 3, 10, 30]
    assert l2_logistic.strengths(0.2, 0.25, (1, 3)) == [0.2]
    with pytest.raises(BadInput, match="3 is above the largest C to try, 1; take at most 1") as caught:
        experiment(learners={"it": {"solver": {"kind": "l1-logistic", "least": 3.0, "most": 1.0}}})
    assert caught.value.where == "learners[0].solver.least"


@by_shape
def test_max_margin_equals_an_exhaustive_search_over_support_vectors(X, y):
    actual, expected = widest(X[:12], y[:12]), widest_margin(X[:12], y[:12])
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("k", "d"), [(4, 30), (40, 30), (200, 20)])
def test_max_margin_satisfies_its_optimality_conditions(k, d):
    X, y = examples(8, k, d)
    w = solve("max-margin", X, y)
    margins = y * (X @ w)
    assert margins.min() >= 1 - 1e-8
    support = margins < 1 + 1e-7
    coefficients = np.linalg.lstsq((X * y[:, None])[support].T, w)[0]
    np.testing.assert_allclose((X * y[:, None])[support].T @ coefficients, w, atol=1e-8 * abs(w).max())
    assert coefficients.min() >= -1e-8 * coefficients.max()


def test_max_margin_has_no_weights_once_examples_are_inseparable():
    described = experiment({"kind": "xor", "d": 8}, learners={"it": {"solver": "max-margin"}})
    margin_weights = weights(described)[:, 0]
    gone = np.isnan(margin_weights).all(1)
    assert gone[-1]
    assert not gone[1]
    assert (np.diff(gone.astype(int)) >= 0).all(), "once there are none there are none any more"
    curve = run(described).curves[0]
    assert curve.diverged_at == gone.argmax()


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_max_margin_scales_with_the_instances(size):
    X, y = examples(9, 12, 7)
    np.testing.assert_allclose(size * widest(size * X, y), widest(X, y), rtol=1e-9)


def test_hebb_is_the_mean_of_labels_times_instances():
    described = experiment("gaussian", "all", {"it": {"solver": "hebb"}}, d=5, noise=0.3, replicas=2)
    hebb_weights, (_, data) = weights(described), beginning(described)
    assert (hebb_weights[0] == 0).all()
    for k in range(1, 6):
        for member, labels in enumerate(data.labels.numpy()):
            rows = data.instances.rows[member // 5].numpy()
            expected = sum(labels[j] * rows[j] for j in range(k)) / k
            np.testing.assert_allclose(hebb_weights[k, member], expected, rtol=1e-12, atol=1e-15)


def test_bayes_multiplies_the_prior_by_the_likelihood_of_every_example():
    words = {"learners": {"it": {"solver": {"kind": "bayes", "flip": 0.2}}}, "labels": "sign"}
    described = experiment("gaussian", "all", d=5, replicas=2, **words)
    posteriors, (_, problem) = weights(described), beginning(described)
    np.testing.assert_allclose(posteriors[0], 0.2)
    for member, labels in enumerate(problem.labels.numpy()):
        rows, expected = problem.instances.rows[member // 5].numpy(), np.full(5, 0.2)
        for k in range(1, 6):
            expected *= [0.8 if x * labels[k - 1] > 0 else 0.2 for x in rows[k - 1]]
            expected /= expected.sum()
            np.testing.assert_allclose(posteriors[k, member], expected, rtol=1e-12)


def test_eg_hedge_bayes_and_adaboost_have_the_same_weights():
    learners = {
        "EG": {"architecture": "linear", "update": {"kind": "eg", "lr": math.log(3) / 2}},
        "Hedge": {"architecture": "linear", "update": {"kind": "hedge", "beta": 1 / 3}},
        "Bayes": {"solver": {"kind": "bayes", "flip": 0.25}},
        "AdaBoost": {"architecture": "linear", "update": {"kind": "adaboost", "vote": math.log(3) / 2}},
    }
    matrix = {"kind": "rademacher", "n": 12, "d": 16}
    by_name = {
        name: weights(experiment(matrix, replicas=3, learners={name: learner}, loss="hinge"))
        for name, learner in learners.items()
    }
    assert by_name["EG"].std() > 0.01
    for same in by_name.values():
        np.testing.assert_allclose(same, by_name["EG"], rtol=1e-12)


def test_an_adaboost_step_with_its_own_vote_leaves_zero_edge():
    rng, rule = np.random.default_rng(0), catalogue.make("updates", "adaboost")
    w = {"w": torch.from_numpy(rng.dirichlet(np.ones(8), 3))}
    margins = {"w": torch.from_numpy(rng.choice([-1.0, 1.0], (3, 8)))}
    for _ in range(2):
        w, _ = rule.step(w, margins, {"w": 1.0}, {})
    assert (w["w"] * margins["w"]).sum(1).abs().max() < 1e-15
    assert torch.allclose(w["w"].sum(1), torch.ones(3).double())


@by_shape
def test_the_perceptron_solver_equals_a_naive_loop_for_any_number_of_passes(X, y):
    for passes in (1, 3, 1000):
        expected, _ = perceptron(X, y, passes)
        np.testing.assert_allclose(solve("perceptron", X, y, passes=passes), expected, rtol=1e-9, atol=1e-9)


def test_perceptron_mistakes_on_orthogonal_examples_do_not_depend_on_rounding():
    X = sylvester(8).astype(float)
    y, expected = X[:, 3], X.T @ X[:, 3]
    rng = np.random.default_rng(0)
    for _ in range(10):
        Q, _ = np.linalg.qr(rng.standard_normal((8, 8)))
        np.testing.assert_allclose(Q @ solve("perceptron", X @ Q, y), expected, rtol=0, atol=1e-12)


def test_the_perceptron_stops_without_mistakes_or_after_its_passes():
    X, y = SHAPES["more than features"]
    assert (y * (X @ solve("perceptron", X, y)) > 0).all()
    assert perceptron(X, y, 1)[1] > 0
    X, y = SHAPES["not separable"]
    assert not (y * (X @ solve("perceptron", X, y, passes=50)) > 0).all()


@pytest.mark.parametrize("kind", ["l1-logistic", "l2-logistic", "max-margin", "perceptron"])
def test_classifiers_refuse_labels_other_than_signs(kind):
    learners = {"it": {"solver": kind}}
    experiment("gaussian", learners=learners, labels="sign")
    for words in ({"matrix": "gaussian"}, {"matrix": "hadamard01"}, {"noise": 0.1, "labels": "sign"}):
        with pytest.raises(
            BadInput, match=f'{kind} needs labels \\+1 and −1.*take labels = "sign"'
        ) as caught:
            experiment(**words, learners=learners, loss="square")
        assert caught.value.where == "learners[0].solver"


@pytest.mark.slow
def test_solvers_have_the_errors_of_theory_on_gaussian_instances():
    """Within 4 standard errors of the line at α = m/(n − 1), n = 40."""
    n, m, replicas = 40, 80, 60
    penalty = n * (np.pi / 2 - 1)
    lines = {"hebb": hebb, "max-margin": max_margin, "ridge": ridge}
    learners = {kind: {"solver": {"kind": kind}} for kind in lines}
    learners["ridge"]["solver"]["lam"] = penalty
    described = experiment(
        {"kind": "gaussian", "n": m, "d": n},
        learners=learners,
        labels="sign",
        replicas=replicas,
        loss="logistic",
    )
    for number, (kind, line) in enumerate(lines.items()):
        fit, data = beginning(described, number)
        fit.learn(data.instances, data.labels)
        w = fit.weights()
        errors = torch.arccos(w[:, 3] / w.norm(dim=1)) / torch.pi
        mean, stderr = errors.mean().item(), errors.std().item() / replicas**0.5
        assert abs(mean - line(m / (n - 1))) <= 4 * stderr, kind
