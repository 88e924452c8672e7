"""A learner or replica that diverges stops alone and keeps its curve; the others finish."""

import naive
import numpy as np
import pytest
import torch
from building import LLS, data_of, experiment, gd, spectrum_of

from engine.core import catalogue
from engine.core.cost import DIVERGED, divergence_limit
from engine.core.parts import Finding, Verdict
from engine.pictures.bounds import respect
from engine.pictures.view import line_of
from engine.results.outcomes import judge, unexpected_divergence
from engine.results.results import of_one
from engine.results.trace import Curve, Statement, TheoryLine, Trace
from engine.results.views import view
from engine.runtime.run import Diverged, Finished, LearnerRun, Loaded, run
from engine.spec.experiment import of_run
from engine.training.recorder import Block

NET = {"kind": "dense", "widths": [8], "activation": "relu"}
GOOD = {"GD": gd(0.005), "net": gd(0.005, **NET), "LLS": LLS}

WILD = {
    "GD": gd(3.0),
    "momentum": {"update": {"kind": "momentum", "lr": 1.0}},
    "hypentropy": {"update": {"kind": "hypentropy", "lr": 30.0}},
    "EGU±": {"update": {"kind": "egu-pm", "lr": 30.0}},
    "relu": gd(5.0, **NET),
    "linear net": gd(1.0, kind="dense", widths=[8, 8]),
    "spindly": gd(2.0, kind="spindly", signed=True),
}


@pytest.mark.parametrize("wild", WILD)
def test_other_learners_finish_unaffected_by_a_diverged_learner(wild):
    events = []
    described = experiment("gaussian", learners={**GOOD, "wild": WILD[wild]}, d=32, seed=2)
    trace = run(described, notify=events.append)
    curve = trace.curve("wild")
    assert curve.diverged_at == curve.length < 33
    assert curve.length > 0
    assert np.isfinite(curve.mean("loss")).all()
    assert (curve.mean("loss") <= DIVERGED * curve.mean("loss")[0]).all()
    assert curve.ended
    assert not curve.complete
    alone = run(experiment("gaussian", learners=GOOD, d=32, seed=2))
    for learner_name in GOOD:
        assert trace.curve(learner_name).complete
        assert trace.curve(learner_name).diverged_at is None
        assert np.array_equal(trace.curve(learner_name).mean("loss"), alone.curve(learner_name).mean("loss"))
    assert [type(event) for event in events] == [Loaded, Diverged, Finished]
    assert (events[1].learner, events[1].x) == ("wild", curve.diverged_at)
    assert unexpected_divergence(described, trace) == ["wild"]


@pytest.mark.parametrize("block", [1, 5, 64])
def test_divergence_is_marked_at_the_first_naive_loss_above_the_limit(block):
    described = experiment("gaussian", learners={"wild": gd(0.4)}, d=16, seed=1)
    data = data_of(described)
    X, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
    rules = {"w": naive.GD(np.zeros(16), 0.4)}
    expected, _ = naive.one_pass(naive.Linear(), rules, X, y, "square")
    k = int(np.argmax(expected > 1e6 * expected[0]))
    assert 1 < k < 16
    curve = run(described, gate=lambda: block).curves[0]
    assert curve.diverged_at == k
    assert curve.length == k
    np.testing.assert_allclose(curve.mean("loss"), expected[:k], rtol=1e-9)


def test_the_divergence_limit_is_at_least_a_million():
    """A prediction next to its label must not make a catapult, which rises and then converges, diverge."""
    np.testing.assert_array_equal(divergence_limit(np.array([0.0, 1e-4, 1.0, 3.0])), [1e6, 1e6, 1e6, 3e6])


EDGE = {"learners": {"it": gd(0.1)}, "d": 32, "seed": 1}
"""A rate at which gradient descent on Gaussian instances diverges in some replicas and not in others."""


@pytest.fixture(scope="module")
def partly():
    """Experiment in which some replicas diverge, its events, and its curve."""
    described, events = experiment("gaussian", replicas=20, **EDGE), []
    return described, events, run(described, lambda: 7, events.append).curves[0]


