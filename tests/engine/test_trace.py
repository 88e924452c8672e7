"""Growing curves: published records, stored weights, and concurrent readers."""

import ast
import threading
from pathlib import Path

import numpy as np
import pytest
from building import LLS, experiment, gd, losses

from engine.core.parts import Verdict
from engine.measures import named
from engine.results import measure_series
from engine.results import trace as traces
from engine.results.trace import Curve
from engine.runtime.run import run
from engine.training import descent

SURE = Verdict(True, "it is made by hand")


def hand_made(capacity=101, replicas=1, block=7, d=None):
    """A curve with loss 2x and weights x, written in blocks."""
    curve = Curve("it", capacity, replicas, SURE)
    for start in range(0, capacity, block):
        x = np.arange(start, min(start + block, capacity), dtype=float)
        loss = np.tile(2 * x[:, None], (1, replicas))
        keeps = () if d is None else descent.kept_records(capacity, d, 8)
        places_with_weights = [place for place, record in enumerate(x) if record in keeps]
        curve.append(
            {"k": x},
            {"loss": loss},
            weights={record: np.full(d, x[record]) for record in places_with_weights},
        )
    return curve


def test_a_curve_exposes_only_appended_records():
    curve = Curve("it", 10, 1, SURE)
    assert curve.length == 0
    assert len(curve.x) == len(curve.weights_x) == 0
    assert curve.mean("loss") is None
    assert curve.weights is None
    assert curve.stderr_of("loss") is None
    curve.append({"k": np.array([0.0, 1.0])}, {"loss": np.array([[3.0], [2.0]])})
    curve.append({"k": np.array([2.0])}, {"loss": np.array([[1.0]])})
    assert curve.length == 3
    assert not curve.complete
    assert curve.x.tolist() == [0, 1, 2]
    assert curve.mean("loss").tolist() == [3, 2, 1]
    curve.append({"k": np.empty(0)}, {"loss": np.empty((0, 1))})
    assert curve.length == 3


def test_mean_and_standard_error_match_numpy_over_replicas():
    described = experiment("gaussian", learners={"GD": gd(0.02), "LLS": LLS}, d=8, replicas=7, noise=0.2)
    by_replica, measured = losses(described), run(described)
    for curve in measured.curves:
        of = by_replica[curve.name]
        assert np.array_equal(curve.mean("loss"), of.mean(1))
        expected = [np.std(row, ddof=1) / np.sqrt(7) for row in of]
        np.testing.assert_allclose(curve.stderr_of("loss"), expected, rtol=1e-12)


def test_every_replica_keeps_its_own_values_of_every_measure():
    words = {"learners": {"GD": gd(0.02)}, "d": 8, "train_loss": True, "noise": 0.2}
    described = experiment("gaussian", replicas=3, **words)
    curve = run(described, gate=lambda: 2).curves[0]
    assert set(curve.measures) == {"loss", "train", "unseen"}
    for replica in range(3):
        alone = run(experiment("gaussian", seed=replica, **words))
        for measure in curve.measures:
            replica_values = curve.values(measure)[:, replica]
            np.testing.assert_allclose(replica_values, alone.curves[0].mean(measure), rtol=1e-12)
    np.testing.assert_allclose(curve.mean("train"), curve.values("train").mean(1), rtol=1e-12)
    assert np.isnan(curve.stderr_of("train")).tolist() == [True] + 8 * [False]


def test_a_large_series_keeps_the_first_replica_mean_and_error(monkeypatch):
    described = experiment("gaussian", learners={"GD": gd(0.3)}, d=32, replicas=5)
    full_curve = run(described).curves[0]
    assert full_curve.values("loss").shape == (full_curve.length, 5)
    monkeypatch.setattr(measure_series, "MOST_REPLICA_BYTES", 5 * 33 * 8 - 1)
    small = run(described, gate=lambda: 3).curves[0]
    assert small.values("loss").shape == (full_curve.length, 1)
    assert np.array_equal(small.values("loss")[:, 0], full_curve.values("loss")[:, 0], equal_nan=True)
    assert np.array_equal(small.mean("loss"), full_curve.mean("loss"))
    assert np.array_equal(small.stderr_of("loss"), full_curve.stderr_of("loss"), equal_nan=True)
    assert small.divergences.tolist() == full_curve.divergences.tolist()


