"""Bounds: their formulas, the problems that they hold on, and the learners that they bind."""

import math

import numpy as np
import pytest
from building import LLS, data_of, experiment, gd
from discovery import LEARNERS
from naive import rank_bound

from engine import catalogue
from engine.invariance import verdict
from engine.run import prepare, run

EGU = {"update": "egu"}
NET = {"update": "gd", "architecture": {"kind": "dense", "widths": [8]}}
TWO = {"learners": {"GD": gd(0.01), "EGU": EGU}}

HOLDS = [
    ("ri-signed", {}),
    ("ri-signed", {"matrix": {"kind": "hadamard", "permute": False}}),
    ("ri-signed", {"target": "constant"}),
    ("ri-signed", {"target": "all"}),
    ("ri-signed", {"loss": "logistic"}),
    ("ri-permuted", {}),
    ("ri-permuted", {"matrix": {"kind": "hadamard", "row_signs": False}}),
    ("ri-gaussian", {"matrix": "gaussian"}),
    ("ri-gaussian", {"matrix": {"kind": "gaussian", "n": 5}}),
    ("ri-gaussian", {"matrix": "gaussian", "target": "all"}),
    ("ri-rademacher", {"matrix": "rademacher"}),
    ("ri-rademacher", {"matrix": {"kind": "rademacher", "n": 30}}),
    ("svd", {"target": "all"}),
    ("svd", {"target": "all", "matrix": "gaussian"}),
]

HOLDS_NOT = [
    ("ri-signed", {"matrix": {"kind": "hadamard", "row_signs": False}}, "row_signs is off"),
    ("ri-signed", {"matrix": "gaussian"}, "the matrix is gaussian"),
    ("ri-permuted", {"matrix": {"kind": "hadamard", "permute": False}}, "permute is off"),
    ("ri-permuted", {"matrix": "rademacher"}, "the matrix is rademacher"),
    ("ri-permuted", {"target": {"kind": "feature", "index": 0}}, "not the constant one"),
    ("ri-permuted", {"target": "constant"}, "not the constant one"),
    ("ri-permuted", {"target": "all"}, "one fixed feature"),
    ("ri-permuted", {"loss": "logistic"}, "the loss is logistic"),
    ("ri-gaussian", {}, "the matrix is hadamard"),
    ("ri-gaussian", {"matrix": "gaussian", "target": "constant"}, "here it is constant"),
    ("ri-rademacher", {"matrix": "gaussian"}, "the matrix is gaussian"),
    ("ri-rademacher", {"matrix": "rademacher", "loss": "logistic"}, "the loss is logistic"),
    ("svd", {}, "there is one"),
    ("svd", {"target": "all", "loss": "logistic"}, "the loss is logistic"),
]

BINDS_NOT = [
    ("ri-signed", EGU, "not rotation invariant"),
    ("ri-signed", gd(0.1, kind="spindly"), "edge of its own"),
    ("ri-permuted", {"update": "eg"}, "not rotation invariant"),
    ("ri-gaussian", {"update": "hypentropy"}, "not rotation invariant"),
    ("ri-rademacher", gd(0.1, kind="dense", init="identity"), "identity start"),
    ("svd", NET, "single linear neuron"),
    ("svd", {"update": "egu-pm"}, "leave the span"),
]


def bound(kind):
    return catalogue.make("bounds", kind)


@pytest.mark.parametrize(("kind", "words"), HOLDS)
def test_a_bound_holds_on_its_problems_and_binds_invariant_learners(kind, words):
    described = experiment(d=8, learners={"GD": gd(0.01), "LLS": LLS}, **words)
    finding = bound(kind).on(described)
    assert finding.holds, finding.reason
    for learner in described.learners:
        assert bound(kind).binds(learner, described).holds
        assert learner.name in bound(kind).binds(learner, described).reason


@pytest.mark.parametrize(("kind", "words", "reason"), HOLDS_NOT)
def test_a_bound_says_what_the_problem_lacks(kind, words, reason):
    finding = bound(kind).on(experiment(d=8, **words))
    assert not finding.holds
    assert reason in finding.reason


@pytest.mark.parametrize(("kind", "learner", "reason"), BINDS_NOT)
def test_a_bound_says_why_it_does_not_bind_a_learner(kind, learner, reason):
    described = experiment(learners={"it": learner})
    (named,) = described.learners
    finding = bound(kind).binds(named, described)
    assert not finding.holds
    assert reason in finding.reason
    assert "it" in finding.reason.split()


