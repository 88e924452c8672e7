"""Claims: every form holds where it is true and fails where it is not."""

import copy

import numpy as np
import pytest
from building import LLS, experiment, gd

from engine.claims import judge
from engine.parts import BadInput, Finding, Verdict
from engine.run import run
from engine.trace import BoundCurve, Curve, Trace

D = 8
LINE = 1 - np.arange(D + 1) / D


def traced(loss, stderr=None, *, bound=LINE, holds=True, diverged_at=None):
    """A trace with one curve made by hand, and a bound `ri-signed`."""
    loss = np.asarray(loss, float)
    curve = Curve("it", D + 1, 1 if stderr is None else 2, Verdict(True, "made by hand"))
    spread = np.zeros_like(loss) if stderr is None else np.broadcast_to(stderr, loss.shape)
    pair = loss[:, None] if stderr is None else np.stack([loss - spread, loss + spread], 1)
    curve.append(np.arange(len(loss), dtype=float), pair, None)
    curve.diverged_at = diverged_at
    x = np.arange(D + 1, dtype=float)
    one = BoundCurve(
        "ri-signed", "lower", "", "", Finding(holds, "made by hand"), {}, x[: len(bound)], np.asarray(bound)
    )
    return Trace([curve], [one], x, "k", "loss", {})


def outcome(trace, **claim):
    described = experiment(
        d=D, learners={"it": gd(0.1)}, claims=[{"text": "It is so", "learner": "it", **claim}]
    )
    (found,) = judge(described, trace)
    assert found.claim.text == "It is so"
    assert found.detail
    assert "\n" not in found.detail
    return found


CASES = [
    # claim, loss at k = 4 where it holds, loss where it fails
    ({"k": 4, "loss": 0.5, "within": 0.01}, 0.509, 0.511),
    ({"k": 4, "loss": 0.5, "within": 0.01}, 0.491, 0.489),
    ({"k": 4, "loss": 0.5, "within": 0}, 0.5, 0.5 + 1e-12),
    ({"k": 4, "below": 0.5}, 0.49, 0.5),
    ({"k": 4, "above": 0.5}, 0.51, 0.5),
    ({"follows": "ri-signed", "within": 0.01}, 0.509, 0.511),
    ({"follows": "ri-signed", "within": 0.01}, 0.491, 0.489),
    ({"never_below": "ri-signed"}, 0.9, 0.499),
    ({"never_below": "ri-signed"}, 0.5 - 1e-12, 0.5 - 1e-9),
    ({"never_below": "ri-signed", "within": 0.01}, 0.491, 0.489),
    ({"never_below": "ri-signed", "within": 0}, 0.5, 0.5 - 1e-12),
]


TOLERANT = [{"k": 4, "loss": 0.5}, {"follows": "ri-signed"}, {"never_below": "ri-signed"}]


@pytest.mark.parametrize(("claim", "true", "false"), CASES)
def test_a_claim_holds_on_one_side_and_fails_on_the_other(claim, true, false):
    for loss, expected in ((true, True), (false, False)):
        curve = LINE.copy()
        curve[4] = loss
        found = outcome(traced(curve), **claim)
        assert found.holds is expected, found.detail
        worst = loss if "k" in claim else min(0, loss - 0.5) if "never_below" in claim else loss - 0.5
        assert found.measured == pytest.approx(worst, abs=1e-15)


@pytest.mark.parametrize(
    "form", [{"k": 4, "loss": 0.5}, {"follows": "ri-signed"}, {"never_below": "ri-signed"}]
)
def test_standard_errors_are_a_tolerance_in_units_of_the_measured_one(form):
    for loss, expected in ((0.5 - 0.039, True), (0.5 - 0.041, False)):
        curve = LINE.copy()
        curve[4] = loss
        assert outcome(traced(curve, 0.01), standard_errors=4, **form).holds is expected
    for loss, expected in ((0.5 - 0.049, True), (0.5 - 0.051, False)):
        curve = LINE.copy()
        curve[4] = loss
        assert outcome(traced(curve, 0.01), standard_errors=4, within=0.01, **form).holds is expected


