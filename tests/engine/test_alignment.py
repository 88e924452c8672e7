"""Alignment of targets under permutations and sign flips, and what first gradients see of them."""

from itertools import permutations, product

import numpy as np
import pytest
from building import beginning, experiment, gd

from engine.core import catalogue
from engine.formulas import alignment
from engine.runtime.run import run

CUBE = {bits: np.array(list(product((1.0, -1.0), repeat=bits))) for bits in (3, 8)}
X = CUBE[8].T
TARGETS = {
    "x₁": (X[0], 1 / 8),
    "x₁x₂": (X[0] * X[1], 1 / 28),
    "x₁x₂x₃": (X[0] * X[1] * X[2], 1 / 56),
    "staircase": (X[0] + X[0] * X[1] + X[0] * X[1] * X[2], 1 / 24),
    "and of three": (1.0 * ((X[0] > 0) & (X[1] > 0) & (X[2] > 0)) - 1 / 8, 3 / 56),
    "constant": (np.full(256, -7.0), 1.0),
}


@pytest.mark.parametrize("name", TARGETS)
def test_alignments_are_those_printed_whatever_the_order_of_rows(name):
    labels, expected = TARGETS[name]
    order = np.random.default_rng(0).permutation(256)
    assert alignment.signed_permutations(CUBE[8][order], 3 * labels[order]) == pytest.approx(expected)
    assert alignment.weights_by_degree(CUBE[8], labels).sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_the_alignment_is_the_largest_eigenvalue_over_all_images_of_the_target(seed):
    rows, labels = CUBE[3], np.random.default_rng(seed).standard_normal(8)
    labels = labels / np.sqrt(np.square(labels).mean())
    numbers = {tuple(row): number for number, row in enumerate(rows)}
    images = []
    for order in permutations(range(3)):
        for signs in product((1, -1), repeat=3):
            images.append([labels[numbers[tuple(row[list(order)] * signs)]] for row in rows])
    second = np.mean([np.outer(image, image) for image in images], 0) / 8
    assert alignment.signed_permutations(rows, labels) == pytest.approx(np.linalg.eigvalsh(second)[-1])


def described(learner=None, **words):
    matrix = {"kind": "xor", "d": 16, "features": "bits", **words.pop("matrix", {})}
    target = {"kind": "feature", "index": 3}
    net = learner or {"architecture": {"kind": "dense", "widths": [5], "activation": "relu"}}
    claim = {"kind": "value", "text": "It is", "curve": "net", "at": 0, "below": 9}
    claims = [{**claim, "measure": {"kind": "gradient-alignment"}}]
    settings = {"protocol": "at-init", "replicas": 3, "claims": claims, **words}
    return experiment(matrix, target, {"net": net}, **settings)


def test_the_share_of_the_gradient_is_that_of_a_net_written_out():
    whole = described()
    hypothesis, data = beginning(whole)
    first, second = (hypothesis.tensors[name].numpy() for name in ("W1", "W2"))
    expected = []
    for replica, (rows, labels) in enumerate(
        zip(data.instances.rows.numpy(), data.labels.numpy(), strict=True)
    ):
        signals = rows @ first[replica].T  # [n, h]
        slopes = second[replica] * (signals > 0)
        gradients = np.concatenate(
            [(slopes[:, :, None] * rows[:, None]).reshape(len(rows), -1), np.maximum(signals, 0)], 1
        )
        expected.append(np.square(labels @ gradients / len(rows)).sum() / np.square(gradients).sum(1).mean())
    (curve,) = run(whole).curves
    np.testing.assert_allclose(curve.values("gradient-alignment")[0], expected, rtol=1e-10)


def test_the_line_is_the_alignment_of_the_labels_drawn():
    trace = run(described())
    (line,) = (one for one in trace.lines if one.kind == "alignment")
    assert line.values == pytest.approx([1 / 6])
    assert line.applies_to == ["net"]


@pytest.mark.parametrize(("words", "said"), [
    ({"matrix": {"features": "products"}}, "requires all vectors of ±1"),
    ({"matrix": {"repeat": 1}}, "requires all vectors of ±1"),
    ({"matrix": {"rotate": True}}, "requires all vectors of ±1"),
    ({"protocol": "one-pass", "learner": gd(0.1, kind="dense", widths=[5])}, "at its start"),
])  # fmt: skip
def test_it_says_where_it_does_not_hold(words, said):
    finding = catalogue.make("theory", "alignment").holds(described(**words))
    assert not finding.holds
    assert said in finding.reason


@pytest.mark.parametrize("architecture", ["spindly", {"kind": "dense", "widths": [5], "init": "identity"}])
def test_it_says_whom_it_does_not_bind(architecture):
    whole = described({"architecture": architecture})
    finding = catalogue.make("theory", "alignment").binds(whole.learners[0], whole)
    assert (finding.holds, "may prefer bits or signs" in finding.reason) == (False, True)


def test_a_matrix_that_is_declared_the_cube_has_every_vector_of_signs_once():
    rows = beginning(described())[1].instances.rows.numpy()
    for each in rows:
        assert {tuple(row) for row in each} == set(product((1.0, -1.0), repeat=4))
        assert len(each) == 16
    declared = [
        kind
        for kind, member in catalogue.members("matrices").items()
        if "d" in member.__struct_fields__ and catalogue.make("matrices", kind, d=4).is_cube
    ]
    assert declared == ["xor"]
