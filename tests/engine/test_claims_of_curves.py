"""Claims about slopes, ratios, orders, crossings, shares and gaps, against numbers made by hand."""

import dataclasses

import numpy as np
import pytest
from building import experiment, gd, raw

from engine.core.parts import BadInput, Finding, Verdict
from engine.results.outcomes import judge
from engine.results.results import Results, of_one
from engine.results.trace import Curve, Statement, TheoryLine, Trace
from engine.runtime.sweep_run import run_sweep
from engine.spec import reading
from engine.spec.documents import sweep_of

RECORDS = 9
K = np.arange(float(RECORDS))
SPREAD = np.array([-0.02, 0.01, 0.0, -0.01, 0.02])
"""Shift of the logarithm of the losses of each replica."""


def curve(name, losses, capacity=RECORDS, divergences=None):
    """A curve with losses [R, S], or of one replica [S]."""
    losses = np.atleast_2d(np.asarray(losses, float))
    curve_of_losses = Curve(name, capacity, len(losses), Verdict(True, "made by hand"))
    curve_of_losses.append({"k": np.arange(float(losses.shape[1]))}, {"loss": losses.T})
    if divergences is not None:
        curve_of_losses.divergences[:] = divergences
    return curve_of_losses


def judged(claim, lines=(), **losses):
    """The outcome of a claim about curves by their names."""
    curves = [
        given_losses if isinstance(given_losses, Curve) else curve(name, given_losses)
        for name, given_losses in losses.items()
    ]
    learners = {curve_of_learner.name: gd(0.1) for curve_of_learner in curves}
    described = experiment(
        d=RECORDS - 1, learners=learners, claims=[{"text": "It is so", "curve": "it", **claim}]
    )
    (outcome,) = judge(of_one(described, Trace(curves, list(lines), {"k": K}, "k", {}, "loss")))
    assert outcome.detail
    assert "\n" not in outcome.detail
    return outcome


def line(values, **binds):
    finding = Finding(True, "made by hand")
    on_learners = {name: Finding(bound, "made by hand") for name, bound in binds.items()}
    return TheoryLine(
        Statement("ri-signed", "lower", True, "", "", "loss"), finding, on_learners, K, np.asarray(values)
    )


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "ratio", "to": "other", "below": 1},
        {"kind": "ratio", "to": "other", "at": 4, "below": 1},
        {"kind": "difference", "to": "other", "below": 1},
        {"kind": "difference", "to": "other", "at": 4, "below": 1},
        {"kind": "order", "below": "other"},
        {"kind": "order", "below": "other", "at": 4},
        {"kind": "crossing", "other": "other", "below": 1},
        {"kind": "same-as", "other": "other", "within": 1},
    ],
    ids=lambda claim: " at ".join([claim["kind"], *["4"] * ("at" in claim)]),
)
def test_no_comparison_holds_with_a_curve_without_evaluation_points(claim):
    nothing = Curve("other", RECORDS, 1, Verdict(True, "made by hand"))
    assert not judged(claim, it=np.ones(RECORDS), other=nothing).holds


def jackknife(statistic, *replicas):
    """Jackknife error of a statistic of arrays [R, S], each time without one replica in all arrays."""
    count = len(replicas[0])
    estimates = [
        statistic(*(np.delete(replicas_of_array, number, 0) for replicas_of_array in replicas))
        for number in range(count)
    ]
    return np.sqrt((count - 1) / count * np.square(np.array(estimates) - np.mean(estimates)).sum())


def exponents(law):
    """Losses k^law e^s, one replica for each s of SPREAD; each has a slope of its own."""
    with np.errstate(divide="ignore"):
        return np.exp(np.outer(law + SPREAD, np.log(K)))


def slope_of(values):
    return np.polyfit(np.log(K[1:]), np.log(values.mean(0)[1:]), 1)[0]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"between": [0.6, 0.8]}, True),
        ({"between": [0.71, 0.8]}, False),
        ({"equals": 0.69, "standard_errors": 3}, True),
        ({"equals": 0.65, "standard_errors": 3}, False),
        ({"below": 0.71}, True),
        ({"above": 0.71}, False),
    ],
)
def test_a_slope_is_the_exponent_of_a_power_law(claim, expected):
    values = exponents(0.7)
    outcome = judged({"kind": "slope", **claim}, it=values)
    assert outcome.holds is expected, outcome.detail
    assert outcome.measured == pytest.approx(slope_of(values), rel=1e-12)
    assert outcome.stderr == pytest.approx(jackknife(slope_of, values), rel=1e-9)
    assert 0.005 < outcome.stderr < 0.01