def test_every_replica_diverges_as_in_a_single_run(partly):
    _, _, curve = partly
    assert 0 < curve.diverged < 20
    assert curve.complete
    assert curve.ended
    for replica in range(20):
        alone = run(experiment("gaussian", **{**EDGE, "seed": 1 + replica})).curves[0]
        replica_losses = curve.values("loss")[:, replica]
        np.testing.assert_allclose(replica_losses[: alone.length], alone.mean("loss"), rtol=1e-9)
        assert np.isnan(replica_losses[alone.length :]).all()
        at = curve.divergences[replica]
        assert at == alone.diverged_at or (np.isnan(at) and alone.diverged_at is None)


def test_means_and_standard_errors_use_the_remaining_replicas(partly):
    _, _, curve = partly
    values = curve.values("loss")
    np.testing.assert_allclose(curve.mean("loss"), np.nanmean(values, 1), rtol=1e-12)
    remaining = (~np.isnan(values)).sum(1)
    assert remaining[0] == 20 > remaining[-1] > 1
    np.testing.assert_allclose(
        curve.stderr_of("loss"), np.nanstd(values, 1, ddof=1) / np.sqrt(remaining), rtol=1e-12
    )
    assert np.isfinite(curve.mean("loss")).all()
    assert curve.sound == int((remaining == 20).argmin()) == curve.diverged_at
    assert curve.mean_along("loss") == np.inf, "no rate is the best that diverges in a replica"


def test_the_divergences_of_the_first_and_the_last_replica_are_reported(partly):
    _, events, curve = partly
    assert [type(event) for event in events] == [Loaded, Diverged, Finished]
    assert (events[1].learner, events[1].x, events[1].total) == ("it", curve.diverged_at, 20)
    assert 1 <= events[1].replicas <= curve.diverged
    events = []
    wild = experiment("gaussian", replicas=20, learners={"it": gd(0.3)}, d=32, seed=1)
    curve = run(wild, lambda: 1, events.append).curves[0]
    first, last = (event for event in events if isinstance(event, Diverged))
    assert (first.x, last.x) == (np.min(curve.divergences), np.max(curve.divergences))
    assert first.replicas < last.replicas == last.total == 20
    assert curve.ended
    assert curve.length == last.x < curve.capacity


class Given:
    """A training run with given losses [S, R], one record at a time."""

    def __init__(self, losses):
        self.hypothesis, self._losses = None, iter(enumerate(losses))

    def advance(self, records, seconds):
        k, losses = next(self._losses)
        return Block({"k": np.array([float(k)])}, {"loss": np.array(losses)[None, :, None]}, {}, {})


def test_a_diverged_replica_stays_nan_and_is_judged_by_its_own_start():
    curve = Curve("it", 4, 3, Verdict(True, "made by hand"))
    training_run = Given([[1.0, 10.0, 1e-4], [1e7, 5e6, 1e5], [1.0, 2e7, 1e5], [1.0, 1.0, 1e5]])
    learner_run = LearnerRun(training_run, [curve], None, None)
    told = [event for _ in range(4) for event in learner_run.advance(1)]
    assert curve.divergences.tolist()[:2] == [1.0, 2.0]
    assert np.isnan(curve.divergences[2])
    expected = [[1.0, 10.0, 1e-4], [np.nan, 5e6, 1e5], [np.nan, np.nan, 1e5], [np.nan, np.nan, 1e5]]
    np.testing.assert_array_equal(curve.values("loss"), expected)
    assert curve.mean("loss").tolist() == [pytest.approx(11.0001 / 3), pytest.approx(5.1e6 / 2), 1e5, 1e5]
    assert np.isnan(curve.stderr_of("loss")).tolist() == [False, False, True, True], "one alone has no error"
    assert [(event.x, event.replicas, event.total) for event in told] == [(1.0, 1, 3)]
    assert learner_run.ended
    assert curve.complete


def test_weights_and_spectra_end_where_the_first_replica_diverges():
    learners = {"it": gd(0.12)}
    described = experiment(
        "gaussian", target="all", spectrum=True, replicas=20, **{**EDGE, "learners": learners}
    )
    curve = run(described).curves[0]
    at = curve.divergences[0]
    assert at < np.nanmax(curve.divergences)
    assert curve.weights_x.tolist() == list(range(int(at)))
    assert spectrum_of(curve).x.max() < at


