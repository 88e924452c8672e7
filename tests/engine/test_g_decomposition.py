"""The parts of the Gauss–Newton matrix of cross-entropy, against sums over rows and classes one by one."""

import numpy as np
import pytest
from building import experiment, gd

from engine.core import catalogue
from engine.runtime.run import run

CLASSES, ROWS, D, WIDTH = 3, 9, 4, 5
NUDGE = 1e-5


def outputs(tensors, x):
    """The predictions of a tanh net with one hidden layer."""
    return tensors["W2"] @ np.tanh(tensors["W1"] @ x)


def jacobian(tensors, x):
    """∂ŷ/∂θ [C, P] by central differences."""
    columns = []
    for tensor_name in ("W1", "W2"):
        for place in np.ndindex(tensors[tensor_name].shape):
            ends = []
            for sign in (1, -1):
                nudged = tensors[tensor_name].copy()
                nudged[place] += sign * NUDGE
                ends.append(outputs({**tensors, tensor_name: nudged}, x))
            columns.append((ends[0] - ends[1]) / (2 * NUDGE))
    return np.array(columns).T


def parts_of(tensors, rows, classes):
    """G by its definition, and the parts of classes, pairs, rows within classes, and true labels."""
    size = sum(tensor.size for tensor in tensors.values())
    matrix, parts = np.zeros((size, size)), [np.zeros((size, size)) for _ in range(4)]
    gradients, weights = {}, {}
    for row, x in enumerate(rows):
        slopes, scores = jacobian(tensors, x), outputs(tensors, x)
        chances = np.exp(scores) / np.exp(scores).sum()
        matrix += slopes.T @ (np.diag(chances) - np.outer(chances, chances)) @ slopes / ROWS
        for label in range(CLASSES):
            gradients[row, label] = slopes.T @ (chances - np.eye(CLASSES)[label])
            weights[row, label] = chances[label] / ROWS
    for label in range(CLASSES):
        members, other_labels = np.flatnonzero(classes == label), [c for c in range(CLASSES) if c != label]
        shares = {c: sum(weights[row, c] for row in members) for c in other_labels}
        means = {
            c: sum(weights[row, c] * gradients[row, c] for row in members) / shares[c] for c in other_labels
        }
        total = sum(shares.values())
        mean = sum(shares[c] * means[c] for c in other_labels) / total
        parts[0] += total * np.outer(mean, mean)
        for c in other_labels:
            parts[1] += shares[c] * np.outer(means[c] - mean, means[c] - mean)
            for row in members:
                apart = gradients[row, c] - means[c]
                parts[2] += weights[row, c] * np.outer(apart, apart)
        for row in members:
            parts[3] += weights[row, label] * np.outer(gradients[row, label], gradients[row, label])
    return matrix, parts


@pytest.fixture(scope="module")
def described():
    kinds = [
        {"kind": "g-decomposition", "quantity": q} for q in ("gap", "class-rank", "cross-rank", "overlap")
    ]
    net = {"kind": "dense", "widths": [WIDTH], "activation": "tanh", "outputs": "m"}
    return experiment(
        {"kind": "clusters", "classes": CLASSES, "n": ROWS},
        "classes",
        {"it": gd(0.1, **net)},
        d=D,
        protocol={"kind": "steps", "steps": 1, "records": 1, "loss": "cross-entropy"},
        measures=kinds,
        dtype="float64",
        replicas=2,
    )


def test_the_parts_of_g_sum_to_g_with_the_expected_ranks(described):
    streams = described.run.random_streams()
    starts = described.learners[0].architecture.start(streams("init"), D)
    rows = described.problem.matrix.rows(streams)
    classes = described.problem.matrix.row_numbers(streams).classes
    curve = run(described).curves[0]
    for replica in range(2):
        tensors = {tensor_name: tensor[replica] for tensor_name, tensor in starts.items()}
        matrix, parts = parts_of(tensors, rows[replica], classes[replica])
        np.testing.assert_allclose(sum(parts), matrix, atol=1e-8 * np.linalg.norm(matrix))
        gap, *ranks, overlap = (curve.values(measure.name)[0, replica] for measure in described.run.measures)
        assert gap < 1e-12
        assert ranks == [np.linalg.matrix_rank(part, 1e-7 * np.linalg.norm(part, 2)) for part in parts[:2]]
        assert ranks == [CLASSES, CLASSES * (CLASSES - 2)]
        tops, tops_of_classes = (np.linalg.eigh(part)[1][:, -CLASSES:] for part in (matrix, parts[0]))
        expected = np.linalg.norm(tops.T @ tops_of_classes) ** 2 / CLASSES
        assert overlap == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"target": "coin"}, "labels are one-hot, with one target for each class"),
        ({"outputs": 1}, "an output for each class"),
    ],
)
def test_the_decomposition_requires_a_net_that_predicts_classes(words, reason):
    net = {"kind": "dense", "widths": [WIDTH], "outputs": words.get("outputs", "m")}
    described = experiment(
        {"kind": "clusters", "classes": CLASSES, "n": ROWS},
        words.get("target", "classes"),
        {"it": gd(0.1, **net)},
        d=D,
    )
    measure = catalogue.make("measures", "g-decomposition")
    assert reason in measure.refuses(described.learners[0], described.problem)
