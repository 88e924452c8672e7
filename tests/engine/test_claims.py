"""Claims: every form holds where it is true and fails where it is not."""

import copy

import numpy as np
import pytest
from building import LLS, experiment, gd
from view_fields import view_of

from engine.claims import name_of
from engine.core import catalogue
from engine.core.parts import BadInput, Finding, Verdict
from engine.pictures.picture import Picture
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.results.trace import Curve, Statement, TheoryLine, Trace
from engine.runtime.run import run
from engine.spec.check import check

D = 8
LINE = 1 - np.arange(D + 1) / D


def traced(loss, stderr=None, *, bound=LINE, holds=True, diverged_at=None):
    """A trace with one curve made by hand, and a bound `ri-signed`."""
    loss = np.asarray(loss, float)
    curve = Curve("it", D + 1, 1 if stderr is None else 2, Verdict(True, "made by hand"))
    spread = np.zeros_like(loss) if stderr is None else np.broadcast_to(stderr, loss.shape)
    pair = loss[:, None] if stderr is None else np.stack([loss - spread, loss + spread], 1)
    curve.append({"k": np.arange(len(loss), dtype=float)}, {"loss": pair})
    curve.divergences[:] = np.nan if diverged_at is None else diverged_at
    x = np.arange(D + 1, dtype=float)
    line = TheoryLine(
        Statement("ri-signed", "lower", True, "", "", "loss"),
        Finding(holds, "made by hand"),
        {},
        x[: len(bound)],
        np.asarray(bound),
    )
    return Trace([curve], [line], {"k": x}, "k", {}, "loss")


def outcome(trace, **claim):
    described = experiment(
        d=D, learners={"it": gd(0.1)}, claims=[{"text": "It is so", "curve": "it", **claim}]
    )
    (judged,) = judge(of_one(described, trace))
    assert judged.claim.text == "It is so"
    assert judged.detail
    assert "\n" not in judged.detail
    return judged


CASES = [
    # claim, loss at k = 4 where it holds, loss where it fails
    ({"kind": "value", "at": 4, "equals": 0.5, "within": 0.01}, 0.509, 0.511),
    ({"kind": "value", "at": 4, "equals": 0.5, "within": 0.01}, 0.491, 0.489),
    ({"kind": "value", "at": 4, "equals": 0.5, "within": 0}, 0.5, 0.5 + 1e-12),
    ({"kind": "value", "at": 4, "below": 0.5}, 0.49, 0.5),
    ({"kind": "value", "at": 4, "above": 0.5}, 0.51, 0.5),
    ({"kind": "line", "follows": "ri-signed", "within": 0.01}, 0.509, 0.511),
    ({"kind": "line", "follows": "ri-signed", "within": 0.01}, 0.491, 0.489),
    ({"kind": "line", "never_below": "ri-signed"}, 0.9, 0.499),
    ({"kind": "line", "never_below": "ri-signed"}, 0.5 - 1e-12, 0.5 - 1e-9),
    ({"kind": "line", "never_below": "ri-signed", "within": 0.01}, 0.491, 0.489),
    ({"kind": "line", "never_below": "ri-signed", "within": 0}, 0.5, 0.5 - 1e-12),
]


TOLERANT = [
    {"kind": "value", "at": 4, "equals": 0.5},
    {"kind": "line", "follows": "ri-signed"},
    {"kind": "line", "never_below": "ri-signed"},
]


@pytest.mark.parametrize(("claim", "true", "false"), CASES)
def test_a_claim_holds_just_inside_its_limit_and_fails_just_outside(claim, true, false):
    for loss, expected in ((true, True), (false, False)):
        curve = LINE.copy()
        curve[4] = loss
        judged = outcome(traced(curve), **claim)
        assert judged.holds is expected, judged.detail
        worst = loss if "at" in claim else min(0, loss - 0.5) if "never_below" in claim else loss - 0.5
        assert judged.measured == pytest.approx(worst, abs=1e-15)