def test_every_bound_has_a_case_of_each_sort():
    kinds = set(catalogue.members("bounds"))
    for table in (HOLDS, HOLDS_NOT, BINDS_NOT):
        assert {case[0] for case in table} == kinds


@pytest.mark.parametrize("kind", catalogue.members("bounds"))
def test_findings_are_sentences_and_rotation_invariant_bounds_follow_the_verdict(kind):
    described = experiment(learners=LEARNERS)
    for learner in described.learners:
        finding = bound(kind).binds(learner, described)
        assert len(finding.reason.split()) >= 5
        assert "\n" not in finding.reason
        if kind.startswith("ri-"):
            assert finding.holds == (verdict(learner, described).invariant is not False)
    for words in [case[1] for case in (*HOLDS, *HOLDS_NOT)]:
        reason = bound(kind).on(experiment(d=8, **words)).reason
        assert len(reason.split()) >= 5
        assert "\n" not in reason


@pytest.mark.parametrize("kind", catalogue.members("bounds"))
def test_bounds_name_their_sense_formula_and_source(kind):
    made = bound(kind)
    assert made.sense in ("lower", "upper", "conjecture")
    assert made.formula
    assert made.source


def drawn(described, kind):
    trace, _ = prepare(described)
    return next(one for one in trace.bounds if one.kind == kind)


def test_ri_signed_is_c_times_the_unseen_share():
    for loss, c in (("square", 1.0), ("logistic", math.log(2))):
        one = drawn(experiment(d=16, loss=loss), "ri-signed")
        for k in range(17):
            assert one.loss[k] == pytest.approx(c * (1 - k / 16), abs=1e-15)


def test_ri_permuted_reaches_zero_one_example_earlier():
    one = drawn(experiment(d=16), "ri-permuted")
    for k in range(17):
        assert one.loss[k] == pytest.approx(max(0, 1 - k / 15), abs=1e-15)


@pytest.mark.parametrize("family", ["gaussian", "rademacher"])
@pytest.mark.parametrize("n", [5, 8, 11])
def test_random_matrices_have_the_product_of_unseen_rows_and_unseen_directions(family, n):
    one = drawn(experiment({"kind": family, "d": 8, "n": n}), f"ri-{family}")
    assert len(one.loss) == n + 1
    for k in range(n + 1):
        assert one.loss[k] == pytest.approx((1 - k / n) * max(0, 1 - k / 8), abs=1e-15)
    assert one.sense == ("conjecture" if family == "rademacher" else "lower")


def test_svd_is_one_minus_k_over_d_for_all_hadamard_targets():
    for d in (4, 32):
        one = drawn(experiment(target="all", d=d, replicas=2), "svd")
        np.testing.assert_allclose(one.loss, 1 - one.x / d, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [5, 8, 13])
@pytest.mark.parametrize("family", ["gaussian", "rademacher"])
def test_svd_is_the_distance_to_the_nearest_labels_of_rank_k(family, n):
    described = experiment({"kind": family, "d": 8, "n": n}, "all", replicas=3, noise=0.2, seed=3)
    data = data_of(described)
    labels = data.labels.view(3, data.targets, n).numpy()
    expected = np.mean([rank_bound(Y.T) for Y in labels], 0)
    np.testing.assert_allclose(drawn(described, "svd").loss, expected, rtol=0, atol=1e-12)


def test_svd_holds_for_these_very_labels():
    learners = {"GD": gd(0.02), "momentum": {"update": "momentum"}, "LLS": LLS}
    trace = run(experiment("gaussian", "all", learners, d=12, seed=1))
    one = next(one for one in trace.bounds if one.kind == "svd")
    for curve in trace.curves:
        assert (curve.loss >= one.loss - 1e-12).all()


def test_a_bound_that_does_not_hold_has_no_curve_and_applies_to_nobody():
    one = drawn(experiment("gaussian", d=8, **TWO), "ri-signed")
    assert not one.on_problem.holds
    assert one.applies_to == []
    assert len(one.x) == len(one.loss) == 0
    assert {finding.reason for finding in one.on_learners.values()} == {one.on_problem.reason}


def test_a_learner_that_is_not_invariant_is_not_bound_but_the_curve_is_there():
    one = drawn(experiment(d=8, **TWO), "ri-signed")
    assert one.applies_to == ["GD"]
    assert len(one.x) == 9
    assert one.at(4) == pytest.approx(0.5)
    assert one.at(4.5) == pytest.approx(0.4375)
