"""Every solver against its definition, computed afresh for every number of examples."""

import itertools
from dataclasses import replace

import naive
import numpy as np
import pytest
import torch
from building import LLS, beginning, data_of, experiment, predictions, weights
from discovery import solvers
from looping import looped
from threadpoolctl import threadpool_info

from engine.core import catalogue, linear_algebra
from engine.core.parts import BadInput
from engine.problems.data import Data
from engine.problems.instances import DenseInstances
from engine.solvers import basis_pursuit, kernel, vaw
from engine.solvers.basis_pursuit import shortest
from engine.solvers.min_infinity import flattest

NEAR = 1e-9

SOLVERS = solvers()
by_solver = pytest.mark.parametrize("words", SOLVERS.values(), ids=SOLVERS)


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def as_data(X, Y):
    """Instances [n, d] and labels [n, m] as one replica."""
    labels = torch.from_numpy(np.ascontiguousarray(Y.T))
    return Data(DenseInstances(torch.from_numpy(X[None])), labels, 1, Y.shape[1])


def after_each(words, X, Y, rows=None):
    """Predictions for the rows after k = 0 … n examples, [n+1, m, rows]; by default for X itself."""
    data = as_data(X, Y)
    fit = catalogue.make("solvers", **words).begin(data)
    asked = data.instances if rows is None else DenseInstances(torch.from_numpy(rows[None]))
    predictions = [fit.predict(asked)]
    for k in range(len(X)):
        fit.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        predictions.append(fit.predict(asked))
    return torch.stack(predictions).numpy()


def dependent(seed):
    """Rows with repetitions, opposites, multiples, combinations and a zero row, more than features."""
    X = random(seed, 4, 6)
    return np.stack([X[0], -X[0], np.zeros(6), 3 * X[1], X[1], X[0] + X[1], X[2], X[0], X[3], X[2] - X[3]])


SHAPES = {
    "fewer rows than features": random(1, 7, 12),
    "square": np.eye(9) + 0.3 * random(2, 9, 9),
    "more rows than features": random(3, 15, 5),
    "dependent rows": dependent(4),
    "hadamard rows": naive.sylvester(8),
}
by_shape = looped("X", SHAPES.values(), ids=SHAPES)


@by_shape
@looped("lam", [1e-6, 0.3, 20.0])
def test_ridge_matches_the_naive_twin(X, lam):
    Y = random(5, len(X), 2)
    predictions = after_each({"kind": "ridge", "lam": lam}, X, Y)
    for target, y in enumerate(Y.T):
        expected = naive.ridge(X, y, lam) @ X.T
        np.testing.assert_allclose(predictions[:, target], expected, rtol=0, atol=NEAR)


def test_ridge_with_a_small_penalty_is_least_squares():
    X, Y = random(6, 9, 6), random(7, 9, 1)
    np.testing.assert_allclose(
        after_each({"kind": "ridge", "lam": 1e-12}, X, Y), after_each({"kind": "lls"}, X, Y), atol=1e-8
    )


@by_shape
@looped("eps", [1e-6, 0.3, 20.0])
@pytest.mark.slow
def test_vaw_matches_the_naive_forecast(X, eps):
    Y, rows = random(8, len(X), 2), random(9, 5, X.shape[1])
    for asked in (None, rows):
        predictions = after_each({"kind": "vaw", "eps": eps}, X, Y, asked)
        for target, y in enumerate(Y.T):
            expected = naive.forecasts(X, y, eps, X if asked is None else asked)
            np.testing.assert_allclose(predictions[:, target], expected, rtol=0, atol=NEAR)


def told_in(order, fit, data, X, rows):
    """Predictions for the data X and for other rows, after each example in this order."""
    for count, row in enumerate(order):
        fit.learn(data.instances.at(slice(row, row + 1)), data.labels[:, row : row + 1])
        for asked in (X, rows):
            instances = data.instances if asked is X else as_data(rows, rows).instances
            for target, predictions_of_target in enumerate(fit.predict(instances).numpy()):
                yield predictions_of_target, list(order)[: count + 1], target, asked


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [1, 2, 5])
@pytest.mark.parametrize("order", [range(12), [0, 1, 2, 7, 3, 4, 5, 6], [5, 5, 0, 1, 2, 2]], ids=str)
def test_vaw_matches_the_naive_forecast_for_examples_in_any_order(order, ahead, monkeypatch):
    monkeypatch.setattr(vaw, "AHEAD", ahead)
    X, Y, rows = random(8, 12, 4), random(9, 12, 2), random(10, 5, 4)
    data = as_data(X, Y)
    fit = catalogue.make("solvers", "vaw", eps=0.3).begin(data)
    for of_target, told, target, asked in told_in(order, fit, data, X, rows):
        expected = naive.forecasts(X[told], Y[told, target], 0.3, asked)[-1]
        np.testing.assert_allclose(of_target, expected, rtol=0, atol=NEAR)