@pytest.mark.parametrize(
    ("loss", "within", "words"),
    [
        (7.7287893, 6e-07, "7.7287893 = 7.728789 ± 6e-07"),
        (7.7287893, 0.02, "7.72879 = 7.72879 ± 0.02"),
        (255.016, 350, "255.016 = 257.04 ± 350"),
        (123456.7, 0.5, "123456.7 = 123456.75 ± 0.5"),
    ],
)
def test_numbers_are_shown_to_the_digits_of_the_tolerance(loss, within, words):
    curve = LINE.copy()
    curve[4] = loss
    equals = {7.7287893: 7.728789, 255.016: 257.04}.get(loss, 123456.75)
    judged = outcome(traced(curve), kind="value", at=4, equals=equals, within=within)
    assert judged.detail.endswith(words)


@pytest.mark.parametrize("form", TOLERANT)
def test_standard_errors_set_a_tolerance_in_measured_errors_that_adds_to_within(form):
    for loss, expected in ((0.5 - 0.039, True), (0.5 - 0.041, False)):
        curve = LINE.copy()
        curve[4] = loss
        assert outcome(traced(curve, 0.01), standard_errors=4, **form).holds is expected
    for loss, expected in ((0.5 - 0.049, True), (0.5 - 0.051, False)):
        curve = LINE.copy()
        curve[4] = loss
        assert outcome(traced(curve, 0.01), standard_errors=4, within=0.01, **form).holds is expected


@pytest.mark.parametrize("form", TOLERANT)
def test_standard_errors_of_a_single_replica_tolerate_only_rounding(form):
    curve = LINE.copy()
    curve[4] -= 1e-6
    assert not outcome(traced(curve), standard_errors=4, **form).holds


@pytest.mark.parametrize("at", [0, 1, 7, 8])
@pytest.mark.parametrize("form", ["follows", "never_below"])
def test_a_claim_about_a_line_checks_every_evaluation_point(form, at):
    curve = LINE.copy()
    curve[at] -= 0.1
    judged = outcome(traced(curve), kind="line", within=0.05, **{form: "ri-signed"})
    assert not judged.holds
    assert f"at k = {at}" in judged.detail


def test_a_claim_about_a_line_ignores_points_without_a_value():
    losses = np.asarray(LINE) + 0.1
    losses[0] = np.nan
    assert outcome(traced(losses), kind="line", never_below="ri-signed").holds
    losses[3] = LINE[3] - 0.1
    assert not outcome(traced(losses), kind="line", never_below="ri-signed").holds


def test_a_curve_above_the_line_satisfies_never_below_but_not_follows():
    curve = LINE + 0.2
    assert outcome(traced(curve), kind="line", never_below="ri-signed").holds
    assert not outcome(traced(curve), kind="line", follows="ri-signed", within=0.1).holds


@pytest.mark.parametrize("form", ["follows", "never_below"])
def test_a_claim_about_an_inapplicable_bound_fails(form):
    judged = outcome(traced(LINE, bound=[], holds=False), kind="line", within=0.1, **{form: "ri-signed"})
    assert not judged.holds
    assert "does not apply" in judged.detail


@pytest.mark.parametrize("form", ["follows", "never_below"])
@pytest.mark.parametrize("length", [0, 1, 8])
def test_a_claim_about_a_truncated_curve_fails(form, length):
    judged = outcome(traced(LINE[:length]), kind="line", within=0.1, **{form: "ri-signed"})
    assert not judged.holds


@pytest.mark.parametrize("form", [{"equals": 0.0, "within": 9.0}, {"below": 9.0}, {"above": -9.0}])
def test_a_claim_at_a_missing_evaluation_point_fails(form):
    judged = outcome(traced(LINE[:4]), kind="value", at=4, **form)
    assert not judged.holds
    assert judged.measured is None
    assert "no loss recorded at k = 4" in judged.detail


