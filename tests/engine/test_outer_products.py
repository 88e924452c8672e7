"""Outer products: their rows, the bounds on their learners, and the rules that attain these."""

import itertools

import numpy as np
import pytest
import torch
from building import LLS, begun, data_of, experiment, gd

from engine.core.groups import ROTATIONS, SIGNED_PERMUTATIONS, rotations
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.formulas.parities import SignProducts
from engine.judging.judgement import certificates
from engine.problems.hadamard_matrices import hadamard
from engine.problems.instances import DenseInstances
from engine.problems.matrices.outer import Outer
from engine.runtime.run import run
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict
from engine.theory.ladder import outside
from engine.theory.percolation import unconnected
from engine.theory.percolation_limit import limit

SHAPES = [(4, 4), (2, 8), (4, 2, 2), (2, 2, 2, 2), (8,), (12, 2)]


def path_rule(factors):
    return {"solver": {"kind": "path-rule", "factors": list(factors)}}


def described(factors, learners=None, **words):
    matrix = {"kind": "outer", "factors": list(factors), **words.pop("matrix", {})}
    learners = learners or {"path": path_rule(factors)}
    return experiment(matrix, {"kind": "feature", "index": 3}, learners, loss="square", **words)


@pytest.mark.parametrize("factors", SHAPES)
def test_rows_are_kronecker_products_of_the_rows_named_by_their_tuples(factors):
    for rotate in (False, True):
        matrix = Outer(factors=factors, rotate=rotate)
        streams = Streams([1, 2])
        rows, tuples = matrix.rows(streams), matrix.row_numbers(streams).tuples
        count = int(np.prod(factors))
        np.testing.assert_array_equal(rows @ rows.swapaxes(1, 2), np.tile(count * np.eye(count), (2, 1, 1)))
        for of_replica, numbers in zip(rows, tuples, strict=True):
            assert len({tuple(tuple_) for tuple_ in numbers}) == count
            signs = {}
            for row, tuple_ in zip(of_replica, numbers, strict=True):
                plain = np.ones(1)
                for size, number in zip(factors, tuple_, strict=True):
                    plain = np.kron(plain, hadamard(size)[number])
                assert abs(row @ plain) == count
                signs[tuple(tuple_)] = np.sign(row @ plain)
            for tuple_, other in itertools.product(
                signs, repeat=2
            ):  # signs are products of one of each factor
                mixed = (tuple_[0], *other[1:]), (other[0], *tuple_[1:])
                assert signs[tuple_] * signs[other] == signs[mixed[0]] * signs[mixed[1]]


def test_operator_and_matrix_have_the_same_labels():
    of_operator = data_of(described((4, 4)))
    streams = Streams([0])
    matrix = described((4, 4)).problem.matrix
    np.testing.assert_array_equal(of_operator.instances.rows[0], matrix.rows(streams)[0])
    np.testing.assert_array_equal(of_operator.labels[0], matrix.rows(streams)[0][:, 3])


@pytest.mark.parametrize("words", [
    {"factors": [4, 6]}, {"factors": [4096, 8192]}, {"side": 4}, {"side": 4, "count": 2, "factors": [4, 4]},
])  # fmt: skip
def test_invalid_factors_are_refused(words):
    with pytest.raises(BadInput) as caught:
        experiment({"kind": "outer", **words})
    assert caught.value.where.startswith("problem.matrix.")


def test_a_path_rule_with_wrong_factors_is_refused():
    with pytest.raises(BadInput, match="sizes is 8"):
        described((4, 4), {"path": path_rule((4, 2))})


def rank(vectors):
    """The rank over F₂, by elimination row by row."""
    rows, pivots = [int("".join(map(str, vector)), 2) for vector in vectors], 0
    while rows:
        pivot = rows.pop()
        if pivot:
            pivots += 1
            low = pivot & -pivot
            rows = [row ^ pivot if row & low else row for row in rows]
    return pivots


def indicator(numbers, factors):
    return [
        int(number == place) for number, size in zip(numbers, factors, strict=True) for place in range(size)
    ]