def test_vaw_in_float32_is_accurate_to_its_precision(monkeypatch):
    """Relative to the largest prediction, along all examples, most of which change sums in float32."""
    monkeypatch.setattr(linear_algebra, "LARGE", 1)
    X, Y = (random(seed, 400, columns).astype(np.float32) for seed, columns in ((8, 5), (9, 2)))
    data = as_data(X, Y)
    fit = catalogue.make("solvers", "vaw", eps=0.3).begin(data)
    assert isinstance(fit, vaw.Forecast)
    for row in range(len(X)):
        fit.learn(data.instances.at(slice(row, row + 1)), data.labels[:, row : row + 1])
        if row % 40 == 39:
            told, rows = X[: row + 1].astype(float), X.astype(float)
            A = 0.3 * np.eye(X.shape[1]) + told.T @ told
            inverses = np.linalg.inv(A + rows[:, :, None] * rows[:, None])
            expected = np.einsum("jd,jde,em->mj", rows, inverses, told.T @ Y[: row + 1])
            error = abs(fit.predict(data.instances).numpy() - expected).max() / abs(expected).max()
            assert error < 8 * np.finfo(np.float32).eps, row
    assert fit._leverages.max() < vaw.SMALL


def test_vaw_includes_the_predicted_row_and_ridge_does_not():
    X, Y = np.array([[1.0], [1.0]]), np.array([[1.0], [1.0]])
    assert after_each({"kind": "ridge", "lam": 1.0}, X, Y)[1, 0, 0] == pytest.approx(1 / 2)
    assert after_each({"kind": "vaw", "eps": 1.0}, X, Y)[1, 0, 0] == pytest.approx(1 / 3)


@pytest.mark.parametrize("order", [range(12), [0, 1, 2, 7, 3, 4, 5, 6], [5, 5, 0, 1, 2, 2]], ids=str)
@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.parametrize(("ahead", "chunk", "least"), [(1, 1, 1), (2, 3, 2), (5, 4, 64), (64, 256, 64)])
def test_kernels_match_the_naive_twin_for_examples_in_any_order(order, lam, ahead, chunk, least, monkeypatch):
    for name, value in {"AHEAD": ahead, "CHUNK": chunk, "LEAST": least}.items():
        monkeypatch.setattr(kernel, name, value)
    X, Y, rows = random(8, 12, 4)[[*range(5), 1, 3, *range(5, 10)]], random(9, 12, 2), random(10, 5, 4)
    data = as_data(X, Y)
    fit = catalogue.make("solvers", "kernel", lam=lam).begin(data)
    for of_target, told, target, asked in told_in(order, fit, data, X, rows):
        y = Y[told, target]
        expected = naive.kernel_predictions(of_kernel({"kernel": "rbf"}), X[told], y, lam, asked)[-1]
        np.testing.assert_allclose(of_target, expected, rtol=0, atol=NEAR)


KERNELS = [
    {"kernel": "linear"},
    {"kernel": "polynomial"},
    {"kernel": "polynomial", "degree": 3, "offset": 0.5},
    {"kernel": "rbf"},
    {"kernel": "rbf", "width": 0.7},
    {"kernel": "xor-product"},
    {"kernel": "ntk"},
]


def of_kernel(settings):
    fields = {name: value for name, value in settings.items() if name != "kernel"}
    return lambda x, z: naive.KERNELS[settings["kernel"]](x, z, **fields)