def classified(error):
    """A trace whose 0/1 error after k = 4 examples is `error`."""
    curve = Curve("it", D + 1, 1, Verdict(True, "made by hand"))
    errors = np.full((D + 1, 1), 0.9)
    errors[4] = error
    curve.append({"k": np.arange(D + 1.0)}, {"loss": np.ones((D + 1, 1)), "error": errors})
    return Trace([curve], [], {"k": np.arange(D + 1.0)}, "k", {}, "loss")


def spanned(rank):
    """A trace whose weights across targets have this rank after k = 4 examples."""
    curve = Curve("it", D + 1, 1, Verdict(True, "made by hand"))
    ranks = np.where(np.arange(D + 1) == 4, rank, 0.0)[:, None]
    curve.append({"k": np.arange(D + 1.0)}, {"loss": np.ones((D + 1, 1)), "rank": ranks})
    return Trace([curve], [], {"k": np.arange(D + 1.0)}, "k", {}, "loss")


@pytest.mark.parametrize(
    ("make_trace", "claim", "true", "false"),
    [
        (classified, {"measure": "error", "equals": 0.25, "within": 0.01}, 0.259, 0.261),
        (classified, {"measure": "error", "equals": 0.25, "within": 0.01}, 0.241, 0.239),
        (classified, {"measure": "error", "below": 0.25}, 0.24, 0.25),
        (classified, {"measure": "error", "above": 0.25}, 0.26, 0.25),
        (spanned, {"measure": "rank", "equals": 4}, 4, 3),
        (spanned, {"measure": "rank", "equals": 4}, 4, 5),
        (spanned, {"measure": "rank", "below": 5}, 4, 5),
        (spanned, {"measure": "rank", "above": 3}, 4, 3),
    ],
)
def test_a_value_claim_can_use_the_error_or_the_rank(make_trace, claim, true, false):
    labels = {"target": "all", "spectrum": True} if make_trace is spanned else {"labels": "sign"}
    words = {"kind": "value", "text": "It is so", "curve": "it", "at": 4, **claim}
    described = experiment(d=D, learners={"it": gd(0.1)}, claims=[words], **labels)
    for value, expected in ((true, True), (false, False)):
        (judged,) = judge(of_one(described, make_trace(value)))
        assert judged.holds is expected, judged.detail
        assert judged.measured == pytest.approx(value)


@pytest.mark.parametrize(
    ("claim", "where"),
    [
        ({"measure": "rank", "equals": 4}, "claims[0]"),
        ({"measure": "rank", "below": 4}, "claims[0]"),
        ({"measure": "error", "equals": 0.5}, "claims[0].equals"),
        ({"measure": "eror", "below": 0.5}, "claims[0].measure.kind"),
        ({"between": [0.5, 0.4]}, "claims[0].between"),
        ({"between": [0.5]}, "claims[0].between"),
    ],
)
def test_a_claim_about_an_unmeasured_quantity_is_refused(claim, where):
    words = {"kind": "value", "text": "It is so", "curve": "it", "at": 4, **claim}
    with pytest.raises(BadInput) as caught:
        run(experiment(d=D, learners={"it": gd(0.1)}, claims=[words]))
    assert caught.value.where == where


def test_a_claim_about_the_error_requires_class_labels():
    words = {"kind": "value", "text": "It", "curve": "it", "at": 4, "measure": "error", "below": 0.5}
    with pytest.raises(BadInput, match="labels are two classes"):
        run(experiment("gaussian", d=D, learners={"it": gd(0.1)}, claims=[words]))


def pair(loss, other):
    """A trace with the curve of `it` and that of `other`."""
    curves = [Curve(curve_name, D + 1, 1, Verdict(True, "made by hand")) for curve_name in ("it", "other")]
    for curve, values in zip(curves, (loss, other), strict=True):
        curve.append({"k": np.arange(len(values), dtype=float)}, {"loss": np.asarray(values)[:, None]})
    return Trace(curves, [], {"k": np.arange(D + 1.0)}, "k", {}, "loss")


def alike(trace):
    claim = {"kind": "same-as", "text": "It is so", "curve": "it", "other": "other", "within": 0.01}
    described = experiment(d=D, learners={"it": gd(0.1), "other": gd(0.2)}, claims=[claim])
    (judged,) = judge(of_one(described, trace))
    return judged