@pytest.mark.parametrize("factors", SHAPES)
def test_rows_outside_the_span_raise_the_rank(factors):
    rng = np.random.default_rng(3)
    tuples = list(itertools.product(*map(range, factors)))
    seen = [tuples[number] for number in rng.permutation(len(tuples))[:10]]
    shares = outside(np.array(seen), factors, set(range(len(seen) + 1)))
    for k in range(len(seen) + 1):
        vectors = [indicator(tuple_, factors) for tuple_ in seen[:k]]
        raising = [rank([*vectors, indicator(tuple_, factors)]) > rank(vectors) for tuple_ in tuples]
        assert shares[k] == pytest.approx(np.mean(raising), abs=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (2, 8), (12, 3)])
def test_percolation_equals_the_ladder_for_two_factors(shape):
    rng = np.random.default_rng(4)
    pairs = np.array(list(itertools.product(*map(range, shape))))[rng.permutation(shape[0] * shape[1])]
    asked = set(range(len(pairs) + 1))
    np.testing.assert_allclose(unconnected(pairs, *shape), outside(pairs, shape, asked), atol=1e-12)


def test_sign_products_find_implied_tuples_and_their_signs():
    products = SignProducts((2, 3), answers=2)
    for pair, minus in (((0, 0), (True, False)), ((1, 0), (True, True)), ((1, 2), (False, True))):
        products.see(np.array(pair), np.array(minus))
    is_known, negative = products.known(np.array([(0, 2), (0, 1), (1, 1)]))
    assert is_known.tolist() == [True, False, False]
    assert negative[0].tolist() == [False, False]
    assert products.rank == 3


def test_the_percolation_limit_matches_printed_numbers_and_its_equation():
    kappa = np.array([0.0, 0.5, 0.9, 1.5, 2, 3, 4, 6])
    expected = [1, 1, 1, 0.6603, 0.3651, 0.1155, 0.0393, 0.0050]
    np.testing.assert_allclose(limit(kappa, kappa), expected, atol=1e-4)
    for left_mean, other in ((0.5, 4.0), (3.0, 0.7)):
        share = 1 - limit(np.array([left_mean]), np.array([other])).item()
        rho = np.linspace(0, 1, 200_001)[1:]
        crossing = rho - (1 - np.exp(-left_mean * (1 - np.exp(-other * rho))))
        largest = rho[np.flatnonzero(np.diff(np.sign(crossing)))[-1]]
        assert share == pytest.approx(largest * (1 - np.exp(-other * largest)), abs=1e-4)


def by_powers(X, Z, y, rows):
    """sgn(xᵀ Σ_p (MMᵀ)^p M z) for pairs of rows, M = Σ y_t x_t z_tᵀ."""
    M = sum((label * np.outer(x, z) for label, x, z in zip(y, X, Z, strict=True)), np.zeros((4, 4))) / 16
    total = sum(np.linalg.matrix_power(M @ M.T, p) @ M for p in range(8))
    sums = np.array([x @ total @ z for x, z in rows])
    return np.where(abs(sums) < 1e-9, 0, np.sign(sums))


def test_the_path_rule_predicts_the_sign_of_its_sum_over_paths():
    setup = described((4, 4), seed=5)
    data, hypothesis = data_of(setup), begun(setup, 0, data_of(setup))
    rows = data.instances.rows[0].numpy()
    pairs = []
    for row in rows:
        u, s, v = np.linalg.svd(row.reshape(4, 4))
        pairs.append((u[:, 0] * s[0], v[0]))
    for k in range(17):
        X, Z = (np.array([pair[side] for pair in pairs[:k]]) for side in (0, 1))
        expected = by_powers(X, Z, data.labels[0, :k].numpy(), pairs)
        predicted = hypothesis.predict(data.instances)[0].numpy()
        np.testing.assert_array_equal(predicted, expected)
        if k < 16:
            hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
    np.testing.assert_array_equal(
        hypothesis.predict(DenseInstances(-data.instances.rows))[0].numpy(), -expected
    )