def test_details_of_a_slope_shared_by_all_replicas_omit_the_standard_error():
    losses = np.tile(np.exp2(-K), (3, 1))
    outcome = judged({"kind": "slope", "linear": True, "below": 0}, it=losses)
    assert outcome.stderr == 0
    assert "(the same in every replica)" in outcome.detail
    assert "standard error" not in outcome.detail


def test_a_median_without_error_is_not_called_the_same_in_every_replica():
    half = np.full((21, RECORDS), 0.5)
    half[0] = 0.25
    curves = [curve("it", half), curve("one", np.ones((21, RECORDS)))]
    claim = {"text": "It is so", "kind": "difference", "curve": "it", "to": "one", "at": 4, "below": 0}
    document = raw(d=RECORDS - 1, learners={"it": gd(0.1), "one": gd(0.1)}, claims=[claim])
    document["pictures"] = [{"x": "k", "measure": "loss", "summary": "median"}]
    (outcome,) = judge(of_one(reading.parse(document), Trace(curves, [], {"k": K}, "k", {}, "loss")))
    assert outcome.stderr == 0
    assert "is -0.5 (standard error 0)" in outcome.detail


def test_a_slope_can_be_linear_and_requires_two_points():
    outcome = judged({"kind": "slope", "linear": True, "equals": -0.5, "within": 1e-9}, it=9 - 0.5 * K)
    assert outcome.holds
    assert outcome.stderr is None
    outcome = judged({"kind": "slope", "above": 0}, it=np.where(K == 3, 1.0, 0.0))
    assert not outcome.holds
    assert "needs two x positions with x > 0 and y > 0, but the curve has 1" in outcome.detail


def test_a_slope_per_doubling_is_the_coefficient_of_the_logarithm_to_base_two():
    rng = np.random.default_rng(0)
    samples = 7 - 2.5 * np.log2(np.maximum(K, 1)) + rng.normal(size=(5, len(K)))

    def naive(losses):
        return np.polyfit(np.log2(K[1:]), losses.mean(0)[1:], 1)[0]

    outcome = judged(
        {"kind": "slope", "per_doubling": True, "equals": -2.5, "standard_errors": 4}, it=samples
    )
    assert outcome.measured == pytest.approx(naive(samples), rel=1e-12)
    assert outcome.stderr == pytest.approx(jackknife(naive, samples), rel=1e-9)
    assert (samples <= 0).any(), "y may be negative"
    with pytest.raises(BadInput, match=r"either against x or against log₂ x"):
        judged({"kind": "slope", "per_doubling": True, "linear": True, "above": 0}, it=samples)


def test_a_log_log_slope_uses_positive_points_only():
    values = np.where(K < 5, K**2, 0.0)
    outcome = judged({"kind": "slope", "equals": 2, "within": 1e-9}, it=values)
    assert outcome.holds
    assert "over 4 points" in outcome.detail


@pytest.mark.parametrize("to", ["other", "ri-signed"])
@pytest.mark.parametrize(
    ("claim", "expected", "at"),
    [
        ({"between": [1, 2]}, True, None),
        ({"between": [1.3, 2]}, False, 0),
        ({"below": 1.9}, True, 8),
        ({"below": 1.7}, False, 8),
        ({"above": 1.1}, False, 0),
        ({"above": 1.3, "at": 4}, True, 4),
        ({"below": 1.3, "at": 4}, False, 4),
        ({"equals": 1.4, "within": 0.41}, True, None),
        ({"equals": 1.4, "within": 0.39}, False, None),
    ],
)
def test_a_ratio_claim_is_judged_at_its_worst_point(claim, expected, at, to):
    below = 2 - K / 8
    values = below * (1 + 0.1 * K)
    outcome = judged({"kind": "ratio", "to": to, **claim}, lines=[line(below)], it=values, other=below)
    assert outcome.holds is expected, outcome.detail
    if at is not None:
        assert outcome.measured == pytest.approx(1 + 0.1 * at)
        assert f"at k = {at} the ratio to {to}" in outcome.detail


