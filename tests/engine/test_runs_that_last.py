"""Runs in the store outlive kills, lost indices, full disks, other writers and newer versions."""

import errno
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import numpy as np
import pytest
from building import gd

from engine.core import journal
from engine.core.journal import SUFFIX
from engine.core.parts import BadInput
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.runtime import run_index, stored_run
from engine.runtime.run import NotKept
from engine.runtime.run_reader import RunReader, opened
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of

SINGLE = {
    "problem": {"matrix": {"kind": "hadamard", "d": 8}, "target": "feature"},
    "protocol": "one-pass",
    "learners": [{"name": "GD", **gd("best")}, {"name": "EGU", "architecture": "linear", "update": "egu"}],
    "run": {"replicas": 3, "device": "cpu"},
}
SWEEP = {
    **SINGLE,
    "axes": [{"name": "size", "from": 4, "to": 16, "log": True}],
    "problem": {"matrix": {"kind": "hadamard", "d": "size"}, "target": "feature"},
    "pictures": [{"x": "size", "measure": "loss", "read": {"first_below": 0.5}}],
}


def seeded(seed, words=SINGLE):
    return {**words, "run": {**words["run"], "seed": seed}}


def stored(folder, words=SINGLE, gate=None):
    """Run a document into a store, and return its computed and its file."""
    writer = RunWriter(Store(folder), words)
    gates = {} if gate is None else {"gate": gate}
    computed = run_sweep(sweep_of(words), writer=writer, **gates)
    return computed, Path(Store(folder).run(writer.run).path)


def answers(computed):
    return encode({}, computed, judge(computed), by_replica=not computed.sweep.axes)


@pytest.mark.parametrize("words", [SINGLE, SWEEP], ids=["single", "sweep"])
def test_a_run_opened_from_its_file_gives_the_same_results(words, tmp_path):
    computed, path = stored(tmp_path, words)
    run, again = opened(path)
    assert answers(again) == answers(computed)
    assert (run.state, run.document, again.complete) == ("finished", words, True)


def test_a_restored_tuned_learner_gives_the_same_results_beside_a_new_learner(tmp_path):
    stored(tmp_path, {**SINGLE, "learners": SINGLE["learners"][:1]})
    computed, path = stored(tmp_path, SINGLE)
    _, again = opened(path)
    assert [curve.is_restored for curve in computed.traces[0].curves] == [True, False]
    assert answers(again) == answers(computed)


def test_a_stopped_run_keeps_the_records_of_every_replica(tmp_path):
    rounds = iter([1, 1, 1, 1, 0])
    words = {**SINGLE, "learners": [{"name": "GD", **gd("1/(2d)")}]}
    computed, path = stored(tmp_path, words, lambda: next(rounds))
    run, again = opened(path)
    (curve,), (curve_again,) = computed.traces[0].curves, again.traces[0].curves
    assert run.fate == "stopped"
    assert 0 < curve_again.length == curve.length < curve.capacity
    assert (curve_again.values("loss") == curve.values("loss")).all()
    assert not curve_again.ended


@pytest.mark.parametrize("suffixes", [("",), ("", "-wal", "-shm"), ()], ids=["file", "all", "broken"])
def test_a_lost_or_broken_index_is_rebuilt_from_the_files(suffixes, tmp_path):
    for seed in range(3):
        stored(tmp_path, seeded(seed))
    before = Store(tmp_path).runs()
    for suffix in suffixes:
        (tmp_path / f"index.sqlite{suffix}").unlink(missing_ok=True)
    if not suffixes:
        (tmp_path / "index.sqlite").write_bytes(b"no index " * 1000)
    again = Store(tmp_path)
    assert again.runs() == before
    computed, _ = stored(tmp_path, seeded(1))
    assert all(curve.is_restored for curve in computed.traces[0].curves)


@pytest.mark.parametrize("suffixes", [("-wal",), ("-shm", "-wal")], ids=["log", "log and memory"])
def test_an_index_that_loses_its_log_beside_a_connection_is_rebuilt(suffixes, tmp_path):
    for seed in range(3):
        stored(tmp_path, seeded(seed))
    connected = Store(tmp_path)
    before = connected.runs()
    for suffix in suffixes:
        (tmp_path / f"index.sqlite{suffix}").unlink()
    assert Store(tmp_path).runs() == before
    assert connected.runs() == before