@pytest.mark.parametrize("at", [0, 4, 8])
@pytest.mark.parametrize(
    ("moved", "expected"), [(0.009, True), (-0.009, True), (0.011, False), (-0.011, False)]
)
def test_same_as_holds_only_within_tolerance_at_every_evaluation_point(at, moved, expected):
    loss = LINE.copy()
    loss[at] += moved
    judged = alike(pair(loss, LINE))
    assert judged.holds is expected
    assert judged.measured == pytest.approx(moved)
    assert f"at k = {at}" in judged.detail


@pytest.mark.parametrize("lengths", [(0, 0), (1, 1), (8, 9), (9, 8)])
def test_same_as_fails_for_truncated_curves(lengths):
    judged = alike(pair(LINE[: lengths[0]], LINE[: lengths[1]]))
    assert not judged.holds
    assert judged.measured is None


@pytest.mark.parametrize("other", ["it", "nobody"])
def test_same_as_refuses_its_own_curve_and_unknown_learners(other):
    with pytest.raises(BadInput, match="'other'") as caught:
        check(
            experiment(
                d=D,
                learners={"it": gd(0.1), "other": gd(0.2)},
                claims=[{"kind": "same-as", "text": "It", "curve": "it", "other": other, "within": 0.1}],
            )
        )
    assert caught.value.where == "claims[0].other"


@pytest.mark.parametrize(
    ("measure", "words"),
    [("loss", "loss"), ("norm", "norm of w"), ("regions", "cells of the plane"), ("error", "error")],
)
def test_claim_details_name_the_measure_in_words(measure, words):
    picture = Picture(measure=catalogue.make("measures", measure))
    assert name_of(view_of(picture, "k", "y", False, False, 1e-11)) == words


def test_a_claim_of_divergence_holds_only_for_a_diverged_curve():
    judged = outcome(traced(LINE[:4], diverged_at=4.0), kind="diverges")
    assert judged.holds
    assert judged.measured == 4
    judged = outcome(traced(LINE), kind="diverges")
    assert not judged.holds
    assert judged.measured is None


@pytest.mark.parametrize("field", ["equals", "within", "standard_errors", "below", "above"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_claims_with_non_finite_numbers_are_refused(field, value):
    claim = {"kind": "value", "text": "It", "curve": "it", "at": 4}
    claim |= {"below": value} if field == "below" else {"above": value} if field == "above" else {}
    if field in ("equals", "within", "standard_errors"):
        claim |= {"equals": 0.5, "within": 0.1, field: value}
    with pytest.raises(BadInput) as caught:
        experiment(d=D, learners={"it": gd(0.1)}, claims=[claim])
    assert caught.value.where == f"claims[0].{field}"


def test_true_claims_about_a_run_hold_and_false_claims_fail():
    learners = {"GD": gd(1 / 32), "LLS": LLS, "EGU": {"update": {"kind": "egu", "lr": 0.2}}}
    true = [
        {"kind": "value", "text": "a", "curve": "GD", "at": 8, "equals": 0.5, "within": 1e-9},
        {"kind": "line", "text": "b", "curve": "LLS", "follows": "ri-signed", "within": 1e-9},
        {"kind": "line", "text": "c", "curve": "GD", "never_below": "ri-signed"},
        {"kind": "value", "text": "d", "curve": "EGU", "at": 12, "below": 0.2},
        {"kind": "value", "text": "e", "curve": "GD", "at": 12, "above": 0.2},
    ]
    false = copy.deepcopy(true)
    false[0]["equals"] = 0.51
    false[1]["curve"] = "EGU"
    false[2]["curve"] = "EGU"
    false[3]["curve"] = "GD"
    false[4]["curve"] = "EGU"
    described = experiment(d=16, learners=learners, claims=true + false)
    assert [judged.holds for judged in judge(of_one(described, run(described)))] == [True] * 5 + [False] * 5
