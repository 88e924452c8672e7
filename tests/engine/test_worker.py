"""The background thread: start, pause, step, resume and stop, and the order of its events.

Tests wait for events and never sleep; time limits only end a test that would hang.
"""

import queue
import threading

import pytest
import torch
from building import LLS, experiment, gd, raw

from engine.core.parts import BadInput
from engine.planning import memory_estimate
from engine.runtime import drawn_data, worker
from engine.runtime.run import Diverged, Finished, Loaded, run
from engine.runtime.sweep_run import Begun, PointDone
from engine.runtime.worker import Changed, Failed, Refused, Worker
from engine.spec import reading
from engine.spec.sweep import only
from engine.updates.gd import GD

PATIENCE = 60


class Watched:
    """Worker with its events in order. The thread of the engine calls `during` with every event."""

    def __init__(self, described, during=lambda watched, event: None, turn=None):
        self.received, self._new = [], queue.Queue()

        def received(event):
            self.received.append(event)
            if isinstance(event, Loaded):
                self.trace = event.trace
            during(self, event)
            self._new.put(event)

        self.worker = Worker(only(described), received, threads=1, turn=turn)

    def until(self, wanted):
        """Wait for a state or for an event of a class; the event."""
        while True:
            event = self._new.get(timeout=PATIENCE)
            if event == Changed(wanted) if isinstance(wanted, str) else isinstance(event, wanted):
                return event

    def end(self, state):
        self.until(state)
        assert self.worker.join(PATIENCE)

    @property
    def states(self):
        return [event.state for event in self.received if isinstance(event, Changed)]

    @property
    def lengths(self):
        return [curve.length for curve in self.trace.curves]


SMALL = {"GD": gd(0.05), "LLS": LLS}


def small(**words):
    return experiment(learners=SMALL, d=16, **words)


def test_an_uninterrupted_run_sends_its_events_and_completes_its_curves():
    watched = Watched(small())
    watched.worker.start()
    watched.end("finished")
    assert watched.states == ["loading", "running", "finished"]
    kinds = [Changed, Changed, Begun, Loaded, PointDone, Finished, Changed]
    assert [type(event) for event in watched.received] == kinds
    for curve, other in zip(watched.trace.curves, run(small()).curves, strict=True):
        assert curve.complete
        assert curve.mean("loss") == pytest.approx(other.mean("loss"), abs=1e-14)


def test_a_run_started_paused_waits_at_k_0():
    watched = Watched(small())
    watched.worker.start(paused=True)
    watched.until("paused")
    assert watched.lengths == [1, 1]
    watched.worker.stop()
    watched.end("stopped")


def test_a_step_adds_exactly_one_record_to_every_learner():
    watched = Watched(small())
    watched.worker.start(paused=True)
    watched.until("paused")
    for records in range(2, 6):
        watched.worker.step()
        watched.until("paused")
        assert watched.lengths == [records, records]
    watched.worker.stop()
    watched.end("stopped")


def lengths_once_asked(*asked):
    """Lengths of the curves after a run that starts paused has received all these requests."""
    watched = Watched(small())
    with watched.worker._change:
        watched.worker.start(paused=True)
        for ask in asked:
            getattr(watched.worker, ask)()
    watched.until("paused")
    lengths = watched.lengths
    watched.worker.stop()
    watched.end("stopped")
    return lengths


def test_all_steps_requested_together_are_taken():
    assert lengths_once_asked("step", "step", "step") == [4, 4]


def test_resuming_a_run_discards_pending_steps():
    assert lengths_once_asked(*5 * ["step"], "resume", "pause") == [0, 0]


CONSISTENT = {
    "learners": SMALL,
    "d": 4,
    "protocol": {"kind": "to-consistency", "passes": 30, "tolerance": 1e-9},
}
"""A record of its first learner takes up to 120 updates."""


def test_a_step_completes_a_record_of_many_updates():
    watched = Watched(experiment("gaussian", **CONSISTENT))
    watched.worker.start(paused=True)
    for records in range(1, 4):
        watched.until("paused")
        assert watched.lengths == [records, records]
        watched.worker.step()
    watched.worker.stop()
    watched.end("stopped")


