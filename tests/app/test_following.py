"""A run that another process writes is followed from its file, without torch and within a second."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


def test_a_run_that_has_ended_is_shown_to_its_end(tmp_path):
    session = following(stored(tmp_path), [])
    until(lambda: session.outcomes is not None)
    assert session.trace is not None
    assert session.trace.ended
    assert session.end(5)


WRITER = """
import sys, time
from pathlib import Path
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
document = presets.document("hadamard-128", {settings!r})
def gate():
    time.sleep(0.3)
    return 1
writer = RunWriter(Store(Path(sys.argv[1])), document)
run_sweep(presets.sweep_of("hadamard-128", document), gate, writer=writer)
"""


@pytest.mark.slow
def test_a_live_run_is_followed_and_the_death_of_its_writer_is_said(tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER.format(settings=SMALL), str(tmp_path)])
    heard: list[object] = []
    try:
        until(lambda: any(tmp_path.glob("*.run")) and Store(tmp_path).runs())
        session = following(next(tmp_path.glob("*.run")), heard)
        until(lambda: session.trace is not None and session.trace.frontier > 3)
        assert session.state == "running"
        reached = session.trace.frontier
        until(lambda: session.trace.frontier > reached, 3)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        killed = time.monotonic()
        until(lambda: any(isinstance(event, Silent) for event in heard), 5)
        assert time.monotonic() - killed < 2
    finally:
        writer.kill()
        writer.wait()
    assert session.state == "stopped"
    assert any("has ended before the run did" in event.why for event in heard if isinstance(event, Silent))


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
