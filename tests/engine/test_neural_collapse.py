"""Neural collapse against loops over rows and classes, and the limit of unconstrained features."""

import numpy as np
import pytest
from building import data_of, experiment, gd
from scipy.optimize import minimize

from engine.core import catalogue
from engine.core.streams import Streams
from engine.measures.neural_collapse import LABELS
from engine.runtime.run import run

CLASSES, ROWS, D, WIDTH = 3, 11, 5, 6
NET = {"kind": "dense", "widths": [7, WIDTH], "activation": "relu", "cw": 2, "biases": True, "outputs": "m"}


@pytest.fixture(scope="module")
def recorded():
    described = experiment(
        {"kind": "clusters", "classes": CLASSES, "n": ROWS, "sigma": 2.0},
        "classes",
        {"it": gd(0.1, **NET)},
        d=D,
        protocol={"kind": "steps", "steps": 1, "records": 1, "loss": "cross-entropy"},
        measures=[{"kind": "neural-collapse", "quantity": quantity} for quantity in LABELS],
        dtype="float64",
        replicas=2,
    )
    starts = described.learners[0].architecture.start(Streams([0, 1])("init"), D)
    rows = data_of(described).instances.rows.numpy()
    curve = run(described).curves[0]
    measured = {measure.quantity: curve.values(measure.name)[0] for measure in described.run.measures}
    return measured, starts, rows


def at_start(starts, rows, replica):
    """Features of every row, predictions, and the weights of the output."""
    tensors = {tensor_name: tensor[replica] for tensor_name, tensor in starts.items()}
    features = []
    for x in rows[replica]:
        first = np.maximum(tensors["W1"] @ x + tensors.get("b1", np.zeros((7, 1)))[:, 0], 0)
        features.append(np.maximum(tensors["W2"] @ first + tensors.get("b2", np.zeros((WIDTH, 1)))[:, 0], 0))
    bias = tensors.get("b3", np.zeros((CLASSES, 1)))[:, 0]
    return np.array(features), [tensors["W3"] @ h + bias for h in features], tensors["W3"]


@pytest.mark.parametrize("replica", range(2))
def test_neural_collapse_matches_loops_over_rows_and_classes(recorded, replica):
    measured, starts, rows = recorded
    features, scores, weights = at_start(starts, rows, replica)
    classes = [row % CLASSES for row in range(ROWS)]
    means = [np.mean([features[row] for row in range(ROWS) if classes[row] == c], 0) for c in range(CLASSES)]
    centre = sum(means) / CLASSES
    within, between = np.zeros((WIDTH, WIDTH)), np.zeros((WIDTH, WIDTH))
    misses = 0
    for row, h in enumerate(features):
        apart = h - means[classes[row]]
        within += np.outer(apart, apart) / ROWS
        distances = [np.linalg.norm(h - mean) for mean in means]
        misses += np.argmin(distances) != np.argmax(scores[row])
    for mean in means:
        between += np.outer(mean - centre, mean - centre) / CLASSES
    cosines = []
    for c in range(CLASSES):
        for other in range(c):
            a, b = means[c] - centre, means[other] - centre
            cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    stacked = np.array([mean - centre for mean in means])
    expected = {
        "within": np.trace(within @ np.linalg.pinv(between, rcond=1e-9)) / CLASSES,
        "spread": np.trace(within) / np.trace(between),
        "angles": max(abs(cosine + 1 / (CLASSES - 1)) for cosine in cosines),
        "weights": np.linalg.norm(weights / np.linalg.norm(weights) - stacked / np.linalg.norm(stacked)),
        "centres": misses / ROWS,
    }
    for quantity, number in expected.items():
        assert measured[quantity][replica] == pytest.approx(number, rel=1e-9), quantity


@pytest.mark.parametrize(
    ("target", "outputs", "reason"),
    [
        ("coin", "m", "labels are one-hot, with one target for each class"),
        ("classes", 1, "an output for each class"),
    ],
)
def test_neural_collapse_requires_one_net_that_predicts_classes(target, outputs, reason):
    matrix = {"kind": "clusters", "classes": CLASSES, "n": ROWS}
    described = experiment(matrix, target, {"it": gd(0.1, **{**NET, "outputs": outputs})}, d=D)
    measure = catalogue.make("measures", "neural-collapse")
    assert reason in measure.refuses(described.learners[0], described.problem)


def test_unconstrained_instances_have_one_coordinate_each_and_alternating_classes():
    matrix = catalogue.make("matrices", "unconstrained", classes=3, each=2)
    streams = Streams([0, 1])
    np.testing.assert_allclose(matrix.rows(streams), np.sqrt(2) * np.stack([np.eye(6)] * 2))
    assert matrix.row_numbers(streams).classes.tolist() == [[0, 1, 2, 0, 1, 2]] * 2
    assert matrix.structure().unconstrained == 2
    assert catalogue.make("matrices", "unconstrained", rotate=True).structure().unconstrained is None


def least_cross_entropy(classes, rows, width, rate):
    """The cross-entropy at the minimum over weights and features, by quasi-Newton steps."""
    labels = np.eye(classes)[np.arange(classes * rows) % classes].T  # [C, N]

    def objective(numbers):
        weights = numbers[: classes * width].reshape(classes, width)
        features = numbers[classes * width :].reshape(width, -1)
        scores = weights @ features
        logarithms = scores - scores.max(0)
        logarithms = logarithms - np.log(np.exp(logarithms).sum(0))
        cost = -(labels * logarithms).sum() / labels.shape[1]
        slopes = (np.exp(logarithms) - labels) / labels.shape[1]
        penalty = rate / 2 * (weights**2).sum() + rate / (2 * rows) * (features**2).sum()
        gradient = np.concatenate(
            [
                (slopes @ features.T + rate * weights).ravel(),
                (weights.T @ slopes + rate / rows * features).ravel(),
            ]
        )
        return cost + penalty, gradient

    size = classes * width + width * classes * rows
    start = np.random.default_rng(0).standard_normal(size)
    options = {"maxiter": 10**5, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-11}
    best = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    weights, features = best[: classes * width].reshape(classes, width), best[classes * width :]
    scores = weights @ features.reshape(width, -1)
    chances = np.exp(scores) / np.exp(scores).sum(0)
    return -np.log((labels * chances).sum(0)).mean()


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.4])
def test_the_cross_entropy_limit_matches_a_numerical_minimum(rate):
    """Features collapse to 0 from λ = 1/C on."""
    net = {"kind": "dense", "widths": [4], "outputs": "m", "l2_penalty": rate}
    described = experiment(
        {"kind": "unconstrained", "classes": 3, "each": 2},
        "classes",
        {"it": gd(0.1, **net)},
        protocol={"kind": "steps", "steps": 1, "records": 1},
        loss="cross-entropy",
    )
    (line,) = (line for line in run(described).lines if line.kind == "collapsed-cross-entropy")
    (along,) = line.by_curve(run(described).curves).values()
    assert along.values == pytest.approx(least_cross_entropy(3, 2, 4, rate), rel=1e-6)
