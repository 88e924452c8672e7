"""Sweeps: every point is an ordinary run, and stored points are never computed again."""

import errno
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from building import gd

import engine.runtime.run as runs
from engine.core import journal
from engine.core.parts import BadInput
from engine.runtime import curve_keys
from engine.runtime.run import Finished, NotKept, run
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import Begun, PointDone, Removed, run_sweep
from engine.spec.documents import sweep_of

LEARNERS = [{"name": "GD", **gd("1/(2d)")}, {"name": "LLS", "solver": "lls", "where": "size <= 8"}]


def document(**words):
    return {
        "axes": [{"name": "size", "from": 4, "to": 16, "log": True}],
        "problem": {"matrix": {"kind": "hadamard", "d": "size"}, "target": "feature"},
        "protocol": "one-pass",
        "learners": LEARNERS,
        "pictures": [
            {"x": "k", "measure": measure_name, "curves": "size"} for measure_name in ("loss", "error")
        ],
        "run": {"replicas": 2, "device": "cpu"},
        **words,
    }


@pytest.fixture
def begun(monkeypatch):
    """Names of the learners that started, in their order."""
    names = []
    before = runs.LearnerRun
    monkeypatch.setattr(
        runs,
        "LearnerRun",
        lambda *arguments, **named: (
            (arguments[0] and names.append(arguments[3].learner.name)) or before(*arguments, **named)
        ),
    )
    return names


def same(trace, other):
    assert [curve.name for curve in trace.curves] == [curve.name for curve in other.curves]
    for mine, theirs in zip(trace.curves, other.curves, strict=True):
        assert mine.complete == theirs.complete
        assert mine.measures == theirs.measures
        assert mine.mean_along("loss") == theirs.mean_along("loss")
        arrays, expected = mine.as_arrays(), theirs.as_arrays()
        assert arrays.keys() == expected.keys()
        for name in arrays:
            np.testing.assert_array_equal(arrays[name], expected[name])


def test_every_point_matches_the_run_of_its_experiment():
    sweep = sweep_of(document())
    results = run_sweep(sweep)
    assert results.complete
    assert [len(results.traces[number].curves) for number in range(3)] == [2, 2, 1]
    for number, point in enumerate(sweep.points):
        same(results.traces[number], run(point.experiment))


def test_events_report_each_finished_point_and_the_end_once():
    heard = []
    run_sweep(sweep_of(document()), notify=heard.append)
    assert isinstance(heard[0], Begun)
    assert [event.number for event in heard if isinstance(event, PointDone)] == [0, 1, 2]
    assert (
        [isinstance(event, Finished) for event in heard].count(True) == 1 == isinstance(heard[-1], Finished)
    )


def test_stored_results_are_not_computed_again(tmp_path, begun):
    store = Store(tmp_path)
    first = run_sweep(sweep_of(document()), writer=RunWriter(store))
    assert begun == ["GD", "LLS", "GD", "LLS", "GD"]
    begun.clear()
    second = run_sweep(sweep_of(document(title="Another title")), writer=RunWriter(store))
    assert begun == []
    for number in range(3):
        same(first.traces[number], second.traces[number])


@pytest.mark.parametrize(
    "change", [{"run": {"replicas": 3, "device": "cpu"}}, {"protocol": {"kind": "one-pass", "examples": 3}}]
)
def test_a_changed_run_or_protocol_is_recomputed(change, tmp_path, begun):
    store = Store(tmp_path)
    run_sweep(sweep_of(document()), writer=RunWriter(store))
    begun.clear()
    run_sweep(sweep_of(document(**change)), writer=RunWriter(store))
    assert len(begun) == 5


def test_results_of_another_version_of_the_code_are_not_used(tmp_path, begun, monkeypatch):
    run_sweep(sweep_of(document()), writer=RunWriter(Store(tmp_path)))
    begun.clear()
    assert len(curve_keys.code()) == 64
    monkeypatch.setattr(curve_keys, "code", lambda: "another")
    run_sweep(sweep_of(document()), writer=RunWriter(Store(tmp_path)))
    assert len(begun) == 5