def test_runs_are_listed_while_the_index_is_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(run_index, "PATIENCE", 0.2)
    for seed in range(3):
        stored(tmp_path, seeded(seed))
    before = Store(tmp_path).runs(details=True)
    index = sqlite3.connect(tmp_path / "index.sqlite")
    index.execute("begin exclusive")
    assert Store(tmp_path).runs() == before
    assert Store(tmp_path).runs(newest=2) == before[:2]
    assert Store(tmp_path).run(before[1].id) == before[1]
    assert Store(tmp_path).run("ffffffff") is None
    index.close()
    assert Store(tmp_path).runs(details=True) == before


def test_a_file_of_a_newer_version_is_kept_and_refused_in_one_line(tmp_path):
    _, path = stored(tmp_path)
    newer = path.with_name("20990101T000000-00000000.run")
    newer.write_bytes(b"hadamard-tui run   2\n" + path.read_bytes()[len(journal.MAGIC) :])
    assert [run.path for run in Store(tmp_path).runs()] == [str(path)]
    assert newer.exists()
    with pytest.raises(BadInput, match=r"newer version of the program wrote this file \(format 2\)"):
        opened(newer)


def test_unknown_frames_are_skipped_and_named(tmp_path):
    computed, path = stored(tmp_path)
    journal.append(path, "soul", {"of": 1})
    reader = RunReader(path)
    assert answers(reader.all()) == answers(computed)
    assert reader.unknown == {"soul"}


def test_pins_and_tags_are_stored_in_the_file(tmp_path):
    stored(tmp_path)
    (run,) = Store(tmp_path).runs()
    Store(tmp_path).mark(run, pinned=True, tags=["paper"])
    (tmp_path / "index.sqlite").unlink()
    (again,) = Store(tmp_path).runs()
    assert (again.pinned, again.tags) == (True, ["paper"])


def test_marking_a_run_truncates_the_unfinished_frame_of_a_killed_writer(tmp_path):
    _, path = stored(tmp_path)
    complete = path.read_bytes()
    path.write_bytes(complete + journal.header("curv", b"0" * 100) + b"0" * 50)
    (run,) = Store(tmp_path).runs()
    Store(tmp_path).mark(run, pinned=True)
    assert path.read_bytes().startswith(complete)
    (again,) = Store(tmp_path).runs()
    assert again.pinned


WRITER = """
import sys
from pathlib import Path
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of
words, folder, first, last = {words!r}, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for seed in range(first, last):
    document = {{**words, "run": {{**words["run"], "seed": seed}}}}
    writer = RunWriter(Store(folder), document)
    run_sweep(sweep_of(document), writer=writer)
    print(seed, flush=True)
"""


def begun(folder, first, last, before=None):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER.format(words=SINGLE), str(folder), str(first), str(last)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=before,
        text=True,
    )


@pytest.mark.slow
def test_kills_at_random_instants_lose_no_finished_run(tmp_path):
    random, acknowledged = Random(0), []
    for first in range(0, 600, 100):
        writer = begun(tmp_path, first, first + 100)
        acknowledged.append(int(writer.stdout.readline()))  # the libraries are loaded
        time.sleep(random.uniform(0, 0.5))
        writer.send_signal(signal.SIGKILL)
        out, _ = writer.communicate()
        acknowledged += [int(line) for line in out.splitlines() if line]
    runs = Store(tmp_path).runs(details=True)
    finished = {run.document["run"]["seed"]: run for run in runs if run.state == "finished"}
    assert set(acknowledged) <= finished.keys()
    assert all(opened(Path(run.path))[1].complete for run in finished.values())
    assert {run.fate for run in runs} <= {"finished", "cut off"}
    for run in runs:
        opened(Path(run.path))


@pytest.mark.slow
def test_two_concurrent_writers_lose_no_run(tmp_path):
    writers = [begun(tmp_path, first, first + 15) for first in (0, 10)]
    for writer in writers:
        out, errors = writer.communicate(timeout=120)
        assert len(out.split()) == 15, errors
    runs = Store(tmp_path).runs(details=True)
    assert {run.document["run"]["seed"] for run in runs} == set(range(25))
    for run in runs:
        assert opened(Path(run.path))[1].complete