def test_claims_about_a_mean_fail_after_a_replica_diverges(partly):
    described, _, _ = partly
    forms = [
        {"kind": "value", "at": 32, "above": 0.0},
        {"kind": "line", "never_below": "ri-gaussian", "within": 1e9},
        {"kind": "same-as", "other": "slow", "within": 1e30},
        {"kind": "diverges"},
        {"kind": "slope", "below": 1e9},
        {"kind": "ratio", "to": "slow", "above": 0.0},
        {"kind": "crossing", "other": "slow", "above": 0.0},
        {"kind": "order", "below": "slow"},
    ]
    learners = {"it": gd(0.1), "slow": gd(1e-6)}
    claims = [{"text": f"claim {number}", "curve": "it", **form} for number, form in enumerate(forms)]
    described = experiment("gaussian", replicas=20, claims=claims, **{**EDGE, "learners": learners})
    trace = run(described)
    count = trace.curves[0].diverged
    for outcome in judge(of_one(described, trace)):
        assert not outcome.holds, outcome.claim.text
        assert f"{count} of 20 replicas diverged" in outcome.detail
    early = {"kind": "value", "text": "before", "curve": "it", "at": 1, "above": 0.0}
    both = experiment("gaussian", replicas=20, claims=[early], **{**EDGE, "learners": learners})
    assert judge(of_one(both, trace))[0].holds


def test_a_bound_is_judged_on_the_points_before_the_first_divergence(partly):
    described, _, curve = partly
    sound_records = curve.sound
    x = curve.x
    line = np.where(x < sound_records, 0.0, 1e30)  # a bound that only the records after it break
    finding = Finding(True, "made by hand")
    bound = TheoryLine(Statement("line", "lower", False, "", "", "loss"), finding, {"it": finding}, x, line)
    seen = view(of_run(described), of_one(described, Trace([curve], [bound], {"k": x}, "k", {}, "loss")))
    respected = respect(seen.curve("it"), line_of(seen, "line", "it"), seen.quantity.rounding)
    assert respected.holds is True
    assert "(the curve diverged at" in respected.detail


def test_slow_learning_and_a_small_rise_are_no_divergence():
    trace = run(experiment("gaussian", learners={"slow": gd(1e-6), "rising": gd(0.09)}, d=16))
    assert trace.curve("rising").mean("loss").max() > 2 * trace.curve("rising").mean("loss")[0]
    assert [curve.diverged_at for curve in trace.curves] == [None, None]


def test_weights_of_a_diverged_learner_end_with_its_curve():
    curve = run(experiment("gaussian", learners={"wild": gd(3.0)}, d=32)).curves[0]
    assert len(curve.weights_x) == len(curve.weights) == curve.length
    assert np.isfinite(curve.weights).all()


def test_a_run_finishes_when_all_learners_diverge():
    events = []
    trace = run(experiment("gaussian", learners=WILD, d=32, seed=2), notify=events.append)
    assert all(curve.diverged_at is not None for curve in trace.curves)
    assert isinstance(events[-1], Finished)


def test_a_claimed_divergence_is_not_reported_as_unexpected():
    claim = {"kind": "diverges", "text": "It diverges", "curve": "wild"}
    described = experiment("gaussian", learners={"wild": gd(3.0)}, d=32, claims=[claim])
    assert unexpected_divergence(described, run(described)) == []


def test_a_stopped_run_keeps_its_curves_and_sends_no_finished_event():
    rounds, events = iter([3, 2, 0]), []
    trace = run(experiment(learners=GOOD, d=16), lambda: next(rounds), events.append)
    assert [curve.length for curve in trace.curves] == [5, 5, 5]
    assert [type(event) for event in events] == [Loaded]
    assert all(curve.diverged_at is None for curve in trace.curves)


def test_an_undetermined_online_newton_step_is_nan_without_an_error():
    rule = catalogue.make("updates", "online-newton", eps=1e-300)
    params, state = rule.start({"W": torch.zeros(2, 2, 3)})
    gradients = {"W": torch.stack([torch.ones(2, 3), torch.tensor([[1.0, 0, 0], [0, 1.0, 0]])])}
    moved, _ = rule.step(params, gradients, {"W": 1.0}, state)
    assert moved["W"][0].isnan().all()
    assert moved["W"][1].isfinite().all()