@pytest.mark.parametrize(
    "form", [{"k": 4, "loss": 0.5}, {"follows": "ri-signed"}, {"never_below": "ri-signed"}]
)
def test_standard_errors_of_a_single_replica_allow_rounding_at_most(form):
    curve = LINE.copy()
    curve[4] -= 1e-6
    assert not outcome(traced(curve), standard_errors=4, **form).holds


@pytest.mark.parametrize("at", [0, 1, 7, 8])
@pytest.mark.parametrize("form", ["follows", "never_below"])
def test_a_claim_over_the_curve_looks_at_every_record(form, at):
    curve = LINE.copy()
    curve[at] -= 0.1
    found = outcome(traced(curve), within=0.05, **{form: "ri-signed"})
    assert not found.holds
    assert f"at k = {at}" in found.detail


def test_never_below_allows_being_above_and_follows_does_not():
    curve = LINE + 0.2
    assert outcome(traced(curve), never_below="ri-signed").holds
    assert not outcome(traced(curve), follows="ri-signed", within=0.1).holds


@pytest.mark.parametrize("form", ["follows", "never_below"])
def test_a_bound_that_does_not_hold_on_the_problem_proves_nothing(form):
    found = outcome(traced(LINE, bound=[], holds=False), within=0.1, **{form: "ri-signed"})
    assert not found.holds
    assert "does not apply" in found.detail


@pytest.mark.parametrize("form", ["follows", "never_below"])
@pytest.mark.parametrize("length", [0, 1, 8])
def test_a_curve_that_ends_early_proves_nothing(form, length):
    found = outcome(traced(LINE[:length]), within=0.1, **{form: "ri-signed"})
    assert not found.holds


@pytest.mark.parametrize("form", [{"loss": 0.0, "within": 9.0}, {"below": 9.0}, {"above": -9.0}])
def test_a_record_that_is_not_there_proves_nothing(form):
    found = outcome(traced(LINE[:4]), k=4, **form)
    assert not found.holds
    assert found.measured is None
    assert "no record at k = 4" in found.detail


def test_a_claim_of_divergence_holds_only_if_it_diverged():
    found = outcome(traced(LINE[:4], diverged_at=4.0), diverges=True)
    assert found.holds
    assert found.measured == 4
    found = outcome(traced(LINE), diverges=True)
    assert not found.holds
    assert found.measured is None


@pytest.mark.parametrize("field", ["loss", "within", "standard_errors", "below", "above"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_claim_that_cannot_fail_or_cannot_hold_is_refused(field, value):
    claim = {"text": "It", "learner": "it", "k": 4}
    claim |= {"below": value} if field == "below" else {"above": value} if field == "above" else {}
    if field in ("loss", "within", "standard_errors"):
        claim |= {"loss": 0.5, "within": 0.1, field: value}
    with pytest.raises(BadInput) as caught:
        experiment(d=D, learners={"it": gd(0.1)}, claims=[claim])
    assert caught.value.where == f"claims[0].{field}"


def test_claims_of_a_real_run_hold_and_their_opposites_fail():
    learners = {"GD": gd(1 / 32), "LLS": LLS, "EGU": {"update": {"kind": "egu", "lr": 0.2}}}
    true = [
        {"text": "a", "learner": "GD", "k": 8, "loss": 0.5, "within": 1e-9},
        {"text": "b", "learner": "LLS", "follows": "ri-signed", "within": 1e-9},
        {"text": "c", "learner": "GD", "never_below": "ri-signed"},
        {"text": "d", "learner": "EGU", "k": 12, "below": 0.2},
        {"text": "e", "learner": "GD", "k": 12, "above": 0.2},
    ]
    false = copy.deepcopy(true)
    false[0]["loss"] = 0.51
    false[1]["learner"] = "EGU"
    false[2]["learner"] = "EGU"
    false[3]["learner"] = "GD"
    false[4]["learner"] = "EGU"
    described = experiment(d=16, learners=learners, claims=true + false)
    assert [found.holds for found in judge(described, run(described))] == [True] * 5 + [False] * 5
