"""Kills at random instants: of saves, exports, runs and sweeps in forked processes, and of the program.

A fork that has everything imported is at work at once, so that a thousand kills take minutes. Every file that
the killed process was writing must be what it was before or what it was to become, and the next writer leaves
nothing of the dead one behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count as numbers
from itertools import cycle
from pathlib import Path
from random import Random

import msgspec

from benchmarks.tui import Terminal
from engine.runtime.run import run as compute
from engine.spec import presets
from engine.spec.experiment import Experiment
from hadamard_tui.cli import main
from hadamard_tui.sharing.exporting import KINDS, Shown, export, finished
from hadamard_tui.state import state_file
from tests.soak.outcome import Outcome
from tests.soak.sessions import warm_cache
from tests.soak.terminal_modes import left_behind
from tests.soak.whole_files import torn

SIGNALS = (signal.SIGKILL, signal.SIGTERM)
AFRESH = 0.5
"""Share of killed sweeps whose stored points are deleted before the next sweep."""

PATIENCE = 10.0
"""Seconds within which a process must end after a signal."""

SMALL = ["problem.matrix.d=16", "learners.GD.update.lr=0.03125", "run.device=cpu", "claims=[]"]
RUN = ["run", "hadamard-128", *(word for change in SMALL for word in ("--set", change)), "--json"]
PROGRAM = [sys.executable, "-m", "hadamard_tui"]
TARGETS = ("result.json", "curves.csv", "curves.parquet", "chart.svg")
FILES = [*RUN, "--out", TARGETS[0], *(word for name in TARGETS[1:] for word in ("--export", name))]

SWEEP = """
axes = [{ name = "size", from = 4, to = 16, log = true }]
protocol = "one-pass"
problem = { matrix = { kind = "hadamard", d = "size" }, target = "feature" }
run = { device = "cpu", replicas = 2 }
learners = [{ name = "GD", architecture = "linear", update = { kind = "gd", lr = "1/(2d)" } }]
pictures = [{ title = "Until one half", x = "size", measure = "loss", read = { first_below = 0.51 } }]
"""
PICTURES = ("pictures.json", "pictures.csv", "pictures.parquet", "pictures.svg")
KEPT = "kept"
"""Subfolder of the working folder in which a sweep stores its points."""


@dataclass(frozen=True)
class Work:
    """Work that repeats until it is killed, and the approximate seconds of one repetition."""

    name: str
    act: Callable[[Path], None]
    seconds: float


def experiments() -> tuple[Experiment, Experiment]:
    """Two small set-ups whose files differ in length."""
    return presets.load("hadamard-128", SMALL), presets.load("hadamard-128", [*SMALL, "problem.matrix.d=8"])


def save(folder: Path) -> None:
    """Save two set-ups alternately."""
    for experiment in cycle(experiments()):
        state_file.write(state_file.Memory(experiment=msgspec.to_builtins(experiment)))


def export_all(shown: tuple[Shown, Shown]) -> Callable[[Path], None]:
    """Function that writes files of every kind, of two runs alternately."""

    def act(folder: Path) -> None:
        for shown_run in cycle(shown):
            for suffix in KINDS:
                export(folder / f"file{suffix}", shown_run, "")

    return act


def run_headless(folder: Path) -> None:
    """Run a preset to its end and write its files, repeatedly."""
    while True:
        main(FILES)


def sweep(folder: Path) -> None:
    """Run a document with an axis to its end, keep its points and write its pictures, with seed after seed.

    The first takes the points that the one before it kept until it was killed.
    """
    os.environ["XDG_DATA_HOME"] = str(folder / KEPT)
    document = folder.parent / "sweep.toml"
    exported = [word for name in PICTURES[1:] for word in ("--export", name)]
    for seed in numbers():
        chosen = ["--set", f"run.seed={seed}", "--json", "--out", PICTURES[0]]
        main(["run", str(document), *chosen, *exported])


def forked(work: Work, folder: Path, delay: float, how: signal.Signals) -> bool:
    """Do the work in a child process and kill it; return whether it ended in time."""
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        try:
            os.chdir(folder)
            work.act(folder)
        finally:
            os._exit(99)  # it ends by being killed and in no other way
    time.sleep(delay)
    os.kill(pid, how)
    end = time.monotonic() + PATIENCE
    while not os.waitpid(pid, os.WNOHANG)[0]:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(0.001)
    return True


def headless(folder: Path, delay: float, how: signal.Signals) -> str:
    """Kill the program during a run without the app; return what went wrong, or an empty text."""
    program = subprocess.Popen(
        [*PROGRAM, *FILES], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    time.sleep(delay)
    program.send_signal(how)
    try:
        _, errors = program.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
        return f"it had not ended {PATIENCE:.0f} s after {how.name}"
    ended = program.returncode in (0, 1, -how, 128 + how)
    return "" if ended and b"Traceback" not in errors else f"exit {program.returncode}: {errors[-500:]!r}"


def in_the_app(folder: Path, delay: float, how: signal.Signals) -> str:
    """Kill the app while it runs, exports and saves a preset; return what went wrong, or an empty text."""
    terminal = Terminal([*PROGRAM], {}, folder=str(folder))
    end = time.monotonic() + delay
    keys = cycle(["fr", "S\r", "e\r"])
    while time.monotonic() < end and terminal.gone() is None:
        if b"\x1b[?1049h" in terminal.written:
            terminal.press(next(keys))
        time.sleep(0.1)
    drawn = b"\x1b[?1049h" in terminal.written
    os.kill(terminal.pid, how)
    status = terminal.gone(PATIENCE)
    if status is None:
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.gone(PATIENCE)
        return f"it had not ended {PATIENCE:.0f} s after {how.name}"
    if how == signal.SIGKILL or not drawn:
        return ""
    wrong = left_behind(bytes(terminal.written))
    return f"exit {status}; {'; '.join(wrong)}" if wrong or status != 128 + how else ""


def judge(folder: Path, outcome: Outcome, cause: str, again: str) -> None:
    """Note a failure for every torn file in a folder after a kill."""
    for path in sorted(folder.rglob("*.*")):
        if path.is_file() and not path.name.startswith(".") and (wrong := torn(path)):
            outcome.fail("loss", f"{cause}: {wrong}", again)
            path.unlink()


def judge_leftovers(folder: Path, outcome: Outcome, cause: str, again: str) -> None:
    """Save once undisturbed, and note a failure if unfinished files remain beside the saved one."""
    save_once = state_file.write(state_file.Memory(experiment=msgspec.to_builtins(experiments()[0])))
    assert not save_once, save_once
    lasting = {state_file.path().name, state_file.own_presets_file().name}
    leftovers = [path.name for path in state_file.path().parent.iterdir() if path.name not in lasting]
    if leftovers:
        outcome.fail("loss", f"{cause}: {', '.join(leftovers)} stayed beside last.json", again)
        for file_name in leftovers:
            (state_file.path().parent / file_name).unlink()


def left_traceback() -> str:
    """Remove and return the traceback that the program saved; an empty text if it did not fail."""
    file = state_file.path().parent / "traceback.txt"
    if not file.exists():
        return ""
    text = file.read_text(encoding="utf-8")
    file.unlink()
    return text


def run(seed: int, count: int) -> Outcome:
    """Kill `count` times; the n-th kill is drawn from the seed `seed` + n."""
    outcome = Outcome("kills", seed)
    with warm_cache() as cache, tempfile.TemporaryDirectory(prefix="soak-") as home:
        os.environ |= {"HOME": home, "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config"}
        os.environ |= {"XDG_CACHE_HOME": cache}
        folder = Path(home) / "work"
        folder.mkdir()
        (Path(home) / "sweep.toml").write_text(SWEEP)
        shown = tuple(finished(experiment, compute(experiment)) for experiment in experiments())
        works = (
            Work("save", save, 0.03),
            Work("export", export_all((shown[0], shown[1])), 1.0),
            Work("run", run_headless, 0.5),
            Work("sweep", sweep, 2.0),
        )
        for number in range(seed, seed + count):
            _kill(number, works, folder, outcome)
            if (number - seed) % 100 == 99:
                print(f"kills: {number - seed + 1} of {count}, {len(outcome.failures)} failures", flush=True)
        shutil.rmtree(folder)
    return outcome


def _kill(number: int, works: tuple[Work, ...], folder: Path, outcome: Outcome) -> None:
    random = Random(f"kill {number}")
    how = random.choice(SIGNALS)
    again = f"python -m tests.soak kills --seed {number} --count 1"
    (kind,) = random.choices(("save", "export", "run", "sweep", "headless", "app"), (37, 30, 18, 10, 3, 2))
    is_program = kind in ("headless", "app")
    outcome.count(f"kills of the {kind} program" if is_program else f"kills of {kind}s")
    cause = f"kill {number} ({kind}, {how.name})"
    if is_program:
        wrong = (headless if kind == "headless" else in_the_app)(folder, random.uniform(0, 4), how)
        wrong = "\n".join(filter(None, (wrong, left_traceback())))
        if wrong:
            outcome.fail("terminal" if " is o" in wrong else "exception", f"{cause}: {wrong}", again)
    else:
        work = next(work for work in works if work.name == kind)
        if not forked(work, folder, random.uniform(0, work.seconds), how):
            outcome.fail("hang", f"{cause}: it had not ended {PATIENCE:.0f} s later", again)
    judge(folder, outcome, cause, again)
    if kind == "sweep":
        outcome.count("runs kept by them", len(list((folder / KEPT).rglob("*.run"))))
        if random.random() < AFRESH:
            shutil.rmtree(folder / KEPT, ignore_errors=True)
    if state_file.path().exists() and (wrong := torn(state_file.path())):
        outcome.fail("loss", f"{cause}: {wrong}", again)
    if kind in ("save", "app"):
        judge_leftovers(folder, outcome, cause, again)