def test_only_an_added_learner_is_computed(tmp_path, begun):
    store = Store(tmp_path)
    run_sweep(sweep_of(document()), writer=RunWriter(store))
    begun.clear()
    more = [*LEARNERS, {"name": "EGU", "architecture": "linear", "update": "egu"}]
    run_sweep(sweep_of(document(learners=more)), writer=RunWriter(store))
    assert begun == ["EGU"] * 3


def test_an_added_measure_requires_new_runs(tmp_path, begun):
    store = Store(tmp_path)
    run_sweep(sweep_of(document()), writer=RunWriter(store))
    begun.clear()
    picture = {"x": "size", "measure": {"kind": "loss", "rows": "train"}}
    results = run_sweep(sweep_of(document(pictures=[picture])), writer=RunWriter(store))
    assert len(begun) == 5
    assert "train" in results.traces[0].curves[0].measures


def test_the_best_rate_is_restored_from_the_store(tmp_path, begun):
    store, learners = Store(tmp_path), [{"name": "GD", **gd("best")}]
    first = run_sweep(sweep_of(document(learners=learners)), writer=RunWriter(store))
    begun.clear()
    second = run_sweep(sweep_of(document(learners=learners)), writer=RunWriter(store))
    assert begun == []
    assert second.traces[0].curves[0].grid == first.traces[0].curves[0].grid
    same(first.traces[2], second.traces[2])


def test_damaged_results_are_computed_again(tmp_path, begun):
    store = Store(tmp_path)
    run_sweep(sweep_of(document()), writer=RunWriter(store))
    begun.clear()
    (file,) = tmp_path.glob("*.run")
    curves = [frame for frame in journal.frames(file) if frame.kind == "curv"]
    content = bytearray(file.read_bytes())
    for frame in curves[:2]:
        content[frame.end - 200] ^= 1
    file.write_bytes(content)
    run_sweep(sweep_of(document()), writer=RunWriter(store))
    assert len(begun) == 2


def test_stored_results_depend_on_the_content_of_data_files(tmp_path, begun):
    rows, labels, store = tmp_path / "rows.csv", tmp_path / "labels.csv", Store(tmp_path / "store")
    rows.write_text("1,2\n2,1\n1,1\n")

    def swept(sign):
        labels.write_text(f"{sign}\n1\n1\n")
        raw = document()
        del raw["axes"], raw["pictures"]
        raw["problem"] = {
            "matrix": {"kind": "file", "path": str(rows)},
            "target": {"kind": "file", "path": str(labels)},
        }
        raw["learners"] = [LEARNERS[0]]
        run_sweep(sweep_of(raw), writer=RunWriter(store))

    swept(1)
    swept(1)
    assert len(begun) == 1
    swept(-1)
    assert len(begun) == 2


def test_a_stopped_sweep_resumes_without_recomputing_finished_points(tmp_path, begun):
    store, rounds = Store(tmp_path), iter([10**6, 10**6, 1, 0])
    results = run_sweep(sweep_of(document()), gate=lambda: next(rounds), writer=RunWriter(store))
    assert not results.complete
    done = len(results.finished)
    begun.clear()
    assert run_sweep(sweep_of(document()), writer=RunWriter(store)).complete
    assert 0 < len(begun) <= 5 - 2 * done


KILLED = """
import os, signal, sys
from pathlib import Path
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import PointDone, run_sweep
from engine.spec.documents import sweep_of
def heard(event):
    if isinstance(event, PointDone) and event.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
run_sweep(sweep_of({document!r}), notify=heard, writer=RunWriter(Store(Path(sys.argv[1]))))
"""


@pytest.mark.slow
def test_finished_points_survive_a_kill(tmp_path, begun):
    program = KILLED.format(document=document())
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], env=os.environ, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert run_sweep(sweep_of(document()), writer=RunWriter(Store(tmp_path))).complete
    assert begun == ["GD"]


def test_an_impossible_point_is_named():
    with pytest.raises(BadInput, match="size = 5"):
        sweep_of(document(axes=[{"name": "size", "values": [4, 5]}]))


def of_gd(name="GD", **words):
    return document(learners=[{"name": name, **gd("1/(2d)"), **words}])


