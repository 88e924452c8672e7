"""Drive the real app on a pseudo-terminal and measure the delays that a user notices.

`python benchmarks/tui.py [NAME …] [--json]`; without names, everything. Redraw times of single panels are in
`benchmarks/panels.py`, memory over hours of runs in `make soak`. Numbers depend on the machine and on what
else it does: report them with both, which the first lines printed say.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import pty
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SIZE, DOCKED = (120, 40), (160, 40)
"""Sizes of the terminal; at the second one, the set-up stands beside the chart."""
MOST_FIELDS = 10
"""Largest number of fields from the first one to the number d."""
PAINTED = b"r runs it"
WORK = [
    "--preset", "hadamard-128", "--set", "problem.matrix.d=1024", "--set", "claims=[]",
    "--set", "learners.GD.update.lr=0.00048828125", "--set", "run.device=cpu",
]  # fmt: skip
"""Run of five learners on 1024 features, which keeps the engine busy."""
LONG = [*WORK, "--set", "run.replicas=48"]
"""The same for half a minute."""
FOREIGN = ("SSH_CONNECTION", "NO_COLOR", "COLUMNS", "LINES", "PYTHONDONTWRITEBYTECODE")
"""Environment variables that would change the measurements."""
SMALL = ["--preset", "hadamard-128", "--set", "run.device=cpu"]
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    BINDINGS = [("q", "quit", "Quit")]
    def compose(self):
        yield Static("r runs it")
Empty().run()
"""
SPY = """
import sys, time
from weakref import WeakSet
log = open(sys.argv.pop(1), "a", buffering=1)
def note(what):
    log.write(f"{what} {time.monotonic():.6f}\\n")
from hadamard_tui.screens.laboratory import Laboratory
from hadamard_tui.running import session
waiting = []
choose = Laboratory.action_panel
def spied_key(self, number):
    note("key")
    choose(self, number)
    waiting.append(number)
Laboratory.action_panel = spied_key
receive = session.Session.receive
def spied(self, event):
    note(type(event).__name__)
    receive(self, event)
session.Session.receive = spied
show, shown, begun = Laboratory._show_session, WeakSet(), WeakSet()
def drawn(self, of, context):
    show(self, of, context)
    while waiting:
        waiting.pop()
        self.call_after_refresh(note, "painted")
    if of.trace is not None and of.trace.frontier > 0 and of not in begun:
        begun.add(of)
        self.call_after_refresh(note, "first")
    if of.over and of not in shown:
        shown.add(of)
        self.call_after_refresh(note, "curves")
Laboratory._show_session = drawn
from hadamard_tui.app import HadamardApp
push, focus = HadamardApp.push_screen, Laboratory.set_focus
def spied_page(self, page, *more, **options):
    note(type(page).__name__)
    return push(self, page, *more, **options)
HadamardApp.push_screen = spied_page
def spied_focus(self, widget, *more, **options):
    note(type(widget).__name__)
    focus(self, widget, *more, **options)
Laboratory.set_focus = spied_focus
from hadamard_tui.screens.modal import Failure
def spied_f12(self, event):
    if event.key == "f12":
        self.push_screen(Failure("ValueError: none"))
HadamardApp.on_key = spied_f12
from hadamard_tui.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The app with a log of the times of handlers, repaints, opened pages and focused widgets.

All processes share the clock. F12 opens the page of a failure.
"""
PANELS = "15"
"""Keys of two panels that draw charts: weights, mistakes."""

PAGES = {
    "presets": ("Browser", ["p"]),
    "commands": ("Commands", [":"]),
    "search": ("Commands", [":", "egu"]),
    "part": ("PartPage", [":", "egu-pm", "\r"]),
    "export": ("Export", ["e"]),
    "save": ("Export", ["S"]),
    "help": ("Help", ["?"]),
    "jump": ("Jump", ["j"]),
    "blank": ("Blank", ["."]),
    "failure": ("Failure", ["\x1b[24~"]),
    "theory": ("TheoryPage", ["T"]),
    "new experiment": ("NewExperiment", ["E"]),
    "your data": ("OwnTable", ["O"]),
    "runs": ("RunRows", ["l"]),
    "rename": ("Renaming", ["l", "N"]),
    "field": ("NumberEntry", ["s", "\t", "\t"]),
    "guess": ("", ["g"]),
    "paused replay": ("", ["  "]),
}
"""Pages, lists and fields: the widget that opens or gets the focus, and the keys for it."""

REST, AT_A_TIME = 20, 8
"""Seconds for which an app at rest is watched, and number of apps watched in parallel."""