@pytest.mark.parametrize("lost", ["trac", "grow", "curv", "done"])
@pytest.mark.parametrize("state", ["finished", "stopped"])
def test_a_run_opens_with_the_frames_that_fitted_on_the_disk(lost, state, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.runtime.run_writer.SECONDS", 0.0)
    append, frames = journal.Journal.append, []

    def appended(self, kind, packed):
        frames.append(kind)
        if kind == lost and frames.count(kind) == 1:
            raise OSError(28, "No space left on device")
        return append(self, kind, packed)

    monkeypatch.setattr(journal.Journal, "append", appended)
    rounds = iter([1] * 4 + [0 if state == "stopped" else 1 << 10] * 100)
    computed, path = stored(
        tmp_path, {**SINGLE, "learners": [{"name": "GD", **gd("1/(2d)")}]}, rounds.__next__
    )
    run, again = opened(path)
    assert run.state == "stopped"
    if lost != "trac":
        (curve,), (curve_again,) = computed.traces[0].curves, again.traces[0].curves
        x = curve_again.x
        assert len(x) > 0
        np.testing.assert_array_equal(x, curve.x[: len(x)])


def test_an_end_frame_that_does_not_fit_on_the_disk_is_reported(tmp_path, monkeypatch):
    append, heard = journal.Journal.append, []

    def appended(self, kind, packed):
        if kind == "end ":
            raise OSError(28, "No space left on device")
        return append(self, kind, packed)

    monkeypatch.setattr(journal.Journal, "append", appended)
    writer = RunWriter(Store(tmp_path), SINGLE)
    run_sweep(sweep_of(SINGLE), notify=heard.append, writer=writer)
    (event,) = (event for event in heard if isinstance(event, NotKept))
    assert "No space left" in event.why


@pytest.mark.slow
def test_a_full_disk_keeps_earlier_runs_and_lets_later_runs_end(tmp_path):
    """A limit of the size of files stands for a full disk: writes fail in the middle of a frame."""
    computed, path = stored(tmp_path / "whole", seeded(0))
    size = path.stat().st_size
    stored(tmp_path, seeded(0))
    for limit in (size // 3, size - 20, 100):

        def limited(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        writer = begun(tmp_path, 1, 3, limited)
        out, errors = writer.communicate(timeout=60)
        assert out.split() == ["1", "2"], errors
        (first,) = (run for run in Store(tmp_path).runs(details=True) if run.document["run"]["seed"] == 0)
        assert answers(opened(Path(first.path))[1]) == answers(computed)
    for run in Store(tmp_path).runs():
        opened(Path(run.path))


ON_FULL_DISK = """
import resource, sys
from pathlib import Path
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.runtime.run import NotKept
from engine.runtime.run_reader import opened
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of
words, folder, limit = {words!r}, Path(sys.argv[1]), int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
computed, refused = {{}}, []
for seed in range(200):
    document = {{**words, "title": f"seed {{seed}}", "run": {{**words["run"], "seed": seed}}}}
    events = []
    traces = run_sweep(sweep_of(document), notify=events.append, writer=RunWriter(Store(folder), document))
    assert traces.complete
    reasons = [event.why for event in events if isinstance(event, NotKept)]
    assert len(reasons) <= 1, reasons
    if not reasons:
        computed[f"seed {{seed}}"] = encode({{}}, traces, judge(traces))
    refused += reasons
    if len(refused) == 3:
        break
print(refused[0].replace(str(folder), "FOLDER"), len(computed))
assert all("\\n" not in why for why in refused), refused
stored = {{run.title: run for run in Store(folder).runs() if run.state == "finished"}}
for title, answers in computed.items():
    _, again = opened(Path(stored[title].path))
    assert encode({{}}, again, judge(again)) == answers, title
"""


def can_mount():
    """Whether this process may mount a file system, at least in namespaces of its own."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.slow
def test_a_small_full_disk_gives_one_message_and_loses_no_results(tmp_path):
    """The disk is a tmpfs of 600 kB. Where nothing can be mounted, a limit on file sizes takes its place."""
    writer = [sys.executable, "-c", ON_FULL_DISK.format(words=SINGLE), str(tmp_path)]
    mount = 'mount -t tmpfs -o size=600k none "$0" && exec "$@"'
    in_namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(tmp_path)]
    if is_mounted := can_mount():
        done = subprocess.run([*in_namespace, *writer, "0"], capture_output=True, text=True)
    else:
        done = subprocess.run([*writer, "30000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    line, _, count = done.stdout.strip().rpartition(" ")
    reason = "No space left on device" if is_mounted else "File too large"
    assert line.startswith("FOLDER/")
    assert reason in line
    assert "\n" not in line
    assert int(count) > 0 or not is_mounted


def test_the_run_of_a_live_writer_is_not_deleted(tmp_path):
    def look():
        (run,) = Store(tmp_path).runs()
        seen.append((run.fate, run.is_written))
        with pytest.raises(BadInput, match="still running"):
            Store(tmp_path).remove(run)
        return 1 << 10

    seen = []
    stored(tmp_path, SINGLE, look)
    assert seen[0] == ("running", True)
    (run,) = Store(tmp_path).runs()
    assert run.fate == "finished"
    Store(tmp_path).remove(run)
    assert not Store(tmp_path).runs()
    assert not list(tmp_path.glob("*.run"))


def test_a_live_writer_is_detected_on_a_file_system_without_locks(tmp_path, monkeypatch):
    """As on some clusters. There, the process that began the run must still exist."""

    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def look():
        (run,) = Store(tmp_path).runs()
        fates.append(run.fate)
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", lambda process, number: os.stat(tmp_path / "no such process"))
            fates.append(run.fate)
        with pytest.raises(BadInput, match="still running"):
            Store(tmp_path).remove(run)
        return 1 << 10

    fates = []
    monkeypatch.setattr(journal, "flock", refuse)
    stored(tmp_path, SINGLE, look)
    assert fates[:2] == ["running", "cut off"]
    (run,) = Store(tmp_path).runs()
    assert run.fate == "finished"
    Store(tmp_path).remove(run)


def test_a_quarantined_run_is_restored_or_discarded(tmp_path):
    _, path = stored(tmp_path, SINGLE)
    keeper = Store(tmp_path)
    (run,) = keeper.runs()
    keeper.set_aside(run)
    assert not keeper.runs()
    assert not path.exists()
    assert keeper.remove_remains() == 0, "it is not old, and an app may bring it back"
    keeper.bring_back(run)
    assert keeper.runs() == [run]
    keeper.set_aside(run)
    keeper.discard(run)
    assert not keeper.runs()
    assert not list(tmp_path.glob(f".*{SUFFIX}"))


def test_quarantined_runs_of_a_killed_app_are_removed_after_a_day(tmp_path, monkeypatch):
    stored(tmp_path, SINGLE)
    keeper = Store(tmp_path)
    keeper.set_aside(*keeper.runs())
    tomorrow = time.time() + 86500
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    assert keeper.remove_remains() == 1
    assert not list(tmp_path.glob(f".*{SUFFIX}"))


def test_a_mark_missing_from_the_index_is_read_from_the_file(tmp_path, monkeypatch):
    stored(tmp_path, SINGLE)
    (run,) = Store(tmp_path).runs()
    killed = Store(tmp_path)
    monkeypatch.setattr(killed, "observe", lambda path: None)
    killed.mark(run, pinned=True)
    assert [run.pinned for run in Store(tmp_path).runs()] == [True]


def test_an_unused_store_leaves_no_file_open(tmp_path):
    stored(tmp_path, SINGLE)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        assert Store(tmp_path).runs()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_list_of_runs_omits_details_and_a_single_run_includes_them(tmp_path):
    stored(tmp_path, SINGLE)
    (listed,), (full,) = Store(tmp_path).runs(), Store(tmp_path).runs(details=True)
    assert (listed.document, listed.code, listed.resolved) == ({}, "", "")
    assert full == Store(tmp_path).run(listed.id)
    assert full.document
    assert len(full.code) == 64


def test_an_ongoing_run_can_be_read_while_it_grows(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.runtime.run_writer.SECONDS", 0.0)
    lengths = []

    def look():
        (path,) = tmp_path.glob("*.run")
        reader = RunReader(path)
        lengths.append([curve.length for curve in reader.all().traces[0].curves])
        return 1

    words = {**SINGLE, "learners": [{"name": "GD", **gd("1/(2d)")}]}
    computed, path = stored(tmp_path, words, look)
    assert [length for (length,) in lengths[1:]] == sorted(length for (length,) in lengths[1:])
    assert 0 < lengths[-1][0] < computed.traces[0].curves[0].length
    assert not [frame for frame in journal.frames(path) if frame.kind == "grow"], "the end is compact"
    assert answers(opened(path)[1]) == answers(computed)
    assert len(stored_run.read(path)[1]) == 1
    again, _ = stored(tmp_path, {**words, "title": "found by the places in the compact file"})
    assert again.traces[0].curves[0].is_restored
