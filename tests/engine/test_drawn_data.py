"""Shared data of several runs: equal data are drawn once, within a limit of size, until a stop."""

import numpy as np
import pytest
from building import gd, needed

from engine.core import streams
from engine.core.parts import BadInput
from engine.core.stopping import Stopped, stopped_by
from engine.core.streams import Streams
from engine.planning import memory_estimate
from engine.planning.memory_estimate import drawn_bytes
from engine.planning.run_plan import plan_run
from engine.runtime import drawn_data
from engine.runtime.drawn_data import DrawnData
from engine.runtime.run import run
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.runtime.worker import Worker
from engine.spec.documents import sweep_of


def document(**words):
    """Two sizes of Gaussian data, and three rates, which change no data."""
    return {
        "axes": [{"name": "eta", "values": [0.01, 0.02, 0.03]}, {"name": "size", "values": [8, 16]}],
        "problem": {"matrix": {"kind": "gaussian", "d": "size", "n": 20}, "target": "feature"},
        "protocol": "one-pass",
        "learners": [{"name": "GD", **gd("eta")}],
        "run": {"replicas": 2, "device": "cpu"},
        **words,
    }


@pytest.fixture
def drawn(monkeypatch):
    """Numbers of features of all drawn data, in their order."""
    sizes = []

    def noting(draw):
        def noted(problem, *arguments, **words):
            sizes.append(problem.matrix.shape()[1])
            return draw(problem, *arguments, **words)

        return noted

    for name in ("draw", "examples"):
        monkeypatch.setattr(drawn_data, name, noting(getattr(drawn_data, name)))
    return sizes


def test_points_with_equal_data_share_them_without_changing_their_losses(drawn):
    sweep = sweep_of(document())
    results = run_sweep(sweep)
    assert drawn == [8, 16]
    for number, point in enumerate(sweep.points):
        (mine,), (alone,) = results.traces[number].curves, run(point.experiment).curves
        np.testing.assert_array_equal(mine.values("loss"), alone.values("loss"))


@pytest.mark.parametrize(
    ("other", "count"), [({"seed": "size"}, 2), ({"replicas": 3}, 2), ({"dtype": "float64"}, 2)]
)
def test_runs_with_other_seeds_replicas_or_dtypes_share_no_data(other, count, drawn):
    source, (point, *_) = DrawnData(), sweep_of(document()).points
    changed = sweep_of(document(run={"device": "cpu", "replicas": 2, **other})).points[0]
    for experiment in (point.experiment, changed.experiment, point.experiment):
        run(experiment, data=source)
    assert len(drawn) == count


def test_held_data_stay_within_the_byte_limit(drawn, monkeypatch):
    monkeypatch.setattr(drawn_data, "MOST", drawn_bytes(plan_run(sweep_of(document()).points[1].experiment)))
    run_sweep(sweep_of(document()))
    assert drawn == [8, 16] * 3
    drawn.clear()
    run_sweep(sweep_of(document(axes=document()["axes"][::-1])))
    assert drawn == [8, 16], "the same data one after the other"


def test_held_data_are_released_for_a_run_that_needs_memory(drawn, monkeypatch):
    source, (small, large, *_) = DrawnData(), sweep_of(document()).points
    run(small.experiment, data=source)
    free = needed(large.experiment)
    monkeypatch.setattr(memory_estimate, "GRANTED", -1)
    monkeypatch.setattr(memory_estimate, "available", lambda device: free - (1 if source._held else 0))
    run(large.experiment, data=source)
    monkeypatch.setattr(memory_estimate, "available", lambda device: free - 1)
    with pytest.raises(BadInput):
        run(large.experiment, data=source)


def test_no_data_are_drawn_for_stored_results(drawn, tmp_path):
    run_sweep(sweep_of(document()), writer=RunWriter(Store(tmp_path)))
    drawn.clear()
    assert run_sweep(sweep_of(document()), writer=RunWriter(Store(tmp_path))).complete
    assert not drawn


@pytest.mark.parametrize(("rotate", "questions"), [(False, 20), (True, 20), (True, 120)])
def test_drawing_stops_between_replicas_on_request(rotate, questions, monkeypatch):
    monkeypatch.setattr(streams, "UNCHECKED", 1)
    matrix = {"kind": "gaussian", "d": 8, "n": 8, "rotate": rotate}
    words = {"problem": {"matrix": matrix, "target": "feature"}, "run": {"replicas": 50, "device": "cpu"}}
    (point,) = sweep_of(document(axes=[], learners=[{"name": "GD", **gd(0.1)}], **words)).points
    asked = []
    stopped = stopped_by(lambda: asked.append(0) or len(asked) > questions)
    with stopped, pytest.raises(Stopped):
        DrawnData().of(point.experiment, "cpu")
    assert len(asked) == questions + 1


def test_a_sweep_stopped_while_drawing_has_empty_curves_and_no_finished_point(monkeypatch):
    monkeypatch.setattr(streams, "UNCHECKED", 1)
    asked = []
    results = run_sweep(sweep_of(document()), stopped=lambda: asked.append(0) or len(asked) > 1)
    assert len(asked) == 2
    assert [curve.length for trace in results.traces.values() for curve in trace.curves] == [0]
    assert not results.finished


def test_a_worker_stopped_while_drawing_reports_stopped(monkeypatch):
    states, normal = [], streams.Stream.normal
    worker = Worker(sweep_of(document()), lambda event: states.append(getattr(event, "state", event)))

    def stopping(stream, *shape):
        worker.stop()
        return normal(stream, *shape)

    monkeypatch.setattr(streams.Stream, "normal", stopping)
    worker.start()
    assert worker.join(60)
    assert states[0] == "loading"
    assert states[-1] == "stopped"
    assert not any(isinstance(state, BaseException) for state in states)


def test_numbers_drawn_in_pieces_equal_numbers_drawn_at_once(monkeypatch):
    monkeypatch.setattr(streams, "LONG_PIECE", 4)
    for name in ("normal", "uniform"):
        numbers = getattr(Streams([1, 2])("it"), name)(7, 5)
        for seed, mine in zip((1, 2), numbers, strict=True):
            (generator,) = Streams([seed])("it")._generators
            at_once = generator.standard_normal((7, 5)) if name == "normal" else generator.random((7, 5))
            np.testing.assert_array_equal(mine, at_once)