PLAYED, BETWEEN_KEYS, SETTLED = 8, 3, 15
"""Seconds until a finished run has been played, until a key has been answered beside seven apps, and until
certificates are measured and messages are gone."""

PROCESS_CLOCK = 2
"""CPUCLOCK_SCHED in the kernel's include/linux/posix-timers.h."""

HEADLESS = """
import os, sys, threading, time
from engine.runtime import worker
from engine.spec import presets, sweep
from engine.runtime.run import Finished, Loaded
times = {}
done = threading.Event()
def received(event):
    times[type(event)] = time.monotonic()
    if isinstance(event, Finished):
        done.set()
changes = [value for option, value in zip(sys.argv, sys.argv[1:]) if option == "--set"]
whole = sweep.only(presets.load("hadamard-128", changes))
worker.Worker(whole, received, max(1, (os.cpu_count() or 2) - 1)).start()
done.wait()
print(times[Finished] - times[Loaded], flush=True)
os._exit(0)  # the engine's thread may still be tidying up
"""
"""The same worker without an app, with as many threads."""


@dataclass
class Terminal:
    """A program on a pseudo-terminal, with its output so far."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    bytes_per_second: float | None = None
    size: tuple[int, int] = SIZE
    folder: str = "."
    written: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.pid, self._line = pty.fork()
        if self.pid == 0:
            environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
            environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | self.environment
            os.chdir(self.folder)
            os.execve(self.command[0], self.command, environment)
        self.resize(*self.size)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Read the output, at most as fast as the simulated connection."""
        chunk = 65536 if self.bytes_per_second is None else 1024
        while True:
            try:
                data = os.read(self._line, chunk)
            except OSError:
                return
            if not data:
                return
            self.written += data
            if self.bytes_per_second is not None:
                time.sleep(len(data) / self.bytes_per_second)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self._line, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str | bytes) -> float:
        """Type, and return the time."""
        now = time.monotonic()
        os.write(self._line, keys.encode() if isinstance(keys, str) else keys)
        return now

    def until(self, condition: Callable[[], bool], seconds: float = 120) -> None:
        """Wait for a condition."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(
                    f"{self.command[-3:]} never got there; it wrote {bytes(self.written[-300:])!r}"
                )
            time.sleep(0.001)

    def shows(self, text: bytes) -> None:
        self.until(lambda: text in self.written)

    def gone(self, seconds: float = 0) -> int | None:
        """Exit status of the process, negative for a signal; None if it still runs after the time limit."""
        end = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._reader.join()
                os.close(self._line)
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() >= end:
                return None
            time.sleep(0.002)

    def end(self) -> None:
        """End the program, whatever page is open."""
        if self.gone() is None:
            os.kill(self.pid, signal.SIGTERM)
            self.gone(10)

    def quit(self) -> float:
        """Press q; return the seconds until the process ends."""
        pressed = self.press("q")
        os.waitpid(self.pid, 0)
        took = time.monotonic() - pressed
        self._reader.join()
        os.close(self._line)
        return took


@contextmanager
def app(*arguments: str, **options: object) -> Iterator[tuple[Terminal, Callable[[str], list[float]]]]:
    """Start the app with SPY in a temporary home and wait for its first paint.

    Yields the terminal, and a function from a name in the log to the times of its events.
    """
    painted = options.pop("painted", PAINTED)
    with tempfile.TemporaryDirectory() as home:
        log = Path(home) / "log"
        log.touch()
        own_homes = {"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        environment = own_homes | dict(options.pop("environment", {}))  # type: ignore[call-overload]
        command = [sys.executable, "-c", SPY, str(log), *arguments]
        terminal = Terminal(command, environment, **options)  # type: ignore[arg-type]

        times: dict[str, list[float]] = {}
        with log.open("rb") as lines:

            def noted(event: str) -> list[float]:
                while (line := lines.readline()).endswith(b"\n"):  # those that came since the last time
                    name, _, moment = line.decode().partition(" ")
                    times.setdefault(name, []).append(float(moment))
                lines.seek(lines.tell() - len(line))  # to the start of one that is not yet whole
                return times.get(event, [])

            terminal.shows(painted)  # type: ignore[arg-type]
            yield terminal, noted


def painted_after(*command: str) -> tuple[float, float]:
    """Seconds from a command to the first words on the screen, by the clock and of a processor."""
    with tempfile.TemporaryDirectory() as home:
        homes = {"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        terminal = Terminal([sys.executable, *command], homes)
        terminal.shows(PAINTED)
        seconds, worked = time.monotonic() - terminal.started, processor_seconds(terminal)
        time.sleep(1)
        terminal.quit()
    return seconds, worked


def empty_app() -> float:
    """Seconds until an empty Textual app is on the screen, which tell how fast the host is now."""
    return painted_after("-c", EMPTY)[0]


def first_paint() -> dict[str, object]:
    """Seconds from the command to the first words on the screen, beside those of an empty app."""
    ours, empty = [], []
    for turn in range(8):  # the first one may have to compile
        for command, series in (("-m", "hadamard_tui", *SMALL), ours), (("-c", EMPTY), empty):
            measured = painted_after(*command)
            if turn:
                series.append(measured)
    (seconds, worked), (empty_seconds, empty_worked) = (
        map(statistics.median, zip(*series, strict=True)) for series in (ours, empty)
    )
    return {
        "times an empty app": seconds / empty_seconds,
        "of a processor, times an empty app": worked / empty_worked,
        "median s": seconds,
        "least s": min(ours)[0],
        "of a processor, median s": worked,
        "empty app, median s": empty_seconds,
        "empty app, of a processor, median s": empty_worked,
    }


def imports() -> dict[str, object]:
    """Seconds of a process that imports the app, and of one that imports textual.app, in turns."""
    modules = ("hadamard_tui.app", "textual.app")
    seconds: dict[str, list[float]] = {module: [] for module in modules}
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    for turn in range(21):  # the first one may have to compile
        for module in modules:
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {module}"], env=environment, check=True)
            if turn:
                seconds[module].append(time.perf_counter() - began)
    ours, empty = (statistics.median(seconds[module]) for module in modules)
    least, least_empty = (min(seconds[module]) for module in modules)
    return {
        "ratio": ours / empty,
        "ratio of the least": least / least_empty,
        "s": ours,
        "textual.app, s": empty,
    }


def first_curve() -> dict[str, object]:
    """Seconds from the command to the first curve on the screen, and the same with the torch backend.

    Both stand beside those of an empty app, which starts in turns with them.
    """
    times: dict[str, list[float]] = {"": [], "by torch, ": []}
    empty: list[float] = []
    for turn in range(6):  # the first one may have to compile
        for name, more in (("", []), ("by torch, ", ["--set", "run.path=dense"])):
            with app(*SMALL, "--run", *more, painted=b"hadamard-128") as (terminal, noted):
                terminal.until(lambda noted=noted: bool(noted("first")))
                if turn:
                    times[name].append(noted("first")[0] - terminal.started)
                time.sleep(3)  # until all is loaded
                terminal.quit()
        empty += [empty_app()] if turn else []
    of_empty = statistics.median(empty)
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    ratios = {f"{name}times an empty app": seconds / of_empty for name, seconds in medians.items()}
    seconds = {f"{name}median s": seconds for name, seconds in medians.items()}
    return ratios | seconds | {"empty app, median s": of_empty}


def lags(
    terminal: Terminal, noted: Callable[[str], list[float]], keys: int
) -> tuple[list[float], list[float]]:
    """Seconds from a key that chooses a panel to its handler, and until the panel is painted.

    Keys come at random times; the run begins again when it has ended.
    """
    handled, painted = [], []
    generator = random.Random(0)
    for number in range(keys):
        if len(noted("Finished")) == len(noted("Loaded")) > 0:
            begun = len(noted("Loaded"))
            terminal.press("r")
            terminal.until(lambda begun=begun: len(noted("Loaded")) > begun)
        time.sleep(generator.uniform(0.03, 0.15))
        before = len(noted("painted"))
        pressed = terminal.press(PANELS[number % len(PANELS)])
        terminal.until(lambda before=before: len(noted("painted")) > before)
        handled.append(noted("key")[-1] - pressed)
        painted.append(noted("painted")[before] - pressed)
    return sorted(handled), sorted(painted)


def _spread(seconds: list[float]) -> dict[str, object]:
    return {
        "median ms": 1e3 * statistics.median(seconds),
        "p99 ms": 1e3 * seconds[int(0.99 * (len(seconds) - 1))],
        "keys": len(seconds),
    }


def saturated_keys() -> dict[str, object]:
    """Key to repaint while the engine computes five learners on 1024 features as fast as it can.

    In one run that goes on, and in short ones that begin anew as soon as they have ended.
    """
    figures: dict[str, object] = {}
    for name, work in (("", LONG), ("runs beginning anew, ", WORK)):
        with app(*work) as (terminal, noted):
            terminal.press("fr")
            terminal.until(lambda noted=noted: bool(noted("first")))
            handled, painted = lags(terminal, noted, 300)
            terminal.quit()
        figures |= {f"{name}{key}": value for key, value in _spread(painted).items()}
        figures |= {f"{name}to the handler, {key}": value for key, value in _spread(handled).items()}
    return figures


def slow_line_keys() -> dict[str, object]:
    """Key to repaint while a run is played into a reader of 60 kB/s."""
    with app(*SMALL, bytes_per_second=60_000) as (terminal, noted):
        terminal.press("r")
        terminal.until(lambda: bool(noted("Loaded")))
        before, begun = len(terminal.written), time.monotonic()
        _, repaints = lags(terminal, noted, 60)
        rate = (len(terminal.written) - before) / (time.monotonic() - begun)
        terminal.quit()
    return _spread(repaints) | {"kB/s": rate / 1000}


def traffic() -> dict[str, object]:
    """Bytes per second while a run is played, locally and over SSH, and at rest."""
    figures: dict[str, object] = {}
    for name, environment in (("local", {}), ("ssh", {"SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"})):
        with app(*SMALL, environment=environment) as (terminal, noted):
            time.sleep(2)
            terminal.press("r")
            terminal.until(lambda noted=noted: bool(noted("Finished")))
            before = len(terminal.written)
            time.sleep(4)  # of the six seconds that a run is played
            figures[f"{name} KiB/s"] = (len(terminal.written) - before) / 4 / 1024
            time.sleep(6)
            before = len(terminal.written)
            time.sleep(3)
            figures[f"{name}, at rest, bytes"] = len(terminal.written) - before
            terminal.quit()
    return figures


def rest() -> dict[str, object]:
    """CPU use in per cent over 20 s after a finished run, for each panel and page."""
    from hadamard_tui.panels import ABOUT

    states: dict[str, tuple[list[str], str, list[str]]] = {
        "empty": (SMALL, "", []),
        "welcome": ([], "Welcome", []),
        "tour": (["demo", "hadamard-128"], "", []),
    }
    states |= {panel: ([*SMALL, "--run", "--view", f"panel={panel}"], "", []) for panel in ABOUT}
    states |= {page: ([*SMALL, "--run"], opened, keys) for page, (opened, keys) in PAGES.items()}
    shares: dict[str, object] = {}
    names = list(states)
    for batch in (names[start : start + AT_A_TIME] for start in range(0, len(names), AT_A_TIME)):
        with ExitStack() as stack:
            terminals, notes = {}, {}
            for name in batch:
                arguments, _, _ = states[name]
                terminals[name], notes[name] = stack.enter_context(app(*arguments, painted=b"GD"))
                stack.callback(terminals[name].end)
                if "--run" in arguments or "demo" in arguments:
                    terminals[name].until(lambda noted=notes[name]: bool(noted("Finished")))
            time.sleep(PLAYED)
            for name, terminal in terminals.items():
                _, opened, keys = states[name]
                for key in keys:
                    terminal.press(key)
                    time.sleep(BETWEEN_KEYS)
                if opened:
                    terminal.until(lambda noted=notes[name], opened=opened: bool(noted(opened)), 10)
            time.sleep(SETTLED)
            before = {name: processor_seconds(terminal) for name, terminal in terminals.items()}
            time.sleep(REST)
            for name, terminal in terminals.items():
                if (status := terminal.gone()) is not None:
                    raise RuntimeError(f"with {name} open the app ended with {status}")
                shares[f"{name} %"] = 100 * (processor_seconds(terminal) - before[name]) / REST
    return {"most %": max(shares.values()), **shares}


def processor_seconds(terminal: Terminal) -> float:
    """CPU seconds of a process, to the nanosecond.

    Uses the clock id that clock_getcpuclockid(3) of Linux returns for a process.
    """
    return time.clock_gettime((~terminal.pid << 3) | PROCESS_CLOCK)


def throughput() -> dict[str, object]:
    """Ratio of the speed of the engine with the app open to that without it, measured in turns."""
    alone, beside = [], []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", HEADLESS, *WORK], capture_output=True, text=True, check=True
        )
        alone.append(float(done.stdout))
        with app(*WORK) as (terminal, noted):
            time.sleep(3)  # until the fields of the set-up are made
            terminal.press("fr")
            terminal.until(lambda noted=noted: bool(noted("Finished")), 600)
            beside.append(noted("Finished")[0] - noted("Loaded")[0])
            terminal.quit()
    ratios = [a / b for a, b in zip(alone, beside, strict=True)]
    return {"median ratio": statistics.median(ratios), "ratios": ratios, "headless s": alone, "app s": beside}


def quitting() -> dict[str, object]:
    """Seconds from q during a run until the process ends."""
    times = []
    for wait in (0.2, 0.5, 1.0, 1.5, 2.0):
        with app(*WORK) as (terminal, noted):
            terminal.press("fr")
            terminal.until(lambda noted=noted: bool(noted("Loaded")))
            time.sleep(wait)
            times.append(terminal.quit())
    return {"median s": statistics.median(times), "worst s": max(times)}


def stepped_numbers() -> dict[str, object]:
    """Delay from a key that steps d from 128 to 160 or back until the new curves are complete.

    It stands beside the start of an empty app, before and after the keys.
    """
    keys = b"\x1b[A", b"\x1b[B"  # up and down
    delays = []
    empty = [empty_app() for _ in range(3)]
    with app(*SMALL, size=DOCKED) as (terminal, noted):
        time.sleep(3)  # until the fields of the set-up are made
        for _ in range(MOST_FIELDS):  # d is the first number of the set-up
            if noted("NumberEntry"):
                break
            terminal.press("\t")
            time.sleep(0.3)
        for number in range(40):
            before = len(noted("curves"))
            pressed = terminal.press(keys[number % 2])
            terminal.until(lambda before=before: len(noted("curves")) > before)
            delays.append(noted("curves")[before] - pressed)
            time.sleep(0.3)
        terminal.press("\x1b")
        time.sleep(0.3)
        terminal.quit()
    of_empty = statistics.median([*empty, *(empty_app() for _ in range(3))])
    return {
        "times an empty app": statistics.median(delays[2:]) / of_empty,
        **_spread(sorted(delays[2:])),
        "worst ms": 1e3 * max(delays[2:]),
        "empty app, median s": of_empty,
    }


GOALS = {
    ("first-paint", "times an empty app"): ("J8 from the command to the first paint, in times of EMPTY", 4.3),
    ("imports", "ratio"): ("J8 import hadamard_tui.app, in times of import textual.app", 2.0),
    ("first-curve", "times an empty app"): (
        "J8 from the command to the first curve, the same",
        10.7,
    ),
    ("first-curve", "by torch, times an empty app"): ("J8 the same where the run needs torch", 10.7),
    ("saturated-keys", "p99 ms"): ("J9 key to repaint beside a run, 99 of 100, ms", 50.0),
    ("saturated-keys", "runs beginning anew, p99 ms"): ("J9 the same while runs begin and end, ms", 50.0),
    ("rest", "most %"): ("at rest with any panel or page open, % of a processor", 0.5),
    ("stepped-numbers", "times an empty app"): ("key on a number to its new curves, in times of EMPTY", 1.07),
}
"""Jobs and their goals, by benchmark and figure.