def test_a_run_is_stopped_within_a_record():
    endless = {"kind": "to-consistency", "passes": 1 << 24}
    watched = Watched(experiment("gaussian", learners={"GD": gd(1e-12)}, d=4, protocol=endless))
    watched.worker.start(paused=True)
    watched.until("paused")
    watched.worker.resume()
    watched.until("running")
    watched.worker.stop()
    watched.end("stopped")


def test_the_last_step_finishes_the_run():
    watched = Watched(experiment(learners=SMALL, d=2, target={"kind": "feature", "index": 1}))
    watched.worker.start(paused=True)
    for _ in range(2):
        watched.until("paused")
        watched.worker.step()
    watched.end("finished")
    assert watched.lengths == [3, 3]


def test_a_paused_run_resumes_to_its_end():
    watched = Watched(small())
    watched.worker.start(paused=True)
    watched.until("paused")
    watched.worker.resume()
    watched.end("finished")
    assert watched.lengths == [17, 17]
    assert watched.states == ["loading", "running", "paused", "running", "finished"]


LONG = experiment("gaussian", learners={"wild": gd(3.0), "GD": gd(1e-4), "LLS": LLS}, d=512, dtype="float32")
"""Its first learner diverges within a few records, which is a moment in the middle of the run."""


def test_pausing_holds_all_learners_and_resuming_completes_them():
    def during(watched, event):
        if isinstance(event, Diverged):
            watched.worker.pause()

    watched = Watched(LONG, during)
    watched.worker.start()
    watched.until("paused")
    held = watched.lengths
    assert all(0 < length < 200 for length in held)
    watched.worker.step()
    watched.until("paused")
    assert watched.lengths == [held[0], *(length + 1 for length in held[1:])]
    watched.worker.resume()
    watched.end("finished")
    assert watched.lengths == [held[0], 513, 513]
    assert sum(isinstance(event, Diverged) for event in watched.received) == 1


def test_a_stopped_run_keeps_its_partial_curves():
    def during(watched, event):
        if isinstance(event, Diverged):
            watched.worker.stop()

    watched = Watched(LONG, during)
    watched.worker.start()
    watched.end("stopped")
    assert all(0 < length < 200 for length in watched.lengths)
    assert not any(isinstance(event, Finished) for event in watched.received)


def test_a_large_run_stops_within_a_second():
    nets = {
        f"net {number}": gd(1e-6, kind="dense", widths=[256, 256], activation="gelu") for number in range(4)
    }
    watched = Watched(experiment("gaussian", learners=nets, d=512, dtype="float32", replicas=2))
    moving = threading.Event()

    class Seen(threading.Thread):
        def run(self):
            while not moving.wait(0.001):
                if watched.lengths[-1] > 2:
                    moving.set()

    watched.worker.start()
    watched.until(Loaded)
    Seen(daemon=True).start()
    assert moving.wait(PATIENCE)
    assert not watched.worker.join(0)
    watched.worker.stop()
    assert watched.worker.join(1.0), "within one second, mid-run too"
    assert watched.states[-1] == "stopped"
    assert all(curve.length < 513 for curve in watched.trace.curves)


def test_a_stop_before_the_data_are_drawn_ends_the_run():
    watched = Watched(small())
    watched.worker.stop()
    watched.worker.start()
    watched.end("stopped")
    assert not any(isinstance(event, Loaded) for event in watched.received)


def test_a_worker_that_never_started_can_be_joined():
    assert Worker(only(small()), lambda event: None).join(0)


def test_an_exception_in_the_engine_becomes_a_failure_with_its_traceback(monkeypatch):
    def broken(self, params, gradients, rates, state):
        raise ZeroDivisionError("the rule is broken")

    monkeypatch.setattr(GD, "step", broken)
    watched = Watched(small(path="dense"))
    watched.worker.start()
    failed = watched.until(Failed)
    watched.end("failed")
    assert "Traceback" in failed.traceback
    assert "ZeroDivisionError: the rule is broken" in failed.traceback
    assert "in broken" in failed.traceback
    assert watched.states == ["loading", "running", "failed"]