@by_shape
@looped("lam", [0.0, 0.1])
@looped("settings", KERNELS, ids=str)
@pytest.mark.slow
def test_kernels_match_the_naive_twin(X, lam, settings):
    X = X / np.sqrt(X.shape[1])
    Y, rows = random(10, len(X), 2), random(11, 5, X.shape[1])
    for asked in (None, rows):
        predictions = after_each({"kind": "kernel", "lam": lam, **settings}, X, Y, asked)
        predicted_rows = X if asked is None else asked
        for target, y in enumerate(Y.T):
            expected = naive.kernel_predictions(of_kernel(settings), X, y, lam, predicted_rows)
            scale = 1 + abs(expected).max()
            np.testing.assert_allclose(predictions[:, target] / scale, expected / scale, rtol=0, atol=NEAR)


@pytest.mark.parametrize("settings", KERNELS, ids=str)
def test_a_kernel_is_a_function_of_two_instances(settings):
    solver = catalogue.make("solvers", "kernel", **settings)
    rows, other_rows = random(12, 2, 6, 5), random(13, 2, 4, 5)
    other_rows[0, 1], other_rows[1, 2], other_rows[0, 3] = rows[0, 2], -rows[1, 3], 0
    kernel_values = solver.values(torch.from_numpy(rows), torch.from_numpy(other_rows)).numpy()
    for r, i, j in np.ndindex(kernel_values.shape):
        expected = of_kernel(settings)(rows[r, i], other_rows[r, j])
        assert kernel_values[r, i, j] == pytest.approx(expected, rel=NEAR, abs=NEAR)


@by_shape
def test_interpolation_with_the_linear_kernel_is_least_squares(X):
    Y = random(14, len(X), 3)
    words = {"kind": "kernel", "kernel": "linear"}
    np.testing.assert_allclose(after_each(words, X, Y), after_each({"kind": "lls"}, X, Y), atol=NEAR)


def test_the_linear_kernel_has_the_weights_of_ridge_or_least_squares():
    for lam in (0.0, 0.5):
        learner = {"kind": "kernel", "kernel": "linear", "lam": lam}
        described = experiment("gaussian", "all", {"it": {"solver": learner}}, d=8, noise=0.2)
        kernel_weights, data = weights(described), data_of(described)
        X = data.instances.rows[0].numpy()
        for target, y in enumerate(data.labels.numpy()):
            expected = naive.ridge(X, y, lam) if lam else naive.least_squares(X, y)
            np.testing.assert_allclose(kernel_weights[:, target], expected, atol=1e-8)


@pytest.mark.parametrize("lam", [0.0, 0.4])
def test_the_xor_kernel_on_bits_is_the_linear_kernel_on_products_of_bits(lam):
    bits = np.array(list(itertools.product((1.0, -1.0), repeat=4)))
    subsets = itertools.product((False, True), repeat=4)
    linear_algebra = np.array([[np.prod(b[list(chosen)]) for b in bits] for chosen in subsets]).T
    assert np.array_equal(linear_algebra, naive.sylvester(16))
    order = np.random.default_rng(15).permutation(16)
    Y = np.column_stack([linear_algebra[order, 7], random(16, 16)])
    of_bits = after_each({"kind": "kernel", "kernel": "xor-product", "lam": lam}, bits[order], Y)
    of_products = after_each({"kind": "kernel", "kernel": "linear", "lam": lam}, linear_algebra[order], Y)
    np.testing.assert_allclose(of_bits, of_products, atol=1e-12)
    loss = ((of_bits[:, 0] - Y[:, 0]) ** 2).mean(1)
    if lam == 0:
        np.testing.assert_allclose(loss, 1 - np.arange(17) / 16, atol=1e-12)


def test_the_neural_tangent_kernel_matches_a_wide_net():
    """2 E[σ(w·x) σ(w·z)] + 2 x·z E[σ'(w·x) σ'(w·z)] over w ~ N(0, I), within 4 standard errors."""
    x, z = random(17, 2, 4)
    w = random(18, 400_000, 4)
    to_x, to_z = w @ x, w @ z
    drawn = 2 * np.maximum(to_x, 0) * np.maximum(to_z, 0) + 2 * (x @ z) * (to_x > 0) * (to_z > 0)
    solver = catalogue.make("solvers", "kernel", kernel="ntk")
    value = solver.values(torch.from_numpy(x[None, None]), torch.from_numpy(z[None, None])).item()
    assert abs(drawn.mean() - value) <= 4 * drawn.std() / np.sqrt(len(w))


