"""A learner that diverges stops alone, keeps its curve, and the others finish."""

import naive
import numpy as np
import pytest
import torch
from building import LLS, data_of, experiment, gd, losses

from engine import catalogue
from engine.claims import unexpected_divergence
from engine.run import DIVERGED, Diverged, Finished, Loaded, run

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
def test_the_others_finish_as_if_it_were_not_there(wild):
    events = []
    described = experiment("gaussian", learners={**GOOD, "wild": WILD[wild]}, d=32, seed=2)
    trace = run(described, notify=events.append)
    curve = trace.curve("wild")
    assert curve.diverged_at == curve.length < 33
    assert curve.length > 0
    assert np.isfinite(curve.loss).all()
    assert (curve.loss <= DIVERGED * curve.loss[0]).all()
    assert curve.ended
    assert not curve.complete
    alone = run(experiment("gaussian", learners=GOOD, d=32, seed=2))
    for name in GOOD:
        assert trace.curve(name).complete
        assert trace.curve(name).diverged_at is None
        assert np.array_equal(trace.curve(name).loss, alone.curve(name).loss)
    assert [type(event) for event in events] == [Loaded, Diverged, Finished]
    assert (events[1].learner, events[1].x) == ("wild", curve.diverged_at)
    assert unexpected_divergence(described, trace) == ["wild"]


@pytest.mark.parametrize("block", [1, 5, 64])
def test_it_is_marked_where_the_naive_loop_first_exceeds_the_limit(block):
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
    np.testing.assert_allclose(curve.loss, expected[:k], rtol=1e-9)


def test_one_replica_of_many_is_enough():
    described = experiment("gaussian", learners={"wild": gd(0.25)}, d=32, replicas=20, seed=1)
    of = losses(described)["wild"]
    beyond = of > DIVERGED * of[0].mean()
    first = int(beyond.any(1).argmax())
    assert beyond[first].sum() < 20, "not all of them at once"
    assert run(described).curves[0].diverged_at == first


def test_learning_slowly_or_rising_a_little_is_no_divergence():
    trace = run(experiment("gaussian", learners={"slow": gd(1e-6), "rising": gd(0.09)}, d=16))
    assert trace.curve("rising").loss.max() > 2 * trace.curve("rising").loss[0]
    assert [curve.diverged_at for curve in trace.curves] == [None, None]


def test_weights_of_a_diverged_learner_end_with_its_curve():
    curve = run(experiment("gaussian", learners={"wild": gd(3.0)}, d=32)).curves[0]
    assert len(curve.weights_x) == len(curve.weights) == curve.length
    assert np.isfinite(curve.weights).all()


def test_all_learners_may_diverge():
    events = []
    trace = run(experiment("gaussian", learners=WILD, d=32, seed=2), notify=events.append)
    assert all(curve.diverged_at is not None for curve in trace.curves)
    assert isinstance(events[-1], Finished)


def test_a_divergence_that_a_claim_expects_is_not_unexpected():
    claim = {"text": "It diverges", "learner": "wild", "diverges": True}
    described = experiment("gaussian", learners={"wild": gd(3.0)}, d=32, claims=[claim])
    assert unexpected_divergence(described, run(described)) == []


def test_a_run_that_is_stopped_keeps_its_curves_and_does_not_say_finished():
    rounds, events = iter([3, 2, 0]), []
    trace = run(experiment(learners=GOOD, d=16), lambda: next(rounds), events.append)
    assert [curve.length for curve in trace.curves] == [5, 5, 5]
    assert [type(event) for event in events] == [Loaded]
    assert all(curve.diverged_at is None for curve in trace.curves)


def test_a_step_that_rounding_leaves_undetermined_is_no_number_and_no_error():
    rule = catalogue.make("updates", "online-newton", eps=1e-300)
    params, state = rule.start({"W": torch.zeros(2, 2, 3)})
    gradients = {"W": torch.stack([torch.ones(2, 3), torch.tensor([[1.0, 0, 0], [0, 1.0, 0]])])}
    moved, _ = rule.step(params, gradients, {"W": 1.0}, state)
    assert moved["W"][0].isnan().all()
    assert moved["W"][1].isfinite().all()