@pytest.mark.parametrize("binds", [True, False])
@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "line", "never_below": "ri-signed"},
        {"kind": "ratio", "to": "ri-signed", "above": 1},
        {"kind": "difference", "to": "ri-signed", "above": 0, "at": 4},
        {"kind": "crossing", "other": "ri-signed", "below": 8},
        {"kind": "ratio", "to": "other", "above": 1},
    ],
    ids=lambda claim: " ".join(map(str, claim.values())),
)
def test_claims_about_a_line_report_a_line_that_does_not_apply(claim, binds):
    outcome = judged(claim, lines=[line(2 - K / 4, it=binds)], it=1 - K / 40, other=2 - K / 4)
    is_told = "(the ri-signed does not apply to it)" in outcome.detail
    assert is_told == (not binds and "ri-signed" in claim.values())


def test_ratio_errors_use_a_paired_jackknife_over_replicas():
    values, other = exponents(0.5)[:, 1:], exponents(0.2)[::-1, 1:]
    values, other = (np.concatenate([np.ones((5, 1)), array], 1) for array in (values, other))
    outcome = judged({"kind": "ratio", "to": "other", "at": 8, "above": 1}, it=values, other=other)
    expected = jackknife(lambda v, o: v.mean(0)[8] / o.mean(0)[8], values, other)
    assert outcome.measured == pytest.approx(values.mean(0)[8] / other.mean(0)[8], rel=1e-12)
    assert outcome.stderr == pytest.approx(expected, rel=1e-9)


def test_a_ratio_claim_skips_zero_denominators_and_fails_without_points():
    outcome = judged({"kind": "ratio", "to": "other", "below": 2}, it=K, other=0 * K)
    assert not outcome.holds
    assert "there is no x" in outcome.detail
    assert judged({"kind": "ratio", "to": "other", "below": 2}, it=K, other=np.maximum(K - 3, 0) + K).holds


def test_an_order_claim_covers_every_point_or_one_given_point():
    higher = 2 - K / 8
    lower = higher - 0.1 * (K > 0)
    assert judged({"kind": "order", "below": "other"}, it=lower, other=higher).holds
    outcome = judged({"kind": "order", "below": "other"}, it=np.where(K == 5, 3, lower), other=higher)
    assert not outcome.holds
    assert "at k = 5" in outcome.detail
    crossing = np.where(K < 4, higher + 1, lower)
    assert judged({"kind": "order", "below": "other", "at": 6}, it=crossing, other=higher).holds
    assert not judged({"kind": "order", "below": "other", "at": 2}, it=crossing, other=higher).holds
    assert not judged({"kind": "order", "below": "other", "at": 0}, it=lower, other=higher).holds


@pytest.mark.parametrize("at", [None, 8])
def test_an_order_claim_can_require_a_gap_in_standard_errors(at):
    noise = np.outer(SPREAD, np.ones(RECORDS))
    values, other = 1 + noise, 1.05 + 3 * noise
    claim = {"kind": "order", "below": "other"} | ({} if at is None else {"at": at})
    error = float(jackknife(lambda v, o: (v - o).mean(0)[8], values, other))
    outcome = judged({**claim, "standard_errors": 0.99 * 0.05 / error}, it=values, other=other)
    assert outcome.holds, outcome.detail
    assert outcome.stderr == pytest.approx(error, rel=1e-9)
    assert not judged({**claim, "standard_errors": 1.01 * 0.05 / error}, it=values, other=other).holds


@pytest.mark.parametrize("other", ["other", "ri-signed"])
def test_a_crossing_is_at_the_sign_change_of_the_gap(other):
    values, level = 1 - K / 8, np.full(RECORDS, 0.3)
    claim = {"kind": "crossing", "other": other, "equals": 5.6, "within": 1e-9}
    outcome = judged(claim, lines=[line(level)], it=values, other=level)
    assert outcome.holds, outcome.detail
    assert outcome.measured == pytest.approx(5.6)
    outcome = judged(claim, lines=[line(0 * K - 1)], it=values, other=0 * K - 1)
    assert not outcome.holds
    assert "does not cross" in outcome.detail


