"""The protocols `steps` and `at-init` against naive loops: batches, records and early ends."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from building import LLS, data_of, experiment, gd, raw

from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.protocols import EarlyEnd, Until, places
from engine.protocols.steps import MiniBatches
from engine.runtime.run import run
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of
from engine.spec.sweep import only

D = 8
NET = {"architecture": {"kind": "dense", "widths": [3], "activation": "tanh"}, "update": {"kind": "gd"}}


def steps(**words):
    return {"kind": "steps", **words}


def measured(protocol, learner, **words):
    described = experiment("gaussian", learners={"it": learner}, d=D, protocol=protocol, **words)
    return run(described).curves[0], data_of(described)


def naive(data, numbers, lr, replica=0):
    """The weights after each step of GD on the mean square loss of these rows, as a loop over examples."""
    x, y = data.instances.rows[replica].numpy(), data.labels[replica].numpy()
    w = np.zeros(x.shape[1])
    weights = [w]
    for batch in numbers:
        gradient = np.zeros_like(w)
        for row in batch:
            gradient += 2 * (x[row] @ w - y[row]) * x[row] / len(batch)
        w = w - lr * gradient
        weights.append(w)
    return np.stack(weights)


def loss_of(data, weights, replica=0):
    x, y = data.instances.rows[replica].numpy(), data.labels[replica].numpy()
    return np.mean((weights @ x.T - y) ** 2, 1)


@pytest.mark.parametrize("train", [None, 5])
def test_a_full_step_follows_the_mean_gradient_of_the_training_rows(train):
    words = {} if train is None else {"train": train}
    curve, data = measured(steps(steps=12, records=12, **words), gd(0.03), replicas=2)
    for replica in range(2):
        weights = naive(data, [range(train or D)] * 12, 0.03, replica)
        np.testing.assert_allclose(
            curve.values("loss")[:, replica], loss_of(data, weights, replica), rtol=1e-9
        )
    assert curve.clocks["step"].tolist() == list(range(13))
    assert curve.clocks["k"].tolist() == [number * (train or D) for number in range(13)]
    np.testing.assert_allclose(curve.clocks["time"], 0.03 * np.arange(13))


@pytest.mark.parametrize("replacement", [True, False])
def test_mini_batches_are_drawn_per_replica_and_shared_by_rates(replacement):
    protocol = steps(steps=7, records=7, batch=3, train=5, replacement=replacement)
    described = experiment(
        "gaussian", learners={"it": gd([0.01, 0.03])}, d=D, protocol=protocol, replicas=2, seed=5
    )
    curves, data = run(described).curves, data_of(described)
    for replica in range(2):
        draws = Streams([5 + replica])("batches")
        if replacement:
            numbers = [draws.integers(5, 3)[0] for _ in range(7)]
        else:
            passes = np.concatenate([draws.permutation(5)[0] for _ in range(5)])
            numbers = passes[:21].reshape(7, 3)
        for curve, lr in zip(curves, (0.01, 0.03), strict=True):
            expected = loss_of(data, naive(data, numbers, lr, replica), replica)
            np.testing.assert_allclose(curve.values("loss")[:, replica], expected, rtol=1e-9)


def test_every_pass_without_replacement_shows_every_row_once():

    batches = MiniBatches(Streams([1, 2])("batches"), 6, 4, replacement=False)
    shown = torch.cat([batches.draw() for _ in range(6)], 1).numpy()
    for replica in shown:
        for pass_of_rows in replica.reshape(-1, 6):
            assert sorted(pass_of_rows) == list(range(6))
    assert not np.array_equal(shown[0], shown[1])


def test_the_rest_of_a_pass_is_dropped_or_continued_in_the_next():
    continued, dropped = (
        MiniBatches(Streams([1])("batches"), 5, 2, drop_last=drop) for drop in (False, True)
    )
    order = Streams([1])("batches").permutation(5)[0].tolist()
    draws = [dropped.draw()[0].tolist() for _ in range(4)]
    assert draws[:2] == [order[:2], order[2:4]]
    assert len({*draws[2], *draws[3]}) == 4
    first = [continued.draw()[0].tolist() for _ in range(5)]
    assert first[:2] == draws[:2]
    assert first[2][0] == order[4]
    assert sorted(row for batch in first for row in batch)[::2] == list(range(5))


def test_fresh_mini_batches_are_independent_subsets():

    batches = MiniBatches(Streams([1])("batches"), 4, 2, fresh=True)
    shown = torch.cat([batches.draw() for _ in range(4000)]).numpy()
    assert (shown[:, 0] != shown[:, 1]).all()
    pairs = np.array([set(first) == set(two) for first, two in pairwise(shown.tolist())])
    error = np.sqrt(1 / 6 * 5 / 6 / len(pairs))
    assert pairs.mean() == pytest.approx(1 / 6, abs=4 * error), "of passes, one set of two would never follow"
    counts = np.bincount(shown.ravel(), minlength=4)
    np.testing.assert_allclose(counts / len(shown), 0.5, atol=4 * np.sqrt(0.25 / len(shown)))


@pytest.mark.parametrize("draws", [{}, {"fresh": True}, {"replacement": True}])
def test_learners_see_the_same_mini_batches_unless_each_draws_its_own(draws, tmp_path):
    def curves(own_batches, names=("a", "b")):
        protocol = steps(steps=6, records=6, batch=3, own_batches=own_batches, **draws)
        learners = {name: gd(0.02) for name in names}
        described = experiment("gaussian", learners=learners, d=D, protocol=protocol)
        return run_sweep(only(described), writer=RunWriter(store)).traces[0].curves

    store = Store(tmp_path)
    for own_batches in (False, True):
        first, second = curves(own_batches)
        assert np.array_equal(first.values("loss"), second.values("loss")) is not own_batches
    again, other = curves(own_batches=True, names=("b", "c"))
    np.testing.assert_array_equal(again.values("loss"), second.values("loss"))
    loss_arrays = (curve.values("loss") for curve in (first, second))
    assert not any(np.array_equal(other.values("loss"), losses) for losses in loss_arrays)


@pytest.mark.parametrize("batch", [{}, {"batch": 3}])
def test_a_run_on_all_targets_matches_runs_on_single_targets(batch):
    protocol = steps(steps=5, records=5, **batch)
    words = {"d": D, "protocol": protocol, "learners": {"it": gd(0.02)}, "seed": 3}
    together = run(experiment("gaussian", "all", **words)).curves[0].mean("loss")
    target_losses = [
        run(experiment("gaussian", {"kind": "feature", "index": i}, **words)).curves[0].mean("loss")
        for i in range(D)
    ]
    np.testing.assert_allclose(together, np.mean(target_losses, 0), rtol=1e-9)


@pytest.mark.parametrize("learner", [NET, LLS])
def test_results_do_not_depend_on_the_division_into_chunks(learner):
    protocol = steps(steps=40, records=6, grid="log", batch=3, until={"measure": "loss", "below": 0.01})
    described = experiment("gaussian", learners={"it": learner}, d=D, protocol=protocol, replicas=2)
    undivided = run(described).curves[0]
    for at_once in (1, 3, 17):
        divided = run(described, gate=lambda at_once=at_once: at_once).curves[0]
        assert np.array_equal(divided.values("loss"), undivided.values("loss"))
        assert divided.x.tolist() == undivided.x.tolist()


def test_a_number_of_steps_is_rounded_up():
    for written_steps, whole_steps in (
        (0.2, 1),
        (3.0, 3),
        (3.2, 4),
        ("0.7/0.1", 7),
        ("1.1/0.1", 11),
        ("300/0.3", 1000),
    ):
        protocol = experiment(protocol=steps(steps=written_steps), d=D).protocol
        assert protocol.extent(D).last == whole_steps


@pytest.mark.parametrize(
    ("last", "records"), [(1, 1), (10, 1), (10, 10), (10, 20), (1000, 4), (1000, 60), (77, 13)]
)
def test_records_are_spread_evenly_or_by_equal_factors(last, records):
    linear, log = (
        places(experiment(protocol=steps(steps=last, records=records, grid=grid), d=D).protocol, D)
        for grid in ("linear", "log")
    )
    for grid in (linear, log):
        assert len(grid) == min(last, records) + 1
        assert (grid[0], grid[-1]) == (0, last)
        assert (np.diff(grid) >= 1).all()
    assert np.ptp(np.diff(linear)) <= 1
    factors = [round(last ** ((i - 1) / max(1, records - 1))) for i in range(1, records + 1)]
    if last >= records > 1:
        assert log[1:].tolist() == [max(number, factor) for number, factor in enumerate(factors, 1)]


def test_a_logarithmic_grid_to_a_power_of_ten_contains_powers_of_ten():
    protocol = experiment(protocol=steps(steps=1000, records=4, grid="log"), d=D).protocol
    assert places(protocol, D).tolist() == [0, 1, 10, 100, 1000]


def test_loss_growth_is_the_log_ratio_of_consecutive_losses():
    curve, _ = measured(steps(steps=12, records=6), gd(0.2), measures=["loss-growth"], replicas=3)
    growth, loss = curve.values("loss-growth"), curve.values("loss")
    assert np.isnan(growth[0]).all()
    np.testing.assert_allclose(growth[1:], np.log(loss[1:] / loss[:-1]), rtol=1e-5, atol=1e-7)


def test_a_run_ends_when_a_clock_has_passed_a_value():
    protocol = steps(steps=100, records=100, until={"clock": "time", "above": 0.25})
    described = experiment("gaussian", learners={"it": gd([0.01, 0.1])}, d=D, protocol=protocol)
    slow, fast = run(described).curves
    assert (slow.length, fast.length) == (27, 4)
    for curve in (slow, fast):
        assert curve.complete
        assert curve.ended
        assert curve.clocks["time"][-1] > 0.25 >= curve.clocks["time"][-2]


def test_a_run_ends_once_every_replica_has_passed_the_value():
    to_the_end, _ = measured(steps(steps=300, records=300), gd(0.02), replicas=3)
    limit = float(np.median(to_the_end.values("loss")[150]))
    until = {"measure": "loss", "below": limit}
    curve, _ = measured(steps(steps=300, records=300, until=until), gd(0.02), replicas=3)
    first = (to_the_end.values("loss") < limit).argmax(0)
    assert len(set(first)) == 3
    assert curve.length == first.max() + 1
    assert curve.complete
    np.testing.assert_array_equal(curve.values("loss"), to_the_end.values("loss")[: curve.length])


def test_replicas_may_pass_a_value_at_different_times_and_come_back():
    below = np.array([[5.0, 5.0], [1.0, 5.0], [5.0, 5.0], [5.0, 1.0], [5.0, 5.0]])
    clocks, sound = {"step": np.arange(5.0)}, np.array([5, 5])
    assert EarlyEnd(Until(measure="loss", below=2.0), 2).length(clocks, {"loss": below}, sound) == 4
    in_rounds = EarlyEnd(Until(measure="loss", below=2.0), 2)
    ends = [
        in_rounds.length({"step": np.array([float(x)])}, {"loss": below[x : x + 1]}, np.array([1, 1]))
        for x in range(4)
    ]
    assert ends == [1] * 4
    assert in_rounds.reached


def test_a_run_continues_to_its_end_if_no_replica_passes_the_value():
    curve, _ = measured(steps(steps=9, until={"measure": "loss", "above": 1e9}), gd(0.02))
    assert curve.length == 10
    assert curve.complete


def test_an_early_end_does_not_wait_for_diverged_replicas():
    words = {"replicas": 20, "seed": 1}
    until = {"measure": "loss", "below": 0.3}
    to_the_end, _ = measured(steps(steps=400, records=400), gd(0.3), **words)
    assert 0 < to_the_end.diverged < 20
    curve, _ = measured(steps(steps=400, records=400, until=until), gd(0.3), **words)
    values = to_the_end.values("loss")
    done = np.logical_or.accumulate(
        (values < 0.3) | (to_the_end.divergences <= to_the_end.x[:, None]), 0
    ).all(1)
    assert done.any()
    assert curve.length == done.argmax() + 1
    assert curve.complete
    everybody, _ = measured(steps(steps=400, records=400, until=until), gd(50.0), **words)
    assert everybody.diverged == 20
    assert everybody.ended
    assert not everybody.complete


def test_a_run_that_ended_early_is_restored_as_complete(tmp_path):
    protocol = steps(steps=50, records=50, until={"clock": "step", "above": 9})
    described = experiment("gaussian", learners={"it": gd([0.01, 50.0])}, d=D, protocol=protocol)
    computed, restored = (
        run_sweep(only(described), writer=RunWriter(Store(tmp_path))).traces[0].curves for _ in range(2)
    )
    for curve, restored_curve in zip(computed, restored, strict=True):
        assert (restored_curve.length, restored_curve.complete) == (curve.length, curve.complete)
        assert restored_curve.clocks["time"].tolist() == curve.clocks["time"].tolist()
    assert [curve.complete for curve in restored] == [True, False]


def test_the_curve_of_the_best_rate_is_complete_at_its_early_end():
    protocol = steps(steps=50, records=50, until={"clock": "step", "above": 9})
    curve, _ = measured(protocol, gd("best"))
    assert curve.length == 11
    assert curve.complete


def test_the_training_loss_uses_the_training_rows_from_the_first_step():
    curve, data = measured(steps(steps=6, records=6, train=3), gd(0.03), train_loss=True)
    x, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
    weights = naive(data, [range(3)] * 6, 0.03)
    np.testing.assert_allclose(curve.mean("train"), np.mean((weights @ x[:3].T - y[:3]) ** 2, 1), rtol=1e-9)
    np.testing.assert_allclose(curve.mean("unseen"), np.mean((weights @ x[3:].T - y[3:]) ** 2, 1), rtol=1e-9)


def test_bounds_use_only_the_number_of_seen_rows():
    def bound(protocol):
        trace = run(experiment(learners={"GD": gd(0.01)}, d=D, protocol=protocol))
        return next(bound for bound in trace.lines_of("loss") if bound.kind == "ri-signed").values

    np.testing.assert_allclose(bound(steps(steps=3, train=6)), [1, *[1 - 6 / D] * 3])
    np.testing.assert_allclose(bound(steps(steps=3, batch=3, train=6)), [1, 1 - 3 / D, 1 - 6 / D, 1 - 6 / D])
    np.testing.assert_allclose(bound("at-init"), [0.0])


def test_a_solver_is_fitted_in_the_first_step_or_at_init():
    x, y = (lambda data: (data.instances.rows[0].numpy(), data.labels[0].numpy()))(measured(steps(), LLS)[1])
    fitted = np.linalg.lstsq(x[:5], y[:5], rcond=None)[0]
    curve, _ = measured(steps(steps=4, train=5), LLS)
    np.testing.assert_allclose(
        curve.mean("loss"), [np.mean(y**2), *[np.mean((x @ fitted - y) ** 2)] * 4], rtol=1e-9
    )
    at_init, _ = measured("at-init", LLS)
    assert at_init.mean("loss")[0] < 1e-20
    assert (at_init.length, at_init.complete, at_init.clocks) == (1, True, {"step": [0.0], "k": [0.0]})


def test_at_init_measures_the_start_with_or_without_a_rule():
    untrained = {"architecture": NET["architecture"]}
    curve, data = measured("at-init", NET, replicas=2)
    alone = run(experiment("gaussian", learners={"it": untrained}, d=D, protocol="at-init", replicas=2))
    assert np.array_equal(alone.curves[0].values("loss"), curve.values("loss"))
    start = Streams([0, 1])("init")
    first, second = start.normal(3, D) / math.sqrt(D), start.normal(1, 3) / math.sqrt(3)
    for replica in range(2):
        x, y = data.instances.rows[replica].numpy(), data.labels[replica].numpy()
        signal = second[replica] @ np.tanh(first[replica] @ x.T)
        np.testing.assert_allclose(curve.values("loss")[0, replica], np.mean((signal - y) ** 2), rtol=1e-9)


@pytest.mark.parametrize(
    ("protocol", "where", "words"),
    [
        (steps(train=9), "protocol.train", "at most 8"),
        (steps(batch=4, train=3), "protocol.batch", "at most 3"),
        (steps(steps=0), "protocol.steps", "0"),
        (steps(steps="1/0"), "protocol.steps", "1/0"),
        (steps(until={"clock": "step"}), "protocol.until", "`above` or `below`"),
        (steps(until={"above": 1}), "protocol.until", "a clock or a measure"),
        (steps(until={"clock": "time", "below": 1}), "protocol.until", "use `above`"),
        (steps(until={"measure": "sharp", "below": 1}), "protocol.until.measure", "sharpness"),
        (steps(until={"measure": "rank", "below": 1}), "protocol.until", "several targets"),
        ("one-pass", "learners[0].update", "missing"),
    ],
)
def test_impossible_settings_are_refused_with_place_and_remedy(protocol, where, words):
    learner = {"architecture": "linear"} if protocol == "one-pass" else gd(0.1)
    with pytest.raises(BadInput) as caught:
        experiment("gaussian", learners={"it": learner}, d=D, protocol=protocol)
    assert caught.value.where.startswith(where)
    assert words in caught.value.fault


def test_the_end_of_a_run_may_depend_on_an_axis():
    base = raw("gaussian", learners={"it": gd(0.1)}, d=D)
    base["learners"][0]["update"]["lr"] = "eta"
    until = {"clock": "time", "above": "3*eta"}
    base["protocol"] = {**base["protocol"], **steps(steps=50, records=50, until=until)}
    base["axes"] = [{"name": "eta", "values": [0.01, 0.02]}]
    for number, trace in run_sweep(sweep_of(base)).traces.items():
        assert trace.curves[0].complete
        assert trace.curves[0].length == 5, f"point {number}: η · step is above 3η at step 4"
    limits = [0.5, 0.2]
    base["protocol"]["until"] = {"measure": "loss", "below": 1}
    base["learners"][0]["update"]["lr"] = 0.02
    base["axes"] = [{"name": "limit", "values": limits, "set": "protocol.until.below"}]
    traces = run_sweep(sweep_of(base)).traces
    for number, limit in enumerate(limits):
        loss = traces[number].curves[0].mean("loss")
        assert loss[-1] < limit <= loss[-2]
    base["protocol"]["until"] = {"measure": "loss", "below": "2*"}
    with pytest.raises(BadInput) as caught:
        sweep_of(base | {"axes": []})
    assert caught.value.where == "protocol.until.below"
