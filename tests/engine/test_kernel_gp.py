"""Functions of one number by kernels: the posterior of a Gaussian process, random features, and examples."""

import math

import numpy as np
import pytest
import torch
from building import beginning, data_of, raw

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.pictures.view import line_of
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import reading
from engine.theory.gp_band import GPBand

INTERVAL = {"kind": "interval", "n": 7, "low": -1, "high": 2}
SINE = {"kind": "function", "f": "sin(2*x)"}
PLACES = np.linspace(-1, 2, 101)


def described(solvers, matrix=INTERVAL, picture=None, **more):
    learners = {learner_name: {"solver": solver} for learner_name, solver in solvers.items()}
    words = raw(matrix, SINE, learners, replicas=3, noise=0.2, protocol="at-init", dtype="float64", **more)
    words["pictures"] = [picture or {"x": "input", "measure": "function"}]
    return reading.parse(words)


def examples(experiment):
    """The instances and labels of every replica."""
    data = data_of(experiment)
    return list(zip(data.instances.rows[:, :, 0].double().numpy(), data.labels.double().numpy(), strict=True))


def rbf(rows, other, width):
    return np.exp(-((rows[:, None] - other) ** 2) / (2 * width**2))


def functions(experiment, name):
    """f at every place, of every replica."""
    return run(experiment).curve(name).array("function").values[0]


@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_the_kernel_function_is_evaluated_between_the_points_of_each_replica(lam):
    it = described({"K": {"kind": "kernel", "width": 0.7, "lam": lam}})
    for function, (x, y) in zip(functions(it, "K"), examples(it), strict=True):
        weights = np.linalg.solve(rbf(x, x, 0.7) + lam * np.eye(len(x)), y)
        np.testing.assert_allclose(function, rbf(PLACES, x, 0.7) @ weights, atol=1e-10)


def test_the_function_of_a_net_equals_its_predictions():
    words = raw(INTERVAL, SINE, {"net": {"architecture": {"kind": "dense", "widths": [4]}}}, replicas=2)
    words |= {"protocol": "at-init", "pictures": [{"x": "input", "measure": "function"}]}
    words["run"]["dtype"] = "float64"
    it = reading.parse(words)
    fit, _ = beginning(it)
    first, second = (fit.tensors[tensor_name].numpy() for tensor_name in ("W1", "W2"))
    expected = np.einsum("bhd,bhe->bde", first, second.reshape(len(first), 4, 1))[:, 0, 0, None] * PLACES
    np.testing.assert_allclose(functions(it, "net"), expected, atol=1e-12)


def test_the_band_is_the_gaussian_posterior_given_the_examples():
    """Of the joint covariance of labels and values, by the inverse of its precision."""
    it = described({"K": {"kind": "kernel", "width": 0.7, "lam": 0.3}})
    upper, lower = (line for line in run(it).lines if line.kind == "gp-band")
    chosen_places = [0, 40, 100]
    for replica, (x, y) in enumerate(examples(it)):
        inputs = np.concatenate([x, PLACES[chosen_places]])
        joint = rbf(inputs, inputs, 0.7) + np.diag([0.3] * 7 + [1e-9] * 3)
        precision = np.linalg.inv(joint)
        covariance = np.linalg.inv(precision[7:, 7:])
        mean, deviation = -covariance @ precision[7:, :7] @ y, np.sqrt(np.diag(covariance))
        for line, edge in ((upper, mean + deviation), (lower, mean - deviation)):
            np.testing.assert_allclose(line.of_curves["K"].values[replica, 0, chosen_places], edge, atol=1e-6)


def test_the_band_binds_only_penalised_kernels_and_has_two_lines():
    it = described(
        {"K": {"kind": "kernel", "lam": 0.1}, "fit": "kernel", "line": "lls"},
        picture={"x": "input", "measure": "function", "lines": ["gp-band"]},
    )
    band = GPBand()
    assert [band.binds(learner, it).holds for learner in it.learners] == [True, False, False]
    drawn = view(it.pictures[0], of_one(it, run(it)))
    assert [line.name for line in drawn.lines] == ["upper gp-band of K", "lower gp-band of K"]
    assert [line.called for line in drawn.lines] == [
        "upper posterior edge",
        "lower posterior edge",
    ]
    middle = (drawn.lines[0].y + drawn.lines[1].y) / 2
    np.testing.assert_allclose(middle, drawn.curve("K").y, atol=1e-10)
    assert (drawn.lines[0].y > drawn.lines[1].y).all()
    assert line_of(drawn, "gp-band", "K") is drawn.lines[0]


