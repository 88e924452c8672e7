"""A run that another process writes is followed from its file, without torch and within a second."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine import __version__
from engine.core import journal
from engine.runtime.run import Finished
from engine.runtime.run_reader import RunReader
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from hadamard_tui.running.follower import Follower, Silent
from hadamard_tui.running.playback import Pace
from hadamard_tui.running.session import Session

SMALL = ["problem.matrix.d=16", "claims=[]", "run.device=cpu"]


def stored(folder: Path) -> Path:
    document = presets.document("hadamard-128", SMALL)
    sweep = presets.sweep_of("hadamard-128", document)
    writer = RunWriter(Store(folder), document, "hadamard-128")
    run_sweep(sweep, writer=writer)
    run = Store(folder).run(writer.run)
    assert run is not None
    return Path(run.path)


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def following(path: Path, heard: list[object]) -> Session:
    reader = RunReader(path)

    def notify(session, event):
        heard.append(event)
        session.receive(event)

    session = Session(reader.sweep, reader.run.document, notify, 1, Pace(), at_once=True, follow=reader)
    session.start()
    return session


def test_a_follower_shows_an_ended_run_to_its_end(tmp_path):
    session = following(stored(tmp_path), [])
    until(lambda: session.outcomes is not None)
    assert session.trace is not None
    assert session.trace.ended
    assert session.end(5)


WRITER = """
import sys, time
from pathlib import Path
from engine.runtime.run import Loaded
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
document = presets.document("hadamard-128", {settings!r})
traces = []
def notify(event):
    if isinstance(event, Loaded):
        traces.append(event.trace)
def gate():
    if traces:
        print(traces[-1].frontier, time.time(), flush=True)
    time.sleep({pause})
    return 1
writer = RunWriter(Store(Path(sys.argv[1])), document)
run_sweep(presets.sweep_of("hadamard-128", document), gate, notify, writer=writer)
"""


def begun(folder: Path, pause: float) -> subprocess.Popen[str]:
    """Begin a run that prints each record when it exists, with its time, and then pauses."""
    settings = [*SMALL, "problem.matrix.d=64"]
    program = WRITER.format(settings=settings, pause=pause)
    writer = subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True)
    until(lambda: any(folder.glob("*.run")) and Store(folder).runs())
    return writer


@pytest.mark.slow
def test_a_follower_reports_the_death_of_the_writer(tmp_path):
    writer = begun(tmp_path, 0.3)
    heard: list[object] = []
    try:
        session = following(next(tmp_path.glob("*.run")), heard)
        until(lambda: session.trace is not None and session.trace.frontier > 3)
        assert session.state == "running"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        killed = time.monotonic()
        until(lambda: any(isinstance(event, Silent) for event in heard), 5)
        assert time.monotonic() - killed < 2
    finally:
        writer.kill()
        writer.communicate()
    assert session.state == "stopped"
    assert any(
        "ended before the run was finished" in event.why for event in heard if isinstance(event, Silent)
    )


ATTEMPTS = 3
"""Number of measurements, of which one counts: other programs may take the processors for a second."""


def longest_lag(folder: Path, pause: float) -> float:
    """Longest time in seconds between a record in the writer and in the follower."""
    folder.mkdir()
    writer = begun(folder, pause)
    seen: dict[int, float] = {}
    enough = max(3, 2 / pause)
    try:
        session = following(next(folder.glob("*.run")), [])

        def has_seen_enough() -> bool:
            frontier = -1 if session.trace is None else session.trace.frontier
            for record in range(max(seen, default=-1) + 1, frontier + 1):
                seen[record] = time.time()
            begun_at = min(seen.values(), default=0.0)
            return sum(when > begun_at + pause for when in seen.values()) >= enough

        until(has_seen_enough, 60)
    finally:
        writer.kill()
        out, _ = writer.communicate()
    written = {int(record): float(when) for record, when in map(str.split, out.splitlines()[::-1])}
    begun_at = min(seen.values())
    lags = [when - written[record] for record, when in seen.items() if written.get(record, 0.0) > begun_at]
    assert len(lags) >= 2, "the writer was ahead of the follower before it began"
    return max(lags)


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.1, 2.0], ids=["many records a second", "a record every two seconds"])
def test_a_follower_lags_a_live_run_by_at_most_a_second(tmp_path, pause):
    lags = []
    while len(lags) < ATTEMPTS and not any(lag < 1 for lag in lags):
        lags.append(longest_lag(tmp_path / str(len(lags)), pause))
    assert min(lags) < 1, lags


def test_unreadable_data_of_another_version_are_reported_before_the_end(tmp_path):
    path = stored(tmp_path)
    content = path.read_bytes()
    ending = next(frame for frame in journal.frames(path) if frame.kind == "end ")
    path.write_bytes(content[: ending.start])
    journal.append(path, "soul", {"of": 1})
    journal.append(path, "end ", ending.content)
    heard: list[object] = []
    session = following(path, heard)
    until(lambda: session.outcomes is not None)
    (event,) = (event for event in heard if isinstance(event, Silent))
    assert event.why == f"Version {__version__} wrote this run. This version does not show its soul."
    assert [type(event) for event in heard].index(Silent) < [type(event) for event in heard].index(Finished)


def test_following_needs_neither_torch_nor_a_backend(tmp_path):
    path = stored(tmp_path)
    program = f"""
import sys, threading
from pathlib import Path
from engine.runtime.run_reader import RunReader
from hadamard_tui.running.follower import Follower
from engine.runtime.worker import Changed
over = threading.Event()
def notify(event):
    if isinstance(event, Changed) and event.state == "finished":
        over.set()
Follower(RunReader(Path({str(path)!r})), notify).start()
assert over.wait(60)
assert "torch" not in sys.modules
assert not [name for name in sys.modules if name.startswith("engine.backends.")]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_follower_has_the_methods_of_a_worker():
    for method in ("start", "pause", "resume", "step", "stop", "join"):
        assert callable(getattr(Follower, method))
