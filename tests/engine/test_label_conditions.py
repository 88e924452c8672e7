"""Lines that need fair unseen labels or an order of rows hold only there."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from building import LLS, data_of, experiment, gd, losses
from discovery import variants

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.pictures.bounds import respect
from engine.planning.run_plan import plan_run
from engine.problems.problem import Problem
from engine.protocols.steps import MiniBatches
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import prepare, run
from engine.spec.experiment import of_run
from engine.theory.duplicates import missed

KERNEL = {"solver": {"kind": "kernel", "kernel": "polynomial", "offset": 4.0, "degree": 2}}
STEPS = {"kind": "steps", "batch": 1}
DRAWS = {"kind": "one-pass", "replacement": True}
ERRORS = 5


def holds(kind, described):
    """Finding whether a line holds in an experiment."""
    return catalogue.make("theory", kind).holds(described)


def values(described, kind):
    """A line of an experiment, [S], its mean over replicas."""
    trace, _ = prepare(plan_run(described))
    (line,) = (line for line in trace.lines if line.kind == kind)
    return line.values if line.by_replica is None else line.by_replica.mean(0)


def means(described):
    """The mean loss of every learner and its standard error, [S] each."""
    return {
        name: (loss.mean(1), loss.std(1, ddof=1) / np.sqrt(loss.shape[1]))
        for name, loss in losses(described).items()
    }


def assert_not_below(described, kind):
    """Every learner that a lower line binds respects it, up to ERRORS standard errors."""
    seen = view(of_run(described), of_one(described, run(described)))
    (line,) = (line for line in seen.lines if line.kind == kind)
    for curve in seen.curves:
        assert line.binds(curve), curve.name
        assert respect(curve, line, seen.quantity.rounding).holds is not False, curve.name


@pytest.mark.parametrize("degree", [2, 8, "any"])
def test_ri_signed_does_not_hold_for_even_parities(degree):
    target = {"kind": "parity", "degree": degree}
    described = experiment(target=target, learners={"kernel": KERNEL}, d=8, replicas=64)
    finding = holds("ri-signed", described)
    assert not finding.holds
    assert finding.reason == (
        "requires labels that change sign if their rows do, but labels of parity on hadamard do not"
    )
    if degree == 8:
        measured, _ = means(described)["kernel"]
        assert (measured[1:4] < 1 - np.arange(1, 4) / 8 - 0.1).all(), "no such bound binds it"


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_ri_signed_holds_for_odd_parities_and_the_kernel_respects_it(degree):
    target = {"kind": "parity", "degree": degree}
    described = experiment(target=target, learners={"kernel": KERNEL, "LLS": LLS}, d=8, replicas=500)
    assert holds("ri-signed", described).holds
    assert_not_below(described, "ri-signed")


@pytest.mark.parametrize("degree", [2, 8, "any"])
def test_ri_drawn_and_duplicates_do_not_hold_for_even_parities(degree):
    target = {"kind": "parity", "degree": degree}
    assert not holds("ri-drawn", experiment(target=target, d=8, protocol=DRAWS)).holds
    assert not holds("duplicates", experiment(target=target, d=8, protocol=DRAWS)).holds
    repeated = experiment({"kind": "hadamard", "repeat": 1}, target, d=8)
    assert not holds("duplicates", repeated).holds


def test_a_kernel_beats_the_saw_tooth_if_opposite_rows_share_a_label():
    described = experiment(
        {"kind": "hadamard", "repeat": 1},
        {"kind": "parity", "degree": 8},
        learners={"kernel": KERNEL},
        d=8,
        replicas=64,
    )
    measured, errors = means(described)["kernel"]
    tooth = 1 - np.ceil(np.arange(17) / 2) / 8
    assert (measured < tooth - ERRORS * errors)[2:12].any()
    assert not holds("duplicates", described).holds


@pytest.mark.parametrize(("kind", "protocol"), [("ri-signed", "one-pass"), ("ri-drawn", DRAWS)])
def test_signs_of_orthogonal_rows_do_not_flip_the_constant_label(kind, protocol):
    described = experiment(
        "orthogonal", "constant", learners={"kernel": KERNEL}, d=8, replicas=64, protocol=protocol
    )
    finding = holds(kind, described)
    assert not finding.holds
    assert finding.reason == (
        "requires labels that change sign if their rows do, but labels of constant on orthogonal do not"
    )
    measured, errors = means(described)["kernel"]
    assert (measured + ERRORS * errors < (7 / 8) ** np.arange(9))[3:8].any()


def test_ri_signed_holds_for_the_constant_feature_of_hadamard_rows():
    described = experiment(target="constant", learners={"kernel": KERNEL}, d=8, replicas=200)
    assert holds("ri-signed", described).holds
    assert_not_below(described, "ri-signed")


@pytest.mark.parametrize("loss", ["square", "entropic"])
def test_ri_01_does_not_hold_for_one_hot_coins(loss):
    described = experiment("hadamard01", {"kind": "coin", "classes": 10}, d=8, loss=loss, replicas=64)
    finding = holds("ri-01", described)
    assert not finding.holds
    assert finding.reason == "requires a feature with values 0 and 1 as the target, but the target is coin"
    if loss == "square":
        measured, _ = means(described)["GD"]
        assert measured[0] == pytest.approx(0.1), "of 10 classes one has the label 1"


def test_duplicates_in_random_order_is_the_share_of_rows_without_a_drawn_copy():
    described = experiment(
        {"kind": "hadamard", "repeat": 2},
        d=8,
        learners={"GD": gd(1 / 16), "LLS": gd(0.02, kind="dense", widths=[8])},
        protocol={**STEPS, "steps": 32, "records": 32},
        replicas=400,
    )
    line = values(described, "duplicates")
    expected = [comb(28, k) / comb(32, k) for k in range(33)]
    np.testing.assert_allclose(line, expected, atol=1e-12)
    measured, errors = means(described)["GD"]
    tooth = 1 - np.ceil(np.arange(33) / 4) / 8
    assert (measured + ERRORS * errors < tooth)[[4, 8, 16]].all(), "rows in their order are others"
    assert_not_below(described, "duplicates")


@pytest.mark.parametrize("rows", [8, 6, 5, 3])
def test_missed_equals_the_mean_share_over_all_subsets(rows):
    n, copies = 8, 2
    for k in range(rows + 1):
        subsets = [set(subset) for subset in combinations(range(rows), k)]
        groups = [set(range(first, first + copies)) for first in range(0, n, copies)]
        shares = [np.mean([not group & subset for group in groups]) for subset in subsets]
        assert missed(n, copies, rows, np.array([float(k)]))[0] == pytest.approx(np.mean(shares), abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [{}, {"fresh": True}, {"replacement": True}, {"drop_last": True}])
@pytest.mark.parametrize("batch", [1, 3])
def test_mini_batches_show_no_more_rows_than_a_random_subset(draws, batch):
    """No step has seen at least as many pairs of rows as k rows drawn without replacement leave out."""
    rows, replicas = 8, 4000
    protocol = catalogue.make("protocols", "steps", batch=batch, train=rows, **draws)
    assert (protocol.schedule().shuffles, protocol.extent(10).rows) == (True, rows)
    batches = MiniBatches(Streams(range(replicas))("batches"), rows, batch, **draws)
    seen = np.zeros((replicas, rows), bool)
    for step in range(1, 5):
        np.put_along_axis(seen, batches.draw().numpy(), True, 1)
        unseen = (~seen).reshape(replicas, -1, 2).all(2).mean(1)
        least = missed(rows, 2, rows, np.array([float(min(rows, step * batch))]))[0]
        assert unseen.mean() > least - ERRORS * max(unseen.std() / np.sqrt(replicas), 1e-9)


def ordered_protocols():
    """Every protocol as its fields make it."""
    for kind, member in catalogue.members("protocols").items():
        for words in variants(member):
            yield catalogue.make("protocols", kind, **{name: words[name] for name in words if name != "kind"})


def test_protocols_in_data_order_have_seen_only_the_first_k_rows():
    n, orders = 12, set()
    for protocol in ordered_protocols():
        try:
            protocol.check(n, "any")
        except BadInput:
            continue
        orders.add(protocol.schedule().in_data_order)
        for k in map(int, protocol.examples_seen(n)) if protocol.schedule().in_data_order else ():
            seen = protocol.rows_seen(n, k, Streams([3]))
            assert not seen[k:].any(), (protocol, k)
        assert not (protocol.schedule().in_data_order and protocol.schedule().shuffles)
    assert orders == {True, False}


@pytest.mark.parametrize(("kind", "factors"), [("percolation", [2, 8]), ("ladder", [2, 2, 4])])
def test_lines_of_seen_products_require_examples_in_data_order(kind, factors):
    def described(**protocol):
        return experiment(
            {"kind": "outer", "factors": factors, "permute": False},
            d=None,
            learners={"GD": gd(0.02)},
            protocol={"kind": "steps", "steps": 16, "records": 16, **protocol},
        )

    finding = holds(kind, described(batch=1))
    assert not finding.holds
    assert finding.reason == "requires examples in the order of the data, and here they are drawn at random"
    assert holds(kind, described()).holds
    if kind == "percolation":
        assert not holds("percolation-limit", described(batch=1)).holds


def test_percolation_does_not_hold_for_labels_with_sign_of_zero():
    """The label of a row that is orthogonal to w* is +1, whatever the sign of the row."""
    even = experiment({"kind": "outer", "factors": [4, 4]}, {"kind": "sparse", "r": 2}, d=None, labels="sign")
    assert not holds("percolation", even).holds
    odd = experiment({"kind": "outer", "factors": [4, 4]}, {"kind": "sparse", "r": 3}, d=None, labels="sign")
    assert holds("percolation", odd).holds


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_ri_signed_holds_for_signs_of_an_odd_number_of_features(loss):
    target = {"kind": "sparse", "r": 3}
    net = gd(0.05, kind="dense", widths=[8])
    learners = {"GD": gd(1 / 16), "net": net}
    described = experiment(
        target=target, labels="sign", loss=loss, d=8, replicas=400, learners=learners, protocol="one-pass"
    )
    assert holds("ri-signed", described).holds
    assert_not_below(described, "ri-signed")
    even = experiment(target={"kind": "sparse", "r": 2}, labels="sign", loss=loss, d=8)
    assert "sign(0) = +1" in holds("ri-signed", even).reason


COINS = [
    ("gaussian", {"kind": "coin"}, "soft"),
    ("hadamard", {"kind": "coin"}, "soft"),
    ({"kind": "hadamard", "row_signs": False, "permute": False}, {"kind": "coin"}, "sign"),
    ("rademacher", {"kind": "zero"}, "bernoulli"),
    ({"kind": "gaussian", "repeat": 1}, {"kind": "zero"}, "bernoulli"),
]
EVERYONE = {
    "GD": gd(0.05),
    "EGU±": {"update": {"kind": "egu-pm", "lr": 0.2}},
    "spindly net": gd(0.05, kind="spindly"),
    "net": gd(0.05, kind="dense", widths=[8], activation="tanh"),
    "kernel": {"solver": {"kind": "kernel", "kernel": "rbf"}},
    "Hebb": {"solver": "hebb"},
}


@pytest.mark.parametrize(("matrix", "target", "labels"), COINS)
def test_the_coin_labels_bound_binds_every_learner(matrix, target, labels):
    described = experiment(matrix, target, EVERYONE, labels=labels, d=4, replicas=200)
    finding = holds("coin-labels", described)
    assert finding.holds
    assert finding.reason == "every label is a fair coin, independent of the instances and of other labels"
    assert_not_below(described, "coin-labels")


@pytest.mark.slow
@pytest.mark.parametrize(("matrix", "target", "labels"), COINS)
def test_labels_declared_as_coins_are_fair_and_independent(matrix, target, labels):
    replicas = 4000
    data = data_of(experiment(matrix, target, labels=labels, d=4, replicas=replicas))
    coins = data.labels.numpy()
    assert set(np.unique(coins)) == {-1.0, 1.0}
    variables = np.concatenate([coins, data.instances.rows.numpy().reshape(replicas, -1)], 1)
    centred = variables - variables.mean(0)
    correlation = (coins[:, :, None] * centred[:, None]).mean(0)
    error = centred.std(0) / np.sqrt(replicas)
    same_variable = np.eye(len(correlation), variables.shape[1], dtype=bool)
    assert (
        abs(correlation)[~same_variable]
        < ERRORS * np.broadcast_to(error + 1e-12, same_variable.shape)[~same_variable]
    ).all()
    assert (abs(coins.mean(0)) < ERRORS / np.sqrt(replicas)).all()


def test_coins_of_repeated_rows_are_not_independent():
    repeated = experiment({"kind": "hadamard", "repeat": 1}, "coin", d=4)
    assert not holds("coin-labels", repeated).holds
    assert holds("duplicates", repeated).holds


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        ({"update": {"kind": "gd", "lr": "best"}}, "chosen by its losses on all rows"),
        ({**gd(0.5, kind="dense", widths=[4]), "rate_unit": "start-sharpness"}, "labels of all rows"),
    ],
)
def test_coin_labels_does_not_bind_learners_that_use_unseen_labels(learner, reason):
    described = experiment("gaussian", "coin", {"it": learner}, d=4)
    finding = catalogue.make("theory", "coin-labels").binds(described.learners[0], described)
    assert not finding.holds
    assert reason in finding.reason
    linear = experiment("gaussian", "coin", {"it": {**gd(0.5), "rate_unit": "start-sharpness"}}, d=4)
    assert catalogue.make("theory", "coin-labels").binds(linear.learners[0], linear).holds


UNITS = [
    ({"kind": "weights", "w": [0.6, 0.8]}, True, None),
    ({"kind": "weights", "w": [1 / 5**0.5], "copies": 5}, True, None),
    ({"kind": "weights", "w": [0.0, 1.0]}, True, 1),
    ({"kind": "weights", "w": [0.0, -1.0]}, True, None),
    ({"kind": "weights", "w": [1.0, 0.5]}, False, None),
    ({"kind": "weights", "w": [2.0]}, False, None),
    ({"kind": "low-rank", "factors": [2, 4]}, True, None),
    ({"kind": "low-rank", "factors": [2, 4], "norm": 2.0}, False, None),
]


@pytest.mark.parametrize(("target", "is_unit", "feature"), UNITS)
def test_weights_and_low_rank_targets_of_norm_1_are_unit_targets(target, is_unit, feature):
    described = experiment("gaussian", target, {"LLS": LLS, "GD": gd(0.05)}, d=8, replicas=300)
    assert holds("ri-gaussian", described).holds == is_unit
    assert described.problem.target_structure.fixed_feature == feature
    places, sizes = described.problem.target.combination(described.problem.matrix, Streams(range(3)))
    assert np.allclose((sizes**2).sum(-1), 1) == is_unit
    assert places.shape == sizes.shape
    if is_unit:
        assert_not_below(described, "ri-gaussian")


def test_a_target_with_one_nonzero_weight_counts_as_a_feature():
    target = {"kind": "weights", "w": [0.0, 0.0, 1.0]}
    for kind, matrix in (("ri-permuted", "hadamard"), ("ri-01", "hadamard01"), ("ri-signed", "hadamard")):
        assert holds(kind, experiment(matrix, target, d=8)).holds, kind
    described = experiment("hadamard", target, d=8)
    feature = experiment("hadamard", {"kind": "feature", "index": 2}, d=8)
    np.testing.assert_array_equal(data_of(described).labels, data_of(feature).labels)


def all_targets():
    """Every target with each choice of its fields."""
    for kind, member in catalogue.members("targets").items():
        for words in variants(member):
            yield {**words, "kind": kind}
    yield from ({"kind": "parity", "degree": degree} for degree in (1, 2, 3))


MATRICES = [
    {"kind": "hadamard", "d": 8},
    {"kind": "hadamard", "d": 8, "repeat": 1},
    {"kind": "orthogonal", "d": 8},
    {"kind": "hadamard01", "d": 8},
    {"kind": "outer", "factors": [2, 4]},
    {"kind": "rademacher", "d": 8, "repeat": 1},
    {"kind": "gaussian", "d": 8, "repeat": 1},
    {"kind": "xor", "d": 8, "repeat": 1},
    {"kind": "interval", "n": 4},
]


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["soft", "sign", "bernoulli"])
def test_labels_declared_to_flip_have_a_symmetric_distribution(labels):
    """Of rows ±x, or of rows with random signs, the mean label given |x| is 0."""
    declared, replicas = set(), 200
    for words, target in product(MATRICES, all_targets()):
        try:
            described = experiment(words, target, labels=labels, replicas=replicas, d=None)
            problem: Problem = described.problem
            problem.target.check(problem.matrix)
        except BadInput:
            continue
        signed = problem.matrix.structure().random_signs or problem.matrix.repeat
        if not (problem.labels_flip and signed) or problem.matrix.structure().is_shifted_hadamard:
            continue
        declared.add(problem.target.kind)
        labels_drawn = data_of(described).labels.view(replicas, -1).double().numpy()
        if problem.matrix.repeat and labels != "bernoulli":
            pairs = labels_drawn.reshape(replicas, -1, 2)
            np.testing.assert_allclose(pairs.sum(2), 0, atol=1e-6, err_msg=str((words, target)))
        error = labels_drawn.std(0) / np.sqrt(replicas)
        assert (abs(labels_drawn.mean(0)) <= ERRORS * error + 1e-9).all(), (words, target)
    assert declared >= {"feature", "sparse", "parity", "coin", "doubled", "all", "constant"}
