"""Instances as operators against their matrices, and learners on them."""

import numpy as np
import pytest
import torch
from building import experiment, gd
from looping import looped

from engine.core import catalogue
from engine.core.streams import Streams
from engine.problems.data import draw
from engine.problems.hadamard_matrices import MOST_ROWS, Sylvester, Walsh, sylvester
from engine.problems.instances import DenseInstances, ScaledIdentity
from engine.problems.matrices import drawn_rows
from engine.problems.matrices.hadamard import Hadamard
from engine.runtime.run import run
from engine.training import descent, evaluators

EXACT = {"rtol": 1e-12, "atol": 1e-12}
SYLVESTER = {
    "hadamard": {"kind": "hadamard"},
    "in order": {"kind": "hadamard", "permute": False, "row_signs": False},
    "repeated": {"kind": "hadamard", "repeat": 2},
    "shifted": {"kind": "hadamard01"},
    "products": {"kind": "xor", "features": "products"},
}
LINEAR = [
    kind
    for kind in catalogue.members("targets")
    if kind != "file" and catalogue.make("targets", kind).structure(Hadamard(d=16)).linear
]
TARGETS = [*LINEAR, "coin"]


def drawn(matrix, target="feature", d=16, replicas=2, **settings):
    """The data of a structured family, drawn as an operator."""
    described = experiment(matrix, target, d=d, replicas=replicas, **settings)
    data = draw(described.problem, Streams(range(replicas)), "float64", "cpu")
    assert isinstance(data.instances, Sylvester)
    return described, data


def tabled(described, replicas=2):
    """The rows [R, n, d] that the family makes as a matrix, without the operator."""
    return drawn_rows(described.problem.matrix, Streams(range(replicas))).astype(np.float64)


@pytest.mark.parametrize("bits", [0, 1, 5, 7, 8, 11, 12])
def test_a_transform_equals_the_product_with_sylvesters_matrix(bits):
    d = 1 << bits
    vectors = torch.from_numpy(np.random.default_rng(bits).normal(size=(3, 2, d)))
    expected = vectors.numpy() @ sylvester(d)
    np.testing.assert_allclose(Walsh(d, torch.float64, "cpu").transform(vectors), expected, **EXACT)


@pytest.mark.parametrize("bits", [0, 1, 10, 11, 20])
def test_rows_on_demand_are_parities(bits):
    d = 1 << bits
    generator = np.random.default_rng(bits)
    numbers, places = generator.integers(0, d, 5), generator.integers(0, d, 200)
    rows = Walsh(d, torch.float32, "cpu").rows(torch.from_numpy(numbers), torch.arange(1.0, 6.0))
    for number, row, size in zip(numbers, rows.numpy(), range(1, 6), strict=True):
        parities = [(-1) ** bin(number & place).count("1") for place in places]
        assert np.array_equal(row[places], size * np.array(parities))


@looped("target", TARGETS)
@looped("matrix", SYLVESTER.values(), ids=SYLVESTER)
@pytest.mark.slow
def test_the_operator_matches_the_explicit_matrix(matrix, target):
    described, data = drawn(matrix, target)
    X, instances = tabled(described), data.instances
    _, n, d = X.shape
    assert np.array_equal(instances.rows, X)
    generator = np.random.default_rng(0)
    weights, coefficients = generator.normal(size=(2, 3, 2, d)), generator.normal(size=(2, 3, n))
    inner = instances.inner(torch.from_numpy(weights.reshape(6, 2, d)))
    np.testing.assert_allclose(inner.reshape(2, 3, 2, n), np.einsum("rghd,rnd->rghn", weights, X), **EXACT)
    combined = instances.combine(torch.from_numpy(coefficients.reshape(6, n)))
    np.testing.assert_allclose(combined.view(2, 3, d), coefficients @ X, **EXACT)
    for block in (slice(3, 4), slice(2, 2 + MOST_ROWS), slice(1, 3 + MOST_ROWS)):
        assert np.array_equal(instances.at(block).rows, X[:, block])
        np.testing.assert_allclose(
            instances.at(block).inner(torch.from_numpy(weights.reshape(6, 2, d))),
            inner[:, :, block],
            **EXACT,
        )
    numbers = generator.integers(0, n, (2, n))
    picked = instances.pick(torch.from_numpy(numbers))
    assert np.array_equal(picked.rows, np.stack([X[0][numbers[0]], X[1][numbers[1]]]))
    assert np.array_equal(DenseInstances(instances.rows).pick(torch.from_numpy(numbers)).rows, picked.rows)