@pytest.mark.parametrize("kernel", ["rbf", "ntk"])
def test_a_kernel_fits_repeated_examples_by_least_squares(kernel):
    X = random(19, 5, 3)[[0, 1, 0, 2, 1, 3, 0, 4]]
    y = random(20, 8)
    predictions = after_each({"kind": "kernel", "kernel": kernel}, X, y[:, None])[-1, 0]
    np.testing.assert_allclose(predictions[0], y[[0, 2, 6]].mean(), atol=NEAR)
    np.testing.assert_allclose(predictions[1], y[[1, 4]].mean(), atol=NEAR)
    np.testing.assert_allclose(predictions[3], y[3], atol=NEAR)


@by_shape
@pytest.mark.slow
def test_basis_pursuit_is_consistent_and_has_the_least_norm(X):
    Y = X @ random(23, X.shape[1], 2)
    data = as_data(X, Y)
    fit = catalogue.make("solvers", "basis-pursuit").begin(data)
    assert (fit.weights() == 0).all()
    for k in range(1, len(X) + 1):
        fit.learn(data.instances.at(slice(k - 1, k)), data.labels[:, k - 1 : k])
        for w, y in zip(fit.weights().numpy(), Y.T, strict=True):
            assert abs(X[:k] @ w - y[:k]).max() <= NEAR
            assert abs(w).sum() == pytest.approx(naive.least_l1(X[:k], y[:k]), abs=NEAR)


def test_basis_pursuit_fits_contradicting_labels_by_least_squares():
    X, y = random(24, 9, 4), random(25, 9)
    predictions = after_each({"kind": "basis-pursuit"}, X, y[:, None])[-1, 0]
    np.testing.assert_allclose(predictions, X @ naive.least_squares(X, y)[-1], atol=NEAR)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_flattest_interpolation_fits_and_has_the_least_maximum(size):
    for number, k in enumerate((1, 2, 3, 5)):
        X, y = random(40 + number, k, 5), size * random(50 + number, k)
        w = flattest(X, y)
        np.testing.assert_allclose(X @ w, y, rtol=0, atol=1e-8 * size)
        assert abs(w).max() == pytest.approx(naive.least_infinity(X, y), rel=1e-8)
    X, y = random(24, 9, 4), size * random(25, 9)
    np.testing.assert_allclose(flattest(X, y), np.linalg.lstsq(X, y)[0], rtol=0, atol=1e-8 * size)
    orthogonal = np.array([[1.0, 2.0], [1.0, 2.0]]), size * np.array([1.0, -1.0])
    assert (flattest(*orthogonal) == 0).all()
    assert (flattest(np.eye(2), np.zeros(2)) == 0).all()


@pytest.mark.slow
def test_basis_pursuit_recovers_a_sparse_vector_from_few_examples():
    described = experiment(
        {"kind": "gaussian", "n": 32, "d": 64},
        {"kind": "feature", "index": 5},
        {"it": {"solver": "basis-pursuit"}},
    )
    pursuit_weights = weights(described)[:, 0]
    np.testing.assert_allclose(pursuit_weights[12:], np.tile(np.eye(64)[5], (21, 1)), atol=1e-8)


def objective(X, y, w, lam):
    return ((X @ w - y) ** 2).mean() + lam * abs(w).sum()


@pytest.mark.parametrize("lam", [1e-3, 0.1, 1.0, 50.0])
def test_lasso_minimises_the_mean_square_loss_plus_the_penalty(lam):
    X, y = random(26, 12, 5), random(27, 12)
    data = as_data(X, y[:, None])
    fit = catalogue.make("solvers", "lasso", lam=lam).begin(data)
    for k in range(1, 13):
        fit.learn(data.instances.at(slice(k - 1, k)), data.labels[:, k - 1 : k])
        (w,) = fit.weights().numpy()
        slopes = 2 / k * X[:k].T @ (y[:k] - X[:k] @ w)
        assert abs(slopes).max() <= lam * (1 + 1e-4) + 1e-6
        if k >= 5:
            exact = naive.lasso(X[:k], y[:k], lam)
            least = objective(X[:k], y[:k], exact, lam)
            assert objective(X[:k], y[:k], w, lam) == pytest.approx(least, abs=NEAR)
            np.testing.assert_allclose(w, exact, atol=1e-5)
    if lam == 50.0:
        assert (w == 0).all()


