"""Alignment of targets under permutations and sign flips, and with first gradients."""

from itertools import permutations, product

import numpy as np
import pytest
from building import beginning, experiment, gd
from msgspec import structs
from scipy.integrate import quad
from scipy.special import eval_gegenbauer, gammaln

from engine.core import catalogue
from engine.core.streams import Streams
from engine.formulas import alignment
from engine.measures.target_alignment import FORMULAS
from engine.pictures.picture import Picture
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


@pytest.mark.parametrize("target", TARGETS)
def test_alignments_equal_the_printed_values_in_any_row_order(target):
    labels, expected = TARGETS[target]
    order = np.random.default_rng(0).permutation(256)
    assert alignment.signed_permutations(CUBE[8][order], 3 * labels[order]) == pytest.approx(expected)
    assert alignment.weights_by_degree(CUBE[8], labels).sum() == pytest.approx(1)


ALONE = {
    "x₁": (1, 1 / 8),
    "x₁x₂": (1, 1 / 28),
    "x₁x₂x₃": (1, 1 / 56),
    "staircase": (1 / 3, 5 / 84),
    "and of three": (1 / 7, 0.209184),
    "constant": (1, 1),
}


@pytest.mark.parametrize("target", TARGETS)
def test_alignments_under_flips_or_permutations_alone_equal_the_printed_values(target):
    labels, (flips, permuted) = TARGETS[target][0], ALONE[target]
    order = np.random.default_rng(1).permutation(256)
    assert alignment.sign_flips(CUBE[8][order], -2 * labels[order]) == pytest.approx(flips)
    assert alignment.permutations(CUBE[8][order], -2 * labels[order]) == pytest.approx(permuted, abs=5e-7)


def test_alignment_under_permutations_is_nan_above_the_limit_of_images(monkeypatch):
    monkeypatch.setattr(alignment, "MOST_IMAGES", 7)
    assert np.isnan(alignment.permutations(CUBE[8], X[0]))
    monkeypatch.setattr(alignment, "MOST_IMAGES", 8)
    assert alignment.permutations(CUBE[8], X[0]) == pytest.approx(1 / 8)


@pytest.mark.parametrize("group", ["sign-flips", "permutations", "signed-permutations"])
@pytest.mark.parametrize("seed", range(2))
def test_alignment_is_the_largest_eigenvalue_of_the_second_moment_of_target_images(seed, group):
    rows, labels = CUBE[3], np.random.default_rng(seed).standard_normal(8)
    labels = labels / np.sqrt(np.square(labels).mean())
    numbers = {tuple(row): number for number, row in enumerate(rows)}
    orders = permutations(range(3)) if "permutations" in group else [(0, 1, 2)]
    images = []
    for order in orders:
        for signs in product((1, -1), repeat=3) if "sign" in group else [(1, 1, 1)]:
            images.append([labels[numbers[tuple(row[list(order)] * signs)]] for row in rows])
    second = np.mean([np.outer(image, image) for image in images], 0) / 8
    measure = catalogue.make("measures", "target-alignment", group=group)
    assert FORMULAS[measure.group](rows, labels) == pytest.approx(np.linalg.eigvalsh(second)[-1])


def test_target_alignment_is_measured_only_on_the_cube():
    pictures = [
        Picture(measure=catalogue.make("measures", "target-alignment", group=group)) for group in FORMULAS
    ]
    planned = structs.replace(described(), pictures=tuple(pictures))
    curve = run(planned).curves[0]
    values = [curve.values(picture.measure.name)[0] for picture in pictures]
    np.testing.assert_allclose(values, [[1] * 3, [1 / 6] * 3, [1 / 6] * 3])
    other = experiment("gaussian", d=4)
    refused = pictures[0].measure.refuses(other.learners[0], other.problem)
    assert refused == "the rows are all vectors of ±1, with a single target"


PROFILES = {
    "sign": np.sign,
    "linear": np.asarray,
    "cubic": lambda t: t**3 - t,
    "step": lambda t: 1.0 * (t > 0),
}


@pytest.mark.parametrize("profile_name", PROFILES)
@pytest.mark.parametrize("d", [3, 4, 10, 65])
def test_alignment_under_rotations_is_the_largest_normalised_squared_gegenbauer_coefficient(profile_name, d):
    """Each by adaptive quadrature, with scipy's polynomials."""
    profile = PROFILES[profile_name]

    def mean(f):
        weighed = [
            quad(lambda t: f(t) * (1 - t * t) ** ((d - 3) / 2), *ends)[0] for ends in ((-1, 0), (0, 1))
        ]
        total = quad(lambda t: (1 - t * t) ** ((d - 3) / 2), -1, 1)[0]
        return sum(weighed) / total

    size = mean(lambda t: profile(np.array(t)) ** 2)
    order = (d - 2) / 2

    def coefficient(k):
        shape = eval_gegenbauer(k, order, 1.0)
        return mean(lambda t: profile(np.array(t)) * eval_gegenbauer(k, order, t) / shape)

    expected = max(coefficient(k) ** 2 for k in range(8)) / size
    assert alignment.rotations(profile, d) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("d", "printed"), [(10, 0.066920), (64, 0.010025)])