def test_renamed_learners_are_not_computed_again(tmp_path, begun):
    store = Store(tmp_path)
    first = run_sweep(sweep_of(of_gd()), writer=RunWriter(store))
    begun.clear()
    renamed = of_gd("gradient descent", role="reference", where="size > 2")
    second = run_sweep(sweep_of(renamed), writer=RunWriter(store))
    assert begun == []
    curves = first.traces[2].curves[0], second.traces[2].curves[0]
    assert [curve.name for curve in curves] == ["GD", "gradient descent"]
    np.testing.assert_array_equal(curves[0].values("loss"), curves[1].values("loss"))


def test_a_run_file_describes_the_experiment_of_each_curve(tmp_path):
    run_sweep(sweep_of(of_gd()), writer=RunWriter(Store(tmp_path)))
    (file,) = tmp_path.glob("*.run")
    points = [json.loads(frame.content["of"]) for frame in journal.frames(file) if frame.kind == "curv"]
    assert sorted(point["problem"]["matrix"]["d"] for point in points) == [4, 8, 16]
    assert sorted(point["learner"]["update"]["lr"] for point in points) == [1 / 32, 1 / 16, 1 / 8]
    for point in points:
        assert point["run"]["replicas"] == 2
        assert point["protocol"]["kind"] == "one-pass"
        assert not {"name", "role", "where"} & point["learner"].keys()


def a_file_in_place_of_the_folder(folder, monkeypatch):
    folder.write_text("")


def a_full_disk(folder, monkeypatch):
    def full(descriptor, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal, "_write_all_bytes", full)


@pytest.mark.parametrize(
    ("broken", "why"),
    [(a_file_in_place_of_the_folder, "File exists"), (a_full_disk, "No space left on device")],
)
def test_a_sweep_that_cannot_be_stored_is_computed_and_gives_one_reason(tmp_path, monkeypatch, broken, why):
    folder, heard = tmp_path / "points", []
    broken(folder, monkeypatch)
    results = run_sweep(sweep_of(of_gd()), notify=heard.append, writer=RunWriter(Store(folder)))
    assert results.complete
    same(results.traces[2], run_sweep(sweep_of(of_gd())).traces[2])
    (notice,) = (event for event in heard if isinstance(event, NotKept))
    assert why in notice.why


def test_a_store_removes_the_least_recently_used_runs_above_its_limit(tmp_path, begun):
    def seeded(seed):
        words = of_gd()
        return {**words, "run": {**words["run"], "seed": seed}}

    for seed in range(4):
        run_sweep(sweep_of(seeded(seed)), writer=RunWriter(Store(tmp_path)))
    _, second, *_ = reversed(Store(tmp_path).runs())
    Store(tmp_path).mark(second, pinned=True)
    begun.clear()
    run_sweep(sweep_of(seeded(0)), writer=RunWriter(Store(tmp_path)))
    assert begun == [], "what is read counts as used"
    size = sum(path.stat().st_size for path in tmp_path.glob("*.run"))
    heard, limited = [], Store(tmp_path, size + 3000)
    run_sweep(sweep_of(seeded(9)), notify=heard.append, writer=RunWriter(limited))
    (removed,) = (event for event in heard if isinstance(event, Removed))
    assert [run.document["run"]["seed"] for run in removed.runs] == [2], "1 is pinned, and 0 was just used"
    assert sum(path.stat().st_size for path in tmp_path.glob("*.run")) <= size + 3000
    assert {run.document["run"]["seed"] for run in limited.runs(details=True)} == {0, 1, 3, 9}
    assert not any(isinstance(event, NotKept) for event in heard)


def test_a_run_larger_than_the_store_limit_completes_with_a_notice(tmp_path):
    run_sweep(sweep_of(of_gd()), writer=RunWriter(Store(tmp_path / "all")))
    (file,) = (tmp_path / "all").glob("*.run")
    (first, *_) = (frame for frame in journal.frames(file) if frame.kind == "key ")
    heard, small = [], Store(tmp_path / "small", first.end + 500)
    assert run_sweep(sweep_of(of_gd()), notify=heard.append, writer=RunWriter(small)).complete
    (notice,) = (event for event in heard if isinstance(event, NotKept))
    assert "but all stored runs may take only" in notice.why