ALIKE = np.sign(random(60, 40, 12))[:, [*range(12), 3, 3, 5, 0]] * [*[1] * 13, -1, 2, 0]
"""Features that are the same, opposite, twice another, and 0."""


@pytest.mark.parametrize("X", [random(61, 60, 30), np.sign(random(62, 60, 30)), ALIKE], ids=len)
@pytest.mark.parametrize("lam", [1e-6, 0.01, 0.2])
@pytest.mark.slow
def test_every_lasso_solution_satisfies_its_optimality_conditions(X, lam):
    y = X[:, 0] - X[:, 3] / 2 + random(63, len(X))
    data = as_data(X, y[:, None])
    fit = catalogue.make("solvers", "lasso", lam=lam).begin(data)
    for k in range(1, len(X) + 1):
        fit.learn(data.instances.at(slice(k - 1, k)), data.labels[:, k - 1 : k])
        (w,) = fit.weights().numpy()
        slopes = 2 / k * X[:k].T @ (y[:k] - X[:k] @ w)
        rounding = 1e-11 * (1 + abs(y).max())
        assert abs(slopes).max() <= lam + rounding
        np.testing.assert_allclose(slopes[w != 0], lam * np.sign(w[w != 0]), rtol=0, atol=rounding)
        assert np.linalg.matrix_rank(X[:k, w != 0]) == (w != 0).sum()
        cold = catalogue.make("solvers", "lasso", lam=lam).begin(data)
        cold.learn(data.instances.at(slice(0, k)), data.labels[:, :k])
        (other,) = cold.weights().numpy()
        np.testing.assert_allclose(X[:k] @ other, X[:k] @ w, rtol=0, atol=1e-8)
        assert abs(other).sum() == pytest.approx(abs(w).sum(), abs=1e-8)


def test_lasso_becomes_basis_pursuit_as_the_penalty_vanishes():
    X = random(28, 5, 8)
    y = X @ np.array([1.0, -0.5, 0, 0, 0.2, 0, 0, 0])
    least = after_each({"kind": "basis-pursuit"}, X, y[:, None])
    gaps = [
        abs(after_each({"kind": "lasso", "lam": lam}, X, y[:, None]) - least).max()
        for lam in (1e-2, 1e-3, 1e-4)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3


def test_the_xor_kernel_refuses_a_feature_count_that_is_too_large():
    words = {"kind": "kernel", "kernel": "xor-product"}
    experiment("rademacher", learners={"it": {"solver": words}}, d=500)
    with pytest.raises(BadInput, match="at most 500 features, and instances have 501; set kernel") as caught:
        experiment("rademacher", learners={"it": {"solver": words}}, d=501)
    assert caught.value.where == "learners[0].solver"


@by_solver
def test_solvers_do_not_use_future_labels(words):
    described = experiment("gaussian", learners={"it": {"solver": words}}, d=6, noise=0.3)
    data, expected = data_of(described), predictions(described)
    blind = replace(data, labels=torch.full_like(data.labels, torch.nan))
    solver = catalogue.make("solvers", **words)
    fit = solver.begin(blind)
    for k in range(6):
        fit.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        assert np.array_equal(fit.predict(data.instances), expected[k + 1])


@pytest.mark.slow
@by_solver
def test_predictions_of_all_rows_match_predictions_of_copies(words):
    fit, data = beginning(experiment("gaussian", "all", {"it": {"solver": words}}, d=4, replicas=2))
    copies = DenseInstances(data.instances.rows.clone())
    for k in range(4):
        np.testing.assert_allclose(fit.predict(data.instances), fit.predict(copies), atol=1e-8)
        fit.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])


@by_solver
def test_learning_examples_together_equals_learning_single_examples(words):
    fit, data = beginning(experiment("gaussian", learners={"it": {"solver": words}}, d=6, replicas=2))
    together, _ = beginning(experiment("gaussian", learners={"it": {"solver": words}}, d=6, replicas=2))
    for k in range(5):
        fit.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
    together.learn(data.instances.at(slice(0, 5)), data.labels[:, :5])
    np.testing.assert_allclose(fit.predict(data.instances), together.predict(data.instances), atol=1e-12)