Those of starts and stepped numbers are 0.6 s, 1.5 s and 0.15 s on a host where an empty app takes 0.14 s. As
multiples of its start in the same series, they hold on hosts of any speed.
"""

BENCHMARKS = {
    "first-paint": first_paint,
    "imports": imports,
    "first-curve": first_curve,
    "saturated-keys": saturated_keys,
    "slow-line-keys": slow_line_keys,
    "stepped-numbers": stepped_numbers,
    "traffic": traffic,
    "rest": rest,
    "throughput": throughput,
    "quit": quitting,
}


def machine() -> dict[str, object]:
    """Description of the machine and its load."""
    import textual

    name = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        "?",
    )
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "textual": textual.__version__,
        "load": os.getloadavg()[0],
    }


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text().splitlines()
    except OSError:
        return []


def benchmark_name(name: str) -> str:
    """Return the name of a benchmark. Raises: argparse.ArgumentTypeError, if it is unknown."""
    if name not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"there is no {name}; there are {', '.join(BENCHMARKS)}")
    return name


def main() -> None:
    from contest import Outcome, show_rows  # beside this file, which others import without it

    parser = argparse.ArgumentParser(description=__doc__)
    names = f"what to measure: {', '.join(BENCHMARKS)}; all of them if none is named"
    parser.add_argument("names", nargs="*", type=benchmark_name, metavar="NAME", help=names)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: dict[str, dict[str, object]] = {"machine": machine()}
    if not options.json:
        print(results["machine"])
    for name in options.names or BENCHMARKS:
        results[name] = figures = BENCHMARKS[name]()
        if not options.json:
            print(f"{name}:", *(f"{key} {_short(figure)};" for key, figure in figures.items()), flush=True)
    rows = [
        Outcome(job, None, figures, None, None, f"≤ {limit:g}", figures <= limit)
        for (name, key), (job, limit) in GOALS.items()
        if name in results and isinstance(figures := results[name][key], float)
    ]
    if options.json:
        print(json.dumps(results | {"rows": [row._asdict() for row in rows]}))
    else:
        show_rows("J8 and J9: the app on a pseudo-terminal", rows)


def _short(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_short, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