def test_a_curve_has_its_own_clocks_and_x_is_the_first():
    epochs = {"kind": "epochs", "epochs": 3, "train": 5}
    trace = run(experiment(learners={"GD": gd(0.01), "wild": gd(1e9)}, d=8, protocol=epochs))
    curve, wild = trace.curves
    assert {name: times.tolist() for name, times in curve.clocks.items()} == {
        "epoch": [0, 1, 2, 3],
        "k": [0, 5, 5, 5],
    }
    assert np.array_equal(curve.x, curve.clocks["epoch"])
    assert trace.x_label == "epochs"
    assert [len(times) for times in wild.clocks.values()] == [wild.length] * 2 == [1, 1]
    assert {name: times.tolist() for name, times in trace.planned.items()} == {
        name: times.tolist() for name, times in curve.clocks.items()
    }
    for protocol in ("one-pass", "to-consistency", "erm"):
        (alone,) = run(experiment(d=8, protocol=protocol)).curves
        assert list(alone.clocks) == ["k"]


def test_slow_learners_reach_their_records_in_turn():
    """Learners with records are shown meanwhile."""
    learners = {"it": gd(0.05), "other": gd(0.02), "LLS": LLS}
    described = experiment(learners=learners, d=8, protocol={"kind": "erm", "steps": 30})
    traces, seen = [], []

    def gate():
        if traces:
            seen.append(([curve.length for curve in traces[0].curves], traces[0].reached))
        return 1

    trace = run(
        described,
        gate=gate,
        notify=lambda event: traces.append(event.trace) if hasattr(event, "trace") else 0,
        turn=0.0,
    )
    first = next(lengths for lengths, _ in seen if lengths[0])
    assert first[0] > 0
    assert first[1] == 0
    assert all((reached >= 0) == any(lengths) for lengths, reached in seen)
    assert [curve.length for curve in trace.curves] == [3, 3, 3]


def test_a_single_replica_has_no_standard_error():
    assert run(experiment(d=4)).curves[0].stderr_of("loss") is None
    assert run(experiment(d=4, replicas=2)).curves[0].stderr_of("loss") is not None