@looped("target", LINEAR)
@looped("matrix", SYLVESTER.values(), ids=SYLVESTER)
def test_labels_drawn_without_the_matrix_match_the_matrix(matrix, target):
    described, data = drawn(matrix, target)
    places, sizes = data.w_star
    w_star = torch.zeros(2, data.targets, data.instances.d, dtype=torch.float64)
    w_star.scatter_(2, places, sizes)
    expected = w_star.numpy() @ tabled(described).swapaxes(1, 2)
    np.testing.assert_allclose(data.labels.view(expected.shape), expected, **EXACT)


@pytest.mark.parametrize("matrix", ["hadamard", {"kind": "gaussian", "n": 40}, {"kind": "gaussian", "n": 20}])
@pytest.mark.parametrize("target", ["feature", "all", "sparse"])
def test_mean_square_loss_from_weights_equals_the_loss_of_predictions(matrix, target):
    described = experiment(matrix, target, d=16, replicas=3)
    data = draw(described.problem, Streams(range(3)), "float64", "cpu").with_variants(2)
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(len(data.labels), 16)))
    before = weights.clone()
    errors = data.from_w_star(weights)
    assert torch.equal(weights, before)
    expected = (data.instances.inner(weights[:, None])[:, 0] - data.labels).square().mean(1)
    mean_square = data.instances.mean_square(errors)
    if matrix != "hadamard" and matrix["n"] < 32:
        assert mean_square is None
    else:
        np.testing.assert_allclose(mean_square, expected, rtol=1e-12)


def test_mean_square_is_unavailable_for_parts_of_an_operator():
    _, data = drawn("hadamard")
    errors = torch.ones(2, 16, dtype=torch.float64)
    assert data.instances.mean_square(errors) is not None
    assert data.instances.at(slice(0, 12)).mean_square(errors) is None
    assert data.instances.pick(torch.zeros(2, 16, dtype=torch.int64)).mean_square(errors) is None
    assert drawn({"kind": "hadamard01"})[1].instances.mean_square(errors) is None


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_nonlinear_or_noisy_labels_have_no_w_star(noise):
    assert (drawn("hadamard", noise=noise)[1].w_star is None) == (noise > 0)
    assert drawn("hadamard", labels="sign")[1].w_star is None
    threshold = draw(experiment("threshold", d=8).problem, Streams([0]), "float64", "cpu")
    assert threshold.w_star is None


def test_the_scaled_identity_is_the_instances_times_an_orthogonal_matrix():
    _, data = drawn("hadamard")
    axes, X = ScaledIdentity(data.instances), data.instances.rows
    U = X / 4
    np.testing.assert_allclose(axes.rows, X @ U.mT, **EXACT)
    weights = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 3, 16)))
    turned = axes.turn(weights)
    np.testing.assert_allclose(axes.inner(turned), data.instances.inner(weights), **EXACT)
    np.testing.assert_allclose(axes.turn_back(turned[:, 0]), weights[:, 0], **EXACT)
    part_of_axes = axes.at(slice(4, 12)).at(slice(2, 5))
    np.testing.assert_allclose(part_of_axes.rows, axes.rows[:, 6:9], **EXACT)
    np.testing.assert_allclose(part_of_axes.inner(turned), axes.inner(turned)[:, :, 6:9], **EXACT)
    coefficients = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 3)))
    by_matrix = (coefficients.view(2, 3, 3) @ part_of_axes.rows).flatten(0, 1)
    np.testing.assert_allclose(part_of_axes.combine(coefficients), by_matrix, **EXACT)
    numbers = torch.tensor([[0, 5, 5, 7], [3, 3, 3, 0]])
    picked = axes.at(slice(4, 12)).pick(numbers)
    for part, wanted in ((picked, numbers), (picked.at(slice(1, 4)), numbers[:, 1:])):
        rows = torch.stack([axes.rows[0][4 + rows_of_replica] for rows_of_replica in wanted])
        assert torch.equal(part.rows, rows)
        by_matrix = (turned.view(2, 9, 16) @ rows.mT).view(6, 3, -1)
        np.testing.assert_allclose(part.inner(turned), by_matrix, **EXACT)
        coefficients = torch.from_numpy(np.random.default_rng(0).normal(size=(6, part.n)))
        by_matrix = (coefficients.view(2, 3, part.n) @ rows).flatten(0, 1)
        np.testing.assert_allclose(part.combine(coefficients), by_matrix, **EXACT)