@pytest.mark.slow
@by_solver
def test_solvers_declared_linear_in_labels_have_linear_predictions_of_rank_k(words):
    X, Y = random(29, 8, 8), random(30, 8, 8)[:, :5]
    predictions = after_each(words, X, Y)  # [9, 5 targets, 8 rows]
    summed = after_each(words, X, Y[:, :1] + Y[:, 1:2])[:, 0]
    linear = np.allclose(summed, predictions[:, 0] + predictions[:, 1], atol=1e-7)
    ranks = [np.linalg.matrix_rank(predictions[k], 1e-7) for k in range(9)]
    solver = catalogue.make("solvers", **words)
    if solver.structure().linear_in_labels:
        assert linear
        assert all(rank <= k for k, rank in enumerate(ranks))
    else:
        assert not linear
        # predictions that are linear in x and rotation invariant stay in the span of the k instances,
        # and so do those that are 0 wherever the instances do not settle them
        stays = solver.invariance().invariant is True or getattr(solver, "abstain", False)
        assert any(rank > k for k, rank in enumerate(ranks)) or stays


@pytest.mark.parametrize(
    ("solver", "where"),
    [
        ({"kind": "ridge", "lam": 0.0}, "lam"),
        ({"kind": "kernel", "lam": -0.1}, "lam"),
        ({"kind": "kernel", "width": 0.0}, "width"),
        ({"kind": "kernel", "degree": 0}, "degree"),
        ({"kind": "vaw", "eps": 0.0}, "eps"),
        ({"kind": "lasso", "lam": 0.0}, "lam"),
    ],
)
def test_invalid_values_are_refused_with_their_place(solver, where):
    with pytest.raises(BadInput) as caught:
        experiment(learners={"it": {"solver": solver}})
    assert caught.value.where.endswith(f"solver.{where}")


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.slow
def test_basis_pursuit_fits_labels_and_instances_of_any_size(size):
    draws = np.random.default_rng(30)
    for number in range(60):
        k, d = draws.integers(1, 9, 2)
        X, y = draws.standard_normal((k, d)), size * draws.standard_normal(k)
        if number % 3 == 0:
            X[-1], y[-1] = X[0], y[-1] * (number % 2)
        w = shortest(X, y)
        fitted = X @ np.linalg.lstsq(X, y)[0]
        np.testing.assert_allclose(X @ w, fitted, rtol=0, atol=1e-8 * size)
    assert (shortest(X, np.zeros(k)) == 0).all()


def test_basis_pursuit_uses_one_thread_and_restores_the_thread_count(monkeypatch):
    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before, threads_within = threads(), []
    monkeypatch.setattr(
        basis_pursuit, "shortest", lambda X, y: threads_within.append(threads()) or np.zeros(6)
    )
    data = data_of(experiment({"kind": "gaussian", "n": 4, "d": 6}, learners={"it": LLS}))
    hypothesis = catalogue.make("solvers", "basis-pursuit").begin(data)
    hypothesis.learn(data.instances, data.labels)
    hypothesis.weights()
    assert threads_within == [{1}]
    assert threads() == before


def test_only_solutions_for_all_rows_are_stored_with_the_data(monkeypatch):
    solved = []
    monkeypatch.setattr(basis_pursuit, "shortest", lambda X, y: solved.append(len(X)) or np.full(6, y.sum()))
    data = data_of(experiment({"kind": "gaussian", "n": 4, "d": 6}, learners={"it": LLS}, replicas=2))
    solver = catalogue.make("solvers", "basis-pursuit")

    def weights(*numbers):
        hypothesis = solver.begin(data)
        hypothesis.learn(*data.examples(torch.tensor([numbers, numbers])))
        return hypothesis.weights()

    first = weights(0, 1, 2, 3)
    assert solved == [4, 4]
    np.testing.assert_array_equal(weights(0, 1, 2, 3), first)
    assert solved == [4, 4], "the same rows are solved once"
    other_rows = [(0, 1, 2), (0, 1, 3, 2), (0, 1, 1, 3)]
    for row_numbers in other_rows:
        np.testing.assert_allclose(weights(*row_numbers)[:, 0], data.labels[:, list(row_numbers)].sum(1))
    assert len(solved) == 2 + 2 * len(other_rows)