def test_the_band_requires_all_examples_from_the_first_step():
    it = described({"K": {"kind": "kernel", "lam": 0.1}})
    words = raw(INTERVAL, SINE, {"K": {"solver": {"kind": "kernel", "lam": 0.1}}}, protocol="one-pass")
    assert GPBand().holds(it).holds
    assert "the same from the first step on" in GPBand().holds(reading.parse(words)).reason


def drawn_features(x, seed, count, width):
    """√(2/D) cos(ωx + b), of the stream that a replica has."""
    draws = Streams([seed])("features")
    frequencies, phases = draws.normal(count, 1)[0, :, 0] / width, draws.uniform(1, count)[0, 0]
    return math.sqrt(2 / count) * np.cos(np.outer(x, frequencies) + 2 * math.pi * phases)


@pytest.mark.parametrize("count", [3, 40])
def test_random_features_are_ridge_regression_on_cosines(count):
    """In its primal form θ = (ΦᵀΦ + λI)⁻¹Φᵀy, with fewer features than examples and with more."""
    solver = {"kind": "random-features", "features": count, "lam": 0.05, "width": 0.7}
    it = described({"F": solver}, measures=["kernel-norm"])
    norms = run(it).curve("F").values("kernel-norm")[0]
    together = zip(functions(it, "F"), examples(it), it.run.random_streams().seeds, norms, strict=True)
    for function, (x, y), seed, norm in together:
        features = drawn_features(x, seed, count, 0.7)
        theta = np.linalg.solve(features.T @ features + 0.05 * np.eye(count), features.T @ y)
        np.testing.assert_allclose(function, drawn_features(PLACES, seed, count, 0.7) @ theta, atol=1e-10)
        assert norm == pytest.approx(theta @ theta, rel=1e-9)


def test_mean_inner_products_of_random_features_equal_the_kernel():
    x = np.array([-1, 0.2, 0.5])
    products = np.stack([f @ f.T for f in (drawn_features(x, seed, 5, 0.7) for seed in range(4000))])
    error = products.std(0) / math.sqrt(len(products))
    assert (abs(products.mean(0) - rbf(x, x, 0.7)) < 4 * error).all()


def test_kernel_norm_is_the_rkhs_norm():
    it = described({"K": {"kind": "kernel", "width": 0.7, "lam": 0.2}}, measures=["kernel-norm"])
    norms = run(it).curve("K").values("kernel-norm")[0]
    for kernel_norm, (x, y) in zip(norms, examples(it), strict=True):
        gram = rbf(x, x, 0.7)
        dual = np.linalg.solve(gram + 0.2 * np.eye(len(x)), y)
        assert kernel_norm == pytest.approx(dual @ gram @ dual, rel=1e-10)


def test_random_features_are_unchanged_if_they_rotate_with_the_instances():
    solver = catalogue.make("solvers", "random-features", features=50)
    words = raw("gaussian", "feature", {"F": {"solver": solver.kind}}, d=4, dtype="float64")
    data = data_of(reading.parse(words))
    straight, turned = (solver.begin(data, Streams([0])) for _ in range(2))
    turn = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64, generator=torch.manual_seed(1)))[0]
    turned.rotate(turn)
    rows = data.instances.rows
    np.testing.assert_allclose(straight.values(rows, rows), turned.values(rows @ turn.T, rows @ turn.T))


def test_a_picture_shows_the_examples_of_the_first_replica():
    it = described({"K": "kernel"}, picture={"x": "input", "measure": "function", "points": "train"})
    x, y = view(it.pictures[0], of_one(it, run(it))).points
    expected = examples(it)[0]
    np.testing.assert_array_equal((x, y), expected)


def test_a_picture_shows_only_training_examples():
    words = raw(INTERVAL, SINE, {"K": {"solver": "kernel"}}, replicas=1)
    words |= {"protocol": {"kind": "steps", "steps": 2, "train": 4}}
    words["pictures"] = [{"x": "input", "measure": "function", "points": "train"}]
    it = reading.parse(words)
    x, _ = view(it.pictures[0], of_one(it, run(it))).points
    np.testing.assert_allclose(x, examples(it)[0][0][:4], atol=1e-6)


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        ({"x": "step", "measure": "loss"}, "only beside a learned function, not beside loss; leave"),
        (
            {"x": "input", "measure": "function", "times": "2"},
            "times changes the scale of the y-axis",
        ),
    ],
)
def test_only_pictures_of_functions_may_show_examples(picture, reason):
    with pytest.raises(BadInput, match=reason) as caught:
        described({"K": "kernel"}, picture={**picture, "points": "train"})
    assert caught.value.where == "pictures[0].points"


def test_the_function_measure_requires_an_interval():
    with pytest.raises(BadInput, match="points of an interval"):
        described({"K": "kernel"}, matrix={**INTERVAL, "repeat": 1})