def test_an_exception_before_the_data_are_drawn_becomes_a_failure(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("nothing to run")

    monkeypatch.setattr(worker, "run_sweep", broken)
    watched = Watched(small())
    watched.worker.start()
    assert "RuntimeError: nothing to run" in watched.until(Failed).traceback
    watched.end("failed")


@pytest.mark.parametrize("ending", [None, RuntimeError("broken"), BadInput("run.device", "is not there")])
def test_a_run_returns_freed_memory_to_the_system(monkeypatch, ending):
    def as_told(*_, **__):
        if ending is not None:
            raise ending

    given_back = []
    monkeypatch.setattr(worker, "run_sweep", as_told)
    monkeypatch.setattr(memory_estimate, "give_back", lambda: given_back.append(True))
    watched = Watched(small())
    watched.worker.start()
    watched.end("finished" if ending is None else "failed")
    assert watched.worker.join(10)
    assert given_back == [True]


def test_torch_loads_after_a_numpy_run_without_delaying_later_runs(monkeypatch):
    loading, turn, loaded = threading.Event(), threading.Lock(), []

    def load(threads=None):
        loaded.append(threads)
        loading.wait(60)

    for place in ("engine.runtime.worker", "engine.runtime.sweep_run"):
        monkeypatch.setattr(f"{place}.load_torch", load)
    first, second = Watched(small(), turn=turn), Watched(small(), turn=turn)
    try:
        for watched in (first, second):
            watched.worker.start()
            watched.until("finished")
        assert {curve.backend for curve in second.trace.curves} == {"numpy"}
    finally:
        loading.set()
    assert first.worker.join(10)
    assert second.worker.join(10)
    assert loaded == [1, 1]


def test_a_worker_stopped_after_its_run_does_not_load_torch(monkeypatch):
    loaded = []
    monkeypatch.setattr("engine.runtime.worker.load_torch", loaded.append)
    monkeypatch.setattr("engine.runtime.worker.SECONDS_BEFORE_TORCH", 60.0)
    watched = Watched(small())
    watched.worker.start()
    watched.until("finished")
    watched.worker.stop()
    assert watched.worker.join(10)
    assert loaded == []


def test_insufficient_memory_refuses_the_run(monkeypatch):
    monkeypatch.setattr(memory_estimate, "available", lambda device: 10)
    monkeypatch.setattr(memory_estimate, "GRANTED", 10)
    watched = Watched(small())
    watched.worker.start()
    refused = watched.until(Refused)
    watched.end("failed")
    assert refused.error.where == "problem.matrix.d"
    assert "needs" in refused.error.fault
    assert not any(isinstance(event, (Failed, Loaded)) for event in watched.received)


def test_a_missing_device_refuses_the_run(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    watched = Watched(small(device="cuda:3"))
    watched.worker.start()
    assert watched.until(Refused).error.where == "run.device"
    watched.end("failed")


def test_files_deleted_since_reading_refuse_the_run(tmp_path):
    import numpy as np

    np.save(tmp_path / "X.npy", np.eye(4))
    described = reading.parse(raw({"kind": "file", "path": str(tmp_path / "X.npy")}))
    (tmp_path / "X.npy").unlink()
    watched = Watched(described)
    watched.worker.start()
    assert watched.until(Refused).error.where == "problem.matrix.path"
    watched.end("failed")


def test_two_concurrent_workers_give_the_results_of_single_workers():
    pair = [Watched(small(seed=seed)) for seed in (1, 2)]
    for watched in pair:
        watched.worker.start()
    for seed, watched in zip((1, 2), pair, strict=True):
        watched.end("finished")
        alone = run(small(seed=seed))
        for curve, other in zip(watched.trace.curves, alone.curves, strict=True):
            assert curve.mean("loss") == pytest.approx(other.mean("loss"), abs=1e-14)


def test_workers_that_share_a_turn_work_in_turn(monkeypatch):
    draw, drawing, at_work = drawn_data.examples, threading.Event(), []

    def slow(*words):
        at_work.append(threading.current_thread())
        assert at_work == [threading.current_thread()]
        drawing.wait(PATIENCE)
        try:
            return draw(*words)
        finally:
            at_work.clear()

    monkeypatch.setattr(drawn_data, "examples", slow)
    turn = threading.Lock()
    first, second, third = (Watched(small(), turn=turn) for _ in range(3))
    first.worker.start()
    first.until("running")
    for watched in (second, third):
        watched.worker.start()
        watched.until("waiting")
    for watched in (first, second):
        watched.worker.stop()
    drawing.set()
    first.end("stopped")
    second.end("stopped")
    third.end("finished")
    assert second.states == ["waiting", "stopped"]
    assert third.states == ["waiting", "loading", "running", "finished"]