@pytest.mark.parametrize("factors", SHAPES)
def test_the_path_rule_attains_the_bound_for_its_symmetry(factors):
    trace = run(described(factors, replicas=3))
    kind = "percolation" if len(factors) == 2 else "ladder"
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == kind)
    assert line.applies_to == ["path"]
    assert line.by_replica.shape == (3, int(np.prod(factors)) + 1)
    np.testing.assert_allclose(trace.curve("path").values("loss").T, line.by_replica, atol=1e-12)


@pytest.mark.slow
def test_gradient_descent_follows_its_lines_and_bound_learners_respect_percolation():
    learners = {
        "GD": gd(1 / 32),
        "LLS": LLS,
        "EGU±": {"update": {"kind": "egu-pm", "lr": 0.25}},
        "path": path_rule((4, 4)),
    }
    trace = run(described((4, 4), learners, replicas=40))
    lines = {line.kind: line for line in trace.lines if line.on_problem.holds}
    assert lines.keys() >= {"outer-linear", "outer-rotations", "percolation", "percolation-limit"}
    assert lines.keys().isdisjoint({"ri-signed", "ri-permuted", "ladder"})
    assert lines["outer-linear"].applies_to == ["GD", "LLS"]
    assert lines["outer-rotations"].applies_to == ["GD", "LLS"]
    assert lines["percolation"].applies_to == ["GD", "LLS", "path"]
    assert lines["percolation-limit"].applies_to == ["path"]
    assert lines["percolation"].statement.group == rotations(4, 4)
    np.testing.assert_allclose(trace.curve("GD").mean("loss"), lines["outer-linear"].values, atol=1e-12)
    np.testing.assert_allclose(lines["outer-rotations"].values[:-1], 1 - np.arange(1, 17) / 16)
    for bound, learner in (("outer-linear", "path"), ("outer-rotations", "path")):
        curve = trace.curve(learner)
        assert ((curve.mean("loss") - lines[bound].values) < -4 * curve.stderr_of("loss")).any(), (
            bound,
            learner,
        )


def test_lines_of_products_give_a_reason_where_they_do_not_hold():
    for words, reason in (
        ({"matrix": {"row_signs": False}}, "with random signs"),
        ({"matrix": {"repeat": 1}}, "repeated"),
        ({"noise": 0.1}, "unlike the labels here"),
    ):
        learners = {"GD": gd(0.01)}
        for line in run(described((4, 4), learners, **words)).lines:
            if line.kind in ("percolation", "outer-linear", "outer-rotations"):
                assert reason in line.on_problem.reason
    drawn = run(described((4, 4), learners, protocol={"kind": "one-pass", "replacement": True}))
    holding = {line.kind: line.on_problem for line in drawn.lines}
    assert "in the order of the data" in holding["percolation"].reason
    assert holding["outer-linear"].holds
    assert holding["outer-rotations"].holds


def test_the_path_rule_is_invariant_under_factor_rotations_only():
    setup = described((4, 4))
    (learner,) = setup.learners
    assert verdict(learner, setup).group == rotations(4, 4)
    assert certificate(setup, learner, group=rotations(4, 4)) == 0
    assert certificate(setup, learner, group=ROTATIONS) > 0.5
    assert not rotations(4, 4) <= SIGNED_PERMUTATIONS


@pytest.mark.slow
def test_certificates_include_the_group_named_by_the_verdict():
    setup = described((4, 4))
    certified, _ = certificates(setup, setup.learners[0])
    assert list(certified)[-1] == rotations(4, 4)
    assert certified[rotations(4, 4)] == 0
    assert certified[ROTATIONS] > 0.5


def test_the_path_rule_fits_several_targets_together():
    learner = {"path": path_rule((4, 4))}
    many = experiment({"kind": "outer", "factors": [4, 4]}, "all", learner, loss="square", replicas=2)
    data = data_of(many)
    hypothesis = begun(many, 0, data)
    hypothesis.learn(data.instances.at(slice(0, 16)), data.labels)
    torch.testing.assert_close(hypothesis.predict(data.instances), data.labels)