def test_a_shared_start_of_two_curves_is_no_crossing():
    other = np.array([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    values = np.array([1, 0.95, 0.9, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1])
    outcome = judged({"kind": "crossing", "other": "other", "between": [3, 5]}, it=values, other=other)
    assert outcome.holds
    assert outcome.measured == pytest.approx(4)


def test_crossing_errors_are_jackknife_errors_of_the_crossing_position():
    values = 1 - np.outer(1 + SPREAD, K / 8)
    level = np.full((5, RECORDS), 0.3)
    outcome = judged({"kind": "crossing", "other": "other", "above": 5}, it=values, other=level)
    expected = jackknife(lambda v: 0.7 * 8 / (1 - v.mean(0)[8]), values)
    assert outcome.stderr == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("share", "expected"), [(0.6, True), (0.61, False), (1, False), (None, False)])
def test_a_share_counts_replicas(share, expected):
    values = np.ones((5, RECORDS))
    values[:3, 4] = 0.05
    claim = {"kind": "share", "at": 4, "below": 0.1} | ({} if share is None else {"share": share})
    outcome = judged(claim, it=values)
    assert outcome.holds is expected
    assert outcome.measured == 0.6
    assert outcome.stderr == pytest.approx(jackknife(lambda v: (v[:, 4] < 0.1).mean(), values))
    assert "3 of 5 replicas" in outcome.detail


def test_a_replica_does_not_count_towards_a_share_after_its_divergence():
    values = np.full((5, RECORDS), 0.05)
    values[1, 6:] = np.nan
    partly_diverged = curve("it", values, divergences=[np.nan, 6, np.nan, np.nan, np.nan])
    assert judged({"kind": "share", "at": 8, "below": 0.1}, it=partly_diverged).measured == 0.8
    assert judged({"kind": "share", "at": 5, "below": 0.1}, it=partly_diverged).measured == 1


def test_the_largest_gap_is_the_largest_ratio_of_neighbours():
    values = np.tile([9.0, 8, 7, 6, 1, 0.9, 0.8, 0.7, 0.5], (5, 1))
    values[4] = [9, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
    for share, expected in ((0.8, True), (1, False)):
        outcome = judged({"kind": "largest-gap", "at": 3, "share": share}, it=values)
        assert outcome.holds is expected
        assert outcome.measured == 0.8
        assert "in the median over replicas, the largest gap is after k = 3" in outcome.detail
    assert not judged({"kind": "largest-gap", "at": 4}, it=values[0]).holds
    exactly = np.array([3.0, 1, 0.5, 0, 0, 0, 0, 0, 0])
    assert judged({"kind": "largest-gap", "at": 2}, it=exactly).holds, "what ends in nothing"


WHOLE = [
    {"kind": "slope", "above": -9},
    {"kind": "ratio", "to": "other", "above": -9},
    {"kind": "order", "below": "other"},
    {"kind": "crossing", "other": "other", "above": -9},
    {"kind": "largest-gap", "at": 1},
]


@pytest.mark.parametrize("claim", WHOLE, ids=[claim["kind"] for claim in WHOLE])
def test_a_claim_about_a_whole_curve_fails_for_a_truncated_curve(claim):
    values = np.array([5.0, 4, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    other = np.array([6.0, 5, 4, 3, 2, 1, 0.7, 0.6, 0.5])
    if claim["kind"] == "crossing":
        other = np.array([6.0, 3, 0.5, 3, 2, 1, 0.7, 0.6, 0.5])
    assert judged(claim, it=values, other=other).holds
    early = judged(claim, it=values[:4], other=other)
    assert not early.holds
    assert "the curve ends at k = 3" in early.detail
    assert not judged(claim, it=values[:0], other=other).holds


@pytest.mark.parametrize("kind", ["value", "share"])
def test_a_claim_at_a_point_requires_the_curve_only_up_to_it(kind):
    claim = {"kind": kind, "at": 2, "below": 2}
    assert judged(claim, it=[3.0, 2, 1]).holds
    assert not judged(claim, it=[3.0, 2]).holds


SIZES = [4, 8, 16]
TEXT = {"text": "It is so"}


def swept(claims, losses, **words):
    """Results over d = 4, 8, 16 with losses [R] at the end of each, and claims about them."""
    sweep = sweep_of(
        {
            "axes": [{"name": "size", "values": SIZES}],
            "problem": {"matrix": {"kind": "gaussian", "d": "size", "n": 8}, "target": "feature"},
            "protocol": "one-pass",
            "learners": [{"name": "it", **gd(0.1)}],
            "run": {"replicas": len(losses[0]), "device": "cpu"},
            "pictures": [{"x": "size", "measure": "loss"}],
            "claims": claims,
            **words,
        }
    )
    records = [np.outer(ends, np.linspace(2, 1, RECORDS)) for ends in losses]
    traces = {
        number: Trace([curve("it", losses_of_point)], [], {"k": K}, "k", {}, "loss")
        for number, losses_of_point in enumerate(records)
    }
    for trace in traces.values():
        for curve_of_point in trace.curves:
            curve_of_point.ended = True
    return Results(sweep, traces, set(traces))


def test_slope_errors_along_an_axis_are_jackknife_errors_over_replicas():
    losses = [np.exp((0.9 + SPREAD) * np.log(size)) for size in SIZES]
    results = swept([{**TEXT, "kind": "slope", "curve": "it", "between": [0.88, 0.92]}], losses)
    (outcome,) = judge(results)

    def slope(values):
        return np.polyfit(np.log(SIZES), np.log(values.mean(0)), 1)[0]

    losses_by_size = np.stack(losses, 1)
    assert outcome.holds, outcome.detail
    assert outcome.measured == pytest.approx(slope(losses_by_size), rel=1e-12)
    assert outcome.stderr == pytest.approx(jackknife(slope, losses_by_size), rel=1e-9)
    del results.traces[1]
    assert not judge(results)[0].holds, "a point is missing"


def test_a_claim_without_a_curve_covers_every_curve_at_its_axis_value():
    pictures = [{"x": "k", "measure": "loss", "curves": "size"}]
    claim = {**TEXT, "kind": "value", "at": 8, "equals": "size/2", "within": 1e-9}
    losses = [np.full(2, size / 2) for size in SIZES]
    assert judge(swept([claim], losses, pictures=pictures))[0].holds
    losses[1] += 0.1
    (outcome,) = judge(swept([claim], losses, pictures=pictures))
    assert not outcome.holds
    assert outcome.detail == "size = 8: 4.1 ≠ 4 ± 1e-09"
    named = {**claim, "curve": "it, size = 16"}
    assert judge(swept([named], losses, pictures=pictures))[0].holds


def test_a_claim_can_name_its_picture_and_its_measure():
    pictures = [
        {"name": "sizes", "x": "size", "measure": "loss"},
        {"name": "ends", "x": "k", "measure": "loss", "curves": "size", "times": "10"},
    ]
    claims = [
        {**TEXT, "kind": "value", "curve": "it", "at": 8, "equals": 4, "within": 1e-9},
        {**TEXT, "kind": "value", "curve": "it", "picture": "sizes", "at": 16, "above": 7},
        {**TEXT, "kind": "share", "curve": "it", "picture": "ends", "at": 8, "above": 19},
        {**TEXT, "kind": "value", "curve": "it", "measure": {"kind": "norm", "p": "1"}, "at": 8, "above": 0},
    ]
    outcomes = judge(swept(claims, [np.full(2, size / 2) for size in SIZES], pictures=pictures))
    assert [outcome.holds for outcome in outcomes] == [True, True, True, False]
    assert outcomes[3].detail == "the curve has no evaluation points"


@pytest.mark.parametrize(
    ("claim", "where", "reason"),
    [
        (
            {"kind": "value", "curve": "it", "at": "size", "above": 0},
            "claims[0]",
            "the claim's numbers vary along a curve",
        ),
        (
            {"kind": "value", "curve": "nobody", "at": 4, "above": 0},
            "claims[0].curve",
            "no learner 'nobody'; the learners are 'it'",
        ),
        ({"kind": "value", "picture": "x", "at": 4, "above": 0}, "claims[0].picture", "no picture 'x'"),
        ({"kind": "line", "curve": "it", "never_below": "x"}, "claims[0].never_below", "no theory line 'x'"),
    ],
)
def test_impossible_claims_about_a_sweep_are_refused_with_place_and_reason(claim, where, reason):
    with pytest.raises(BadInput) as caught:
        swept([{**TEXT, **claim}], [np.ones(2)] * 3)
    assert caught.value.where == where
    assert reason in caught.value.fault


def test_a_claim_about_a_line_uses_the_line_at_its_axis_values():
    nets = [{"name": "net", "architecture": {"kind": "dense", "depth": 3, "width": 8, "cw": "cw"}}]
    follows = {"kind": "line", "follows": "layer-recursion", "standard_errors": 5}
    claims = [{**follows, "text": "it follows its own", "curve": f"net, cw = {cw:g}"} for cw in (1, 4)]
    described = sweep_of(
        {
            "axes": [{"name": "cw", "values": [1, 4]}],
            "problem": {"matrix": {"kind": "sphere", "n": 1, "d": 8}, "target": "coin"},
            "protocol": "at-init",
            "learners": nets,
            "run": {"replicas": 100, "device": "cpu"},
            "pictures": [{"x": "layer", "measure": "layer-variance", "curves": "cw"}],
            "claims": claims,
        }
    )
    assert [outcome.holds for outcome in judge(run_sweep(described))] == [True, True]


def paired(spread):
    """Two curves [R, S] with the same course in each replica, which differ by −0.1 + `spread`."""
    common = np.outer(SPREAD, K + 1)
    return 1 + common - 0.1 + spread[:, None], 1 + common


def test_a_difference_has_the_error_of_paired_replicas():
    spread = 0.001 * np.arange(-2.0, 3.0)
    it, other = paired(spread)
    outcome = judged(
        {"kind": "difference", "to": "other", "at": 4, "equals": -0.1, "within": 1e-12}, it=it, other=other
    )
    assert outcome.holds
    assert outcome.stderr == pytest.approx(spread.std(ddof=1) / np.sqrt(5))
    for expected, holds in ((-0.1025, True), (-0.104, False)):
        claim = {"kind": "difference", "to": "other", "equals": expected, "standard_errors": 4}
        assert judged(claim, it=it, other=other).holds is holds


def test_a_difference_to_a_line_is_judged_point_by_point():
    curves = np.tile(1 - K / 10, (5, 1))
    curves[:, 3] += 0.2
    for bound, holds in ((0.21, True), (0.19, False)):
        claim = {"kind": "difference", "to": "ri-signed", "below": bound}
        outcome = judged(claim, [line(1 - K / 10)], it=curves)
        assert outcome.holds is holds
        assert outcome.measured == pytest.approx(0.2)
        assert "k = 3" in outcome.detail


def of_replicas(per_replica):
    """A line that has values of its own for every replica."""
    return dataclasses.replace(line(per_replica.mean(0)), by_replica=per_replica)


@pytest.mark.parametrize("claim", [
    {"kind": "difference", "to": "ri-signed", "above": 0.0, "standard_errors": 3},
    {"kind": "line", "never_below": "ri-signed", "standard_errors": 3},
])  # fmt: skip
def test_a_line_per_replica_is_compared_replica_by_replica(claim):
    rng = np.random.default_rng(1)
    per_replica = rng.normal(1, 0.3, (5, RECORDS))
    noise = 0.001 * rng.normal(0, 1, per_replica.shape)
    above = judged(claim, [of_replicas(per_replica)], it=per_replica + noise + 0.01)
    assert above.holds
    assert above.stderr < 0.002
    below = judged(claim, [of_replicas(per_replica)], it=per_replica + noise - 0.01)
    assert not below.holds, "by ten of its own errors, and none of those of the curve"


def test_claim_outcomes_use_the_curve_names_of_legends():
    learners = {"GD": 0.02, "fast": 0.05}
    claims = [
        {"kind": "order", "curve": "GD, turned = False", "below": "fast, turned = False"},
        {"kind": "same-as", "curve": "GD, turned = True", "other": "fast, turned = True", "within": 0},
        {"kind": "ratio", "curve": "GD, turned = True", "to": "fast, turned = True", "below": 0},
        {"kind": "value", "at": 4, "below": 0},
    ]
    described = sweep_of(
        {
            "axes": [{"name": "turned", "set": "problem.matrix.rotate", "values": [False, True]}],
            "problem": {"matrix": {"kind": "gaussian", "n": 8, "d": 4}, "target": "feature"},
            "protocol": {"kind": "steps", "steps": 4},
            "learners": [
                {"name": learner_name, "architecture": "linear", "update": {"kind": "gd", "lr": rate}}
                for learner_name, rate in learners.items()
            ],
            "run": {"device": "cpu"},
            "pictures": [{"x": "step", "measure": "loss", "curves": "turned"}],
            "claims": [{"text": "It is so", **claim} for claim in claims],
        }
    )
    details = [outcome.detail for outcome in judge(run_sweep(described))]
    for detail, called in zip(
        details, ("fast, not turned", "fast, turned", "fast, turned", "GD, not turned"), strict=True
    ):
        assert called in detail
        assert "True" not in detail
        assert "False" not in detail