@looped("lr", [0.05, [0.01, 0.3]], ids=["one rate", "two rates"])
@looped("matrix", ["hadamard", "rademacher", {"kind": "hadamard", "repeat": 1}])
@looped("rule", ["egu", "egu-pm", "winnow", "private-rates"])
@pytest.mark.slow
def test_two_factor_steps_on_signed_examples_match_exponentials_of_the_gradient(
    rule, matrix, lr, monkeypatch
):
    words = {
        "learners": {"it": {"update": {"kind": rule, "lr": lr}}},
        "target": "all",
        "replicas": 2,
        "d": 16,
        "path": "dense",
    }
    expected = run(experiment(matrix, **words)).curves
    asked = []
    chosen = DenseInstances.chosen
    monkeypatch.setattr(
        DenseInstances, "chosen", lambda *arguments: asked.append(arguments) or chosen(*arguments)
    )
    monkeypatch.setattr(descent, "MANY", 0)
    for curve, twin in zip(run(experiment(matrix, **words)).curves, expected, strict=True):
        np.testing.assert_allclose(curve.mean("loss"), twin.mean("loss"), **EXACT)
        np.testing.assert_allclose(curve.weights, twin.weights, **EXACT)
    assert bool(asked) == (rule != "private-rates")


@pytest.mark.slow
def test_training_on_a_million_features_builds_no_matrix(monkeypatch):
    d, rows = 1 << 20, Walsh.rows

    def few(self, numbers, times=None):
        assert numbers.numel() <= MOST_ROWS
        return rows(self, numbers, times)

    monkeypatch.setattr(Walsh, "rows", few)
    learners = {"GD": gd(1 / (2 * d)), "EGU±": {"update": {"kind": "egu-pm", "lr": 0.15}}}
    protocol = {"kind": "one-pass", "examples": 60}
    trace = run(experiment("hadamard", learners=learners, d=d, protocol=protocol, dtype="float32"))
    gd_curve, egu = trace.curves
    np.testing.assert_allclose(gd_curve.mean("loss"), 1 - np.arange(61) / d, rtol=0, atol=1e-8)
    assert egu.mean("loss")[-1] < 0.01
    assert egu.weights.nbytes <= 32 << 20


def test_errors_of_a_large_run_are_a_subset_of_the_complete_errors(monkeypatch):
    words = {
        "d": 64,
        "learners": {"momentum": {"update": "momentum"}, "EGU": {"update": {"kind": "egu", "lr": 0.1}}},
    }
    unthinned = run(experiment(path="structured", **words))
    monkeypatch.setattr(evaluators, "MOST_CELLS", 0)
    for curve, full in zip(run(experiment(path="structured", **words)).curves, unthinned.curves, strict=True):
        measured = ~np.isnan(curve.mean("error"))
        few = [*range(8), *range(8, 16, 2), *range(16, 32, 4), *range(32, 65, 8)]
        assert np.flatnonzero(measured).tolist() == few
        assert np.array_equal(curve.mean("error")[measured], full.mean("error")[measured])
        assert np.array_equal(curve.mean("loss"), full.mean("loss"))