@pytest.mark.parametrize("block", [1, 7, 64, 5000])
@pytest.mark.parametrize("capacity", [5, 1023, 1024, 1025, 4000])
def test_weights_are_kept_evenly_and_at_the_end_up_to_the_limit(capacity, block):
    curve = hand_made(capacity, block=block, d=3)
    kept_count = len(curve.weights_x)
    stride = -(-(capacity - 1) // (descent.MOST_WEIGHT_RECORDS - 1))
    assert kept_count == len(curve.weights) <= descent.MOST_WEIGHT_RECORDS
    assert curve.weights_x.tolist() == [*range(0, capacity - 1, stride), capacity - 1]
    assert np.array_equal(curve.weights, np.tile(curve.weights_x[:, None], (1, 3)))
    assert kept_count == capacity or kept_count >= descent.MOST_WEIGHT_RECORDS / 2
    assert curve.length == capacity


def test_long_weight_vectors_are_kept_at_fewer_records(monkeypatch):
    monkeypatch.setattr(descent, "MOST_WEIGHT_BYTES", 10 * 8 * 50)
    curve = hand_made(1000, d=50)
    assert curve.weights.nbytes <= 10 * 8 * 50
    assert curve.weights_x.tolist() == list(range(0, 1000, 111))


def test_a_long_run_keeps_all_losses_and_thinned_weights(monkeypatch):
    described = experiment({"kind": "gaussian", "d": 4, "n": 100}, learners={"GD": gd(0.01), "LLS": LLS})
    full_trace = run(described)
    monkeypatch.setattr(descent, "MOST_WEIGHT_RECORDS", 20)
    thin = run(described, gate=lambda: 7)
    for curve, other in zip(thin.curves, full_trace.curves, strict=True):
        np.testing.assert_allclose(curve.mean("loss"), other.mean("loss"), rtol=1e-12, atol=1e-14)
        records_with_weights = [*range(0, 100, 6), 100]
        assert curve.weights_x.tolist() == records_with_weights
        assert np.array_equal(curve.weights, other.weights[records_with_weights])


def test_weights_of_nonlinear_nets_are_not_kept():
    net = gd(0.01, kind="dense", widths=[4], activation="relu")
    assert run(experiment(learners={"net": net}, d=4)).curves[0].weights is None


@pytest.mark.slow
def test_a_reader_in_another_thread_never_sees_a_half_written_entry():
    curve = Curve("it", 20_000, 2, SURE)
    wrong, done = [], threading.Event()

    def read():
        while not done.is_set():
            loss, stderr, weights = curve.mean("loss"), curve.stderr_of("loss"), curve.weights
            x = curve.x
            if loss is None or stderr is None:  # before the first record
                continue
            if not np.array_equal(loss, 2 * x[: len(loss)]) or stderr.any():
                wrong.append("loss")
            if weights is not None and not np.array_equal(weights[:, 0], curve.weights_x[: len(weights)]):
                wrong.append("weights")

    reader = threading.Thread(target=read)
    reader.start()
    keeps = descent.kept_records(20_000, 1, 8)
    for start in range(0, 20_000, 5):
        x = np.arange(start, start + 5, dtype=float)
        weights_of_block = {0: x[:1]} if start in keeps else {}
        curve.append({"k": x}, {"loss": np.tile(2 * x[:, None], (1, 2))}, weights=weights_of_block)
    done.set()
    reader.join()
    assert not wrong


@pytest.mark.slow
def test_a_snapshot_from_another_thread_has_series_of_equal_length():
    curve = Curve("it", 20_000, 2, SURE)
    wrong, done = [], threading.Event()

    def read():
        while not done.is_set():
            snapshot = curve.snapshot()
            lengths = {
                len(series_of_snapshot)
                for series_of_snapshot in (
                    snapshot.x,
                    snapshot.mean("loss"),
                    snapshot.stderr_of("loss"),
                    snapshot.values("loss"),
                )
                if series_of_snapshot is not None
            }
            if lengths != {snapshot.length} and snapshot.length:
                wrong.append(lengths)

    reader = threading.Thread(target=read)
    reader.start()
    for start in range(0, 20_000, 5):
        x = np.arange(start, start + 5, dtype=float)
        curve.append({"k": x}, {"loss": np.tile(2 * x[:, None], (1, 2))})
    done.set()
    reader.join()
    assert not wrong


def test_a_snapshot_of_a_trace_does_not_grow():
    trace = run(experiment(learners={"GD": gd(0.01)}, d=8))
    curve = trace.curves[0] = Curve("it", 10, 1, SURE)
    curve.append({"k": np.array([0.0, 1.0])}, {"loss": np.array([[3.0], [2.0]])})
    [snapshot] = trace.snapshot().curves
    curve.append({"k": np.array([2.0])}, {"loss": np.array([[np.inf]])})
    curve.divergences[0] = 2.0
    assert (snapshot.x.tolist(), snapshot.mean("loss").tolist(), snapshot.diverged) == ([0, 1], [3, 2], 0)
    assert (curve.length, curve.diverged) == (3, 1)


def test_the_frontier_is_the_last_record_that_all_learners_have_reached():
    rounds = iter([1, 2, 0])
    trace = run(experiment(learners={"GD": gd(0.01), "LLS": LLS}, d=8), gate=lambda: next(rounds))
    assert trace.frontier == 2
    assert trace.last == 8
    rounds = iter([0])
    assert run(experiment(d=8), gate=lambda: next(rounds)).frontier == -1
    diverged_trace = run(experiment(learners={"bad": gd(1e9), "LLS": LLS}, d=8))
    assert diverged_trace.frontier == 8


def test_the_frontier_ignores_learners_that_tune_their_rate():
    rounds = iter([1, 2, 0])
    learners = {"best": gd("best"), "LLS": LLS}
    trace = run(experiment(learners=learners, d=8), gate=lambda: next(rounds))
    assert trace.frontier == 2
    assert trace.curve("best").length == 0
    assert run(experiment(learners=learners, d=8)).curve("best").complete


def test_a_curve_is_found_by_its_name():
    trace = run(experiment(learners={"GD": gd(0.01), "LLS": LLS}, d=4))
    assert trace.curve("LLS").name == "LLS"
    with pytest.raises(KeyError):
        trace.curve("SGD")


def test_a_trace_records_its_environment():
    trace = run(experiment(d=4, dtype="float32", loss="logistic"))
    assert trace.environment.keys() == {"version", "torch", "device", "dtype", "memory"}
    assert trace.environment["device"] == "cpu"
    assert trace.environment["dtype"] == "float32"
    assert trace.x_label == "examples k"


@pytest.mark.parametrize("module", [traces, measure_series])
def test_modules_of_results_name_no_measure(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not named().keys() & {*words, *names}


def test_a_neuron_records_the_weights_inside_its_transfer_function():
    neuron = {"kind": "neuron", "activation": "tanh"}
    described = experiment(
        "gaussian", learners={"tanh": gd(0.02, **neuron), "linear": gd(0.02)}, d=8, replicas=3
    )
    tanh, linear = run(described).curves
    assert tanh.weights.shape == linear.weights.shape == (len(tanh.x), 8)
    assert not tanh.weights[0].any()
    np.testing.assert_allclose(tanh.weights[1], linear.weights[1], rtol=1e-12, err_msg="tanh′(0) = 1")
    assert not np.allclose(tanh.weights[-1], linear.weights[-1])
    assert tanh.mean("norm") is None, "measures of weights are of learners that are linear in the instance"