def test_a_sign_target_has_the_printed_alignment_under_rotations(d, printed):
    closed = np.exp(gammaln(d / 2) - gammaln((d + 1) / 2)) ** 2 / np.pi
    assert alignment.rotations(np.sign, d) == pytest.approx(closed)
    assert closed == pytest.approx(printed, abs=5e-7)


def test_alignment_under_rotations_is_measured_only_on_a_sphere():
    measure = catalogue.make("measures", "target-alignment", group="rotations")
    values = []
    for labels in ("soft", "sign"):
        net = {"net": {"architecture": "linear"}}
        planned = experiment(
            {"kind": "sphere", "n": 5, "d": 10}, "feature", net, labels=labels, replicas=3, protocol="at-init"
        )
        planned = structs.replace(planned, pictures=(Picture(measure=measure),))
        values.append(run(planned).curves[0].values(measure.name)[0])
    np.testing.assert_allclose(values, [[0.1] * 3, [0.066920] * 3], rtol=1e-5)
    why = "for rotations, labels are xᵀw* or their signs, on a sphere in d ≥ 3 dimensions"
    for words in (
        {"noise": 0.1},
        {"labels": "bernoulli"},
        {"matrix": "gaussian"},
        {"d": 2, "target": "constant"},
    ):
        other = experiment(**{"matrix": "sphere", "d": 4, **words})
        assert measure.refuses(other.learners[0], other.problem) == why


def test_matrices_declared_on_a_sphere_have_rows_of_equal_norm():
    for kind in catalogue.members("matrices"):
        if kind != "file" and (matrix := catalogue.make("matrices", kind)).structure().on_sphere:
            rows = matrix.rows(Streams([0]))[0]
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.linalg.norm(rows[0]))
            assert matrix.second_moment is not None
    assert catalogue.make("matrices", "sphere").structure().on_sphere
    assert not catalogue.make("matrices", "gaussian").structure().on_sphere


def described(learner=None, **words):
    matrix = {"kind": "xor", "d": 16, "features": "bits", **words.pop("matrix", {})}
    target = {"kind": "feature", "index": 3}
    net = learner or {"architecture": {"kind": "dense", "widths": [5], "activation": "relu"}}
    claim = {"kind": "value", "text": "It is", "curve": "net", "at": 0, "below": 9}
    claims = [{**claim, "measure": {"kind": "gradient-alignment"}}]
    settings = {"protocol": "at-init", "replicas": 3, "claims": claims, **words}
    return experiment(matrix, target, {"net": net}, **settings)


def test_gradient_alignment_equals_a_hand_written_gradient():
    planned = described()
    hypothesis, data = beginning(planned)
    first, second = (hypothesis.tensors[tensor_name].numpy() for tensor_name in ("W1", "W2"))
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
    (curve,) = run(planned).curves
    np.testing.assert_allclose(curve.values("gradient-alignment")[0], expected, rtol=1e-10)


def test_the_alignment_line_equals_the_alignment_of_the_drawn_labels():
    trace = run(described())
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "alignment")
    assert line.values == pytest.approx([1 / 6])
    assert line.applies_to == ["net"]


@pytest.mark.parametrize(("words", "reason"), [
    ({"matrix": {"features": "products"}}, "requires all vectors of ±1"),
    ({"matrix": {"repeat": 1}}, "requires all vectors of ±1"),
    ({"matrix": {"rotate": True}}, "requires all vectors of ±1"),
    ({"protocol": "one-pass", "learner": gd(0.1, kind="dense", widths=[5])}, "at its start"),
])  # fmt: skip
def test_the_alignment_line_states_its_unmet_requirement(words, reason):
    finding = catalogue.make("theory", "alignment").holds(described(**words))
    assert not finding.holds
    assert reason in finding.reason


@pytest.mark.parametrize("architecture", ["spindly", {"kind": "dense", "widths": [5], "init": "identity"}])
def test_the_alignment_line_gives_the_reason_for_an_unbound_learner(architecture):
    planned = described({"architecture": architecture})
    finding = catalogue.make("theory", "alignment").binds(planned.learners[0], planned)
    assert (finding.holds, "may treat bits or signs differently" in finding.reason) == (False, True)


def test_the_declared_cube_holds_every_sign_vector_once():
    rows = beginning(described())[1].instances.rows.numpy()
    for cube in rows:
        assert {tuple(row) for row in cube} == set(product((1.0, -1.0), repeat=4))
        assert len(cube) == 16
    declared = [
        kind
        for kind, member in catalogue.members("matrices").items()
        if "d" in member.__struct_fields__ and catalogue.make("matrices", kind, d=4).structure().is_cube
    ]
    assert declared == ["xor"]
