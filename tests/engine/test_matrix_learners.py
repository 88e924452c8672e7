"""Learners of matrices of weights: products of matrices, singular values, the nuclear norm."""

import numpy as np
import pytest
import torch
from building import begun, data_of, experiment, gd
from scipy.optimize import minimize

from engine.architectures.factorised import Factorised
from engine.core.groups import PERMUTATIONS, TRIVIAL, rotations
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.solvers.nuclear import least
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict
from engine.updates.spectral import Spectral

OUTER = {"kind": "outer", "factors": [2, 4]}
PAIR = [2, 4]


def dilated(matrix, function):
    """A function of the eigenvalues of the symmetric dilation [[0, M], [Mᵀ, 0]], its upper right block."""
    rows, columns = matrix.shape
    dilation = np.block([[np.zeros((rows, rows)), matrix], [matrix.T, np.zeros((columns, columns))]])
    values, vectors = np.linalg.eigh(dilation)
    return (vectors * function(values) @ vectors.T)[:rows, rows:]


def test_spectral_steps_apply_hypentropy_to_the_eigenvalues_of_the_dilation():
    rng, beta, rate = np.random.default_rng(0), 0.3, 0.2
    rule = Spectral(lr=rate, beta=beta, factors=(2, 4))
    params, state = rule.start({"w": torch.from_numpy(rng.normal(size=(1, 8)))})
    dual = dilated(params["w"].numpy().reshape(2, 4), lambda s: np.arcsinh(s / beta))
    for _ in range(3):
        slope = rng.normal(size=(1, 8))
        params, state = rule.step(params, {"w": torch.from_numpy(slope)}, {"w": rate}, state)
        dual = dual - rate * slope.reshape(2, 4)
        expected = dilated(dual, lambda s: beta * np.sinh(s))
        np.testing.assert_allclose(params["w"].numpy().reshape(2, 4), expected, atol=1e-10)


def test_diverged_models_have_no_singular_values():
    rule = Spectral(lr=0.1, beta=1.0, factors=(1, 2))
    dual = {"w": torch.tensor([[torch.inf, 0.0], [1.0, 0.0]], dtype=torch.float64)}
    params, _ = rule.step(dual, {"w": torch.zeros(2, 2, dtype=torch.float64)}, {"w": 0.1}, {"dual": dual})
    assert params["w"][0].isnan().all()
    assert params["w"][1, 0].item() == pytest.approx(np.sinh(1.0))


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.slow
def test_a_factorised_net_matches_the_matrix_product_and_its_gradient(depth):
    net = Factorised(factors=(2, 4), depth=depth, width=3, scale=0.7)
    described = experiment(OUTER, learners={"it": gd(0.1, kind="factorised", factors=PAIR)})
    instances = data_of(described).instances
    params = {
        tensor_name: torch.from_numpy(tensor)
        for tensor_name, tensor in net.start(Streams([1])("init"), 8).items()
    }
    first, *later_factors = (params[layer_name][0].numpy() for layer_name in net.layers)
    W = np.linalg.multi_dot([first.T, *later_factors])
    np.testing.assert_allclose(net.weights(params)[0].numpy(), W.ravel(), atol=1e-12)
    gradient = net.gradient(params, instances, lambda predictions: predictions - 1)
    expected = super(Factorised, net).gradient(params, instances, lambda predictions: predictions - 1)
    for layer_name in net.layers:
        torch.testing.assert_close(gradient[layer_name], expected[layer_name])


LEARNERS = {
    "factorised": (gd(0.02, kind="factorised", factors=PAIR, scale=0.5), rotations(2, 4)),
    "three matrices": (gd(0.02, kind="factorised", factors=PAIR, scale=0.5, depth=3), rotations(2, 4)),
    "Adam": (
        {"update": "adam", "architecture": {"kind": "factorised", "factors": PAIR, "scale": 0.5}},
        TRIVIAL,
    ),
    "noisy": (
        {**gd(0.02, kind="factorised", factors=PAIR), "noise": {"sigma": 0.1}},
        TRIVIAL,
    ),
    "spectral": ({"update": {"kind": "spectral", "factors": PAIR, "lr": 0.02}}, rotations(2, 4)),
    "nuclear": ({"solver": {"kind": "nuclear", "factors": PAIR}}, rotations(2, 4)),
    "spindly": (gd(0.02, kind="spindly"), PERMUTATIONS),
}


@pytest.mark.parametrize("learner_name", LEARNERS)
def test_the_certificate_agrees_with_the_group_of_the_verdict(learner_name):
    words, group = LEARNERS[learner_name]
    described = experiment(OUTER, {"kind": "feature", "index": 5}, {"it": words})
    (learner,) = described.learners
    assert verdict(learner, described).group == group
    change = certificate(described, learner, group=rotations(2, 4))
    assert (change < 1e-6) == (rotations(2, 4) <= group), change


@pytest.mark.parametrize("words", [
    gd(0.1, kind="factorised", factors=[4, 4]),
    {"update": {"kind": "spectral", "factors": [4, 4]}},
    {"solver": {"kind": "nuclear", "factors": [4, 4]}},
])  # fmt: skip
def test_factors_that_do_not_match_the_features_are_refused(words):
    with pytest.raises(BadInput, match="has 16 entries, but instances have 8 features") as caught:
        experiment(OUTER, learners={"it": words})
    assert caught.value.where.startswith("learners[0].")


def test_the_least_nuclear_norm_completes_three_equal_corners_to_rank_one():
    w = least(np.eye(4)[:3], np.ones(3), (2, 2))
    np.testing.assert_allclose(w, np.ones(4), atol=2e-3)
    np.testing.assert_allclose(least(np.eye(4)[[0, 3]], np.ones(2), (2, 2)), [1, 0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_nuclear_norm_is_the_minimum_over_products_of_two_factors(seed):
    """½(‖A‖² + ‖B‖²) over W = ABᵀ has the minimum ‖W‖_*; by sequential quadratic programming."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 12)), rng.normal(size=6)
    w = least(X, y, (3, 4))
    np.testing.assert_allclose(X @ w, y, atol=1e-9)

    def product(parts):
        return (parts[:9].reshape(3, 3) @ parts[9:].reshape(3, 4)).ravel()

    fits = {"type": "eq", "fun": lambda parts: X @ product(parts) - y}
    solution = minimize(
        lambda parts: parts @ parts / 2, rng.normal(size=21), constraints=fits, method="SLSQP", tol=1e-12
    )
    assert np.linalg.norm(w.reshape(3, 4), "nuc") == pytest.approx(solution.fun, rel=1e-4)


def test_contradicting_labels_are_fitted_by_least_squares():
    X, y = np.ones((2, 4)), np.array([1.0, 3.0])
    np.testing.assert_allclose(X @ least(X, y, (2, 2)), [2, 2], atol=1e-9)
    assert not least(X, np.zeros(2), (2, 2)).any()


@pytest.mark.slow
def test_factors_with_a_small_start_learn_a_matrix_of_rank_one():
    described = experiment(
        {"kind": "outer", "factors": [4, 4]},
        {"kind": "feature", "index": 5},
        {"it": gd(0.01, kind="factorised", factors=[4, 4], scale=1e-3)},
    )
    net, data = begun(described, 0, data_of(described)), data_of(described)
    for _ in range(1000):
        net.learn(data.instances, data.labels)
    values = np.linalg.svd(net.weights()[0].numpy().reshape(4, 4), compute_uv=False)
    assert values[0] == pytest.approx(1, abs=1e-3)
    assert values[1] < 0.01
