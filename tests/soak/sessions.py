"""Sessions of the real app on a pseudo-terminal, under random keys and resizes.

After every burst of keys the terminal reports one more row, through the same channel as keys. The first text
on that row is the answer. A person waits as long for a response, whichever widget has the focus.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec

from benchmarks.tui import Terminal
from engine.spec import presets
from hadamard_tui.state import state_file
from tests.soak.keyboard import Keyboard, Press
from tests.soak.outcome import Outcome
from tests.soak.terminal_modes import left_behind

KEYS_PER_SESSION = 1000
LAG = 2.0
"""Most seconds between the end of the work of earlier keys and an answer."""

WORK_PER_KEY = 0.03
AT_REST = 0.2
"""An answer within so many seconds shows that the work of earlier keys is done."""

MOST_UNRESTED = 240
"""Most keys whose work may be unfinished: two of the longest bursts."""

FEW = 5
"""Keys since the app was at rest that a person takes for one: up to here only LAG counts."""

END = 10.0
"""Most seconds that the app takes to end, with files that are being written."""

HUNG = 60.0
"""Seconds without any answer after which a session is given up."""

STACKS_EVERY, MOST_STACKS = 3.0, 5
"""Seconds between looks at what every thread does while an answer is late, and how many looks there are."""

FRAMES = 12
"""Innermost calls of every thread in a report."""

ESCAPE_PAUSE = 0.12
"""Seconds after which a lone escape is taken for the key."""

PASTE_BRACKET = len(b"\x1b[200~")

SIZES = (*[(80, 24)] * 4, (120, 40), (100, 30), (60, 20), (60, 20), (40, 12), (200, 60))
BURSTS = (1, 2, 5, 20, 60, 120)
TALLER = 12
"""Rows that the probes add one after the other before the terminal has its own size again."""

MEMORY = 12 * 2**30
"""Limit of address space in bytes, since random digits can set up an experiment of any size."""

ENDINGS = (b"\x03", b"\x11", signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)
SIGNAL_KEYS = {b"\x03": signal.SIGINT, b"\x1c": signal.SIGQUIT}
CLICK = re.compile(rb"\x1b\[<\d+;\d+;(\d+)M")
TRACES = re.compile(rb"Traceback|the program failed|\w+(Error|Exception)\b")
HOME = "home"
STACKS = "stacks"
PROGRAM = """
import faulthandler, signal, sys
faulthandler.register(signal.SIGRTMIN, open(sys.argv.pop(1), "a"), all_threads=True)
from hadamard_tui.cli import main
sys.exit(main())
"""
"""The app. At SIGRTMIN it writes the stacks of all threads, even if one of them holds Python's lock."""


@dataclass
class Session:
    """One start of the app, what was pressed, and what it wrote."""

    seed: int
    outcome: Outcome
    cache: str
    number_of_keys: int = KEYS_PER_SESSION
    pressed: list[Press] = field(default_factory=list)
    sent_at: list[float] = field(default_factory=list)
    """Time of each press on the monotonic clock."""

    burst: int = 0
    """Number of keys in the last burst."""

    unrested: int = 0
    """Number of keys since the app was last at rest."""

    asked: bytes | signal.Signals | None = None
    """Key or signal that requested the end, after all keys are pressed."""

    def __post_init__(self) -> None:
        self.random = Random(f"session {self.seed}")
        self.size = self.random.choice(SIZES)
        self.height = self.size[1]
        self.keyboard = Keyboard(self.random)
        self.keyboard.size = self.size

    def run(self) -> None:
        """Play the session to its end and judge it."""
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            state = Path(folder) / "state" / "hadamard-tui" / "last.json"
            self._open(folder, state)
            status = self._play()
            if status is None:
                status = self._end()
            self._judge(status, state)
        self.outcome.count("sessions")

    def _open(self, folder: str, state: Path) -> None:
        names = presets.names()
        self.remembered = self.random.random() < 0.75
        if self.remembered:
            memory = state_file.Memory(experiment=presets.document(self.random.choice(names)))
            state.parent.mkdir(parents=True)
            state.write_bytes(msgspec.json.encode(memory))
        arguments = self.random.choice(([], ["--preset", self.random.choice(names)], ["--run"], ["--ascii"]))
        environment = {f"XDG_{name}_HOME": f"{folder}/{name.lower()}" for name in ("STATE", "CONFIG", "DATA")}
        environment |= {
            "XDG_CACHE_HOME": self.cache,
            "MPLCONFIGDIR": self.cache,
            "HOME": folder,
            "PYTHONFAULTHANDLER": "1",
        }
        if self.random.random() < 0.1:
            environment["SSH_CONNECTION"] = "192.0.2.1 1 192.0.2.2 22"
        work = Path(folder) / HOME
        work.mkdir()
        unheeded = f'trap "" {signal.SIGRTMIN.value}'  # until the program has registered what it does then
        limited = ["/bin/sh", "-c", f'{unheeded}; ulimit -v {MEMORY // 1024}; exec "$@"', "sh"]
        self.stacks, self.traceback = Path(folder) / STACKS, state.parent / "traceback.txt"
        command = [*limited, sys.executable, "-c", PROGRAM, str(self.stacks), *arguments]
        self.terminal = Terminal(command, environment, size=self.size, folder=str(work))

    def _play(self) -> int | None:
        """Press the keys; return the exit status if the app ends meanwhile."""
        status = self._probe(30.0, "the first picture")
        while status is None and len(self.pressed) < self.number_of_keys:
            if self.height >= self.size[1] + TALLER:
                self._resize()
            burst = [self.keyboard.press() for _ in range(self.random.choice(BURSTS))]
            self.pressed += burst
            self.burst = len(burst)
            self.unrested = min(self.unrested + len(burst), MOST_UNRESTED)
            for press in burst:
                self.sent_at.append(time.monotonic())
                self._press(press)
                if self.random.random() < 0.15:
                    time.sleep(self.random.uniform(0, 0.03))
            if burst[-1].kind in ("stray", "move", "broken"):
                time.sleep(ESCAPE_PAUSE)
            limit = LAG + (0.0 if self.unrested <= FEW else WORK_PER_KEY * self.unrested)
            status = self._probe(limit, repr([press.sent for press in burst]))
            if status is None:  # of a burst that ended it nobody knows which keys it was there for
                self.outcome.count("keys", len(burst))
        return status

    def _press(self, press: Press) -> None:
        """Send a press; half of the pastes come in two pieces, so late that a cut escape counts as a key."""
        cut = 0
        if press.kind == "paste" and self.random.random() < 0.5:
            cut = self.random.randrange(PASTE_BRACKET, len(press.sent) - 1)
            self._send(press.sent[:cut])
            time.sleep(ESCAPE_PAUSE)
        self._send(press.sent[cut:])

    def _send(self, sent: bytes) -> None:
        with suppress(OSError):  # it has just ended, as the next probe will see
            self.terminal.press(sent)

    def _resize(self) -> None:
        self.size = self.random.choice(SIZES)
        self.height = self.size[1]
        self.keyboard.size = self.size
        self.terminal.resize(*self.size)
        self.outcome.count("resizes")
        time.sleep(0.3)

    def _probe(self, limit: float, after: str) -> int | None:
        """Add a row and wait for text on it; return the exit status if the app ends instead."""
        self.height += 1
        width, row = self.size[0], f"\x1b[{self.height};1H".encode()
        since, waited = len(self.terminal.written), self._waiting_for_processor()
        begun, looks = time.monotonic(), 0
        self._send(f"\x1b[48;{self.height};{width};{self.height};{width}t".encode())
        self.outcome.count("resizes")
        while row not in self.terminal.written[since:]:
            status = self.terminal.gone()
            if status is not None:
                return status
            late = time.monotonic() - begun - limit
            if late > looks * STACKS_EVERY and looks < MOST_STACKS:
                os.kill(self.terminal.pid, signal.SIGRTMIN)
                looks += 1
            if time.monotonic() - begun > HUNG:
                os.kill(self.terminal.pid, signal.SIGABRT)  # the fault handler prints where every thread is
                self._fail("hang", f"no answer for {HUNG:.0f} s after {after}")
                return self.terminal.gone(10) or self._kill()
            time.sleep(0.003)
        lag = time.monotonic() - begun
        idle = _on_an_idle_machine(lag, waited, self._waiting_for_processor())
        self.outcome.record_largest("longest lag s", idle)
        if 0 < self.unrested <= FEW:  # and not before the first picture
            self.outcome.record_largest("longest after few keys s", idle)
        if lag < AT_REST:
            self.unrested = 0
        if idle > limit:
            self._fail("hang", f"{idle:.1f} s ({lag:.1f} s on this busy machine) after {after}")
        if looks:
            os.truncate(self.stacks, 0)
        return None

    def _waiting_for_processor(self) -> dict[str, float]:
        """Seconds for which threads of the app waited because other programs ran."""
        waited = {}
        with suppress(OSError, IndexError):
            for task in os.scandir(f"/proc/{self.terminal.pid}/task"):
                waited[task.name] = int(Path(task.path, "schedstat").read_text().split()[1]) / 1e9
        return waited

    def _end(self) -> int:
        """Request the end by a key or a signal; return the exit status."""
        self.asked = asked = self.random.choice(ENDINGS)
        begun, waited = time.monotonic(), self._waiting_for_processor()
        if isinstance(asked, signal.Signals):
            os.kill(self.terminal.pid, asked)
        else:
            self._send(asked)
        status, later = None, dict(waited)
        while status is None and time.monotonic() - begun < HUNG:
            later |= self._waiting_for_processor()  # an ended thread keeps what it had when last seen
            status = self.terminal.gone(0.05)
        took = time.monotonic() - begun
        idle = _on_an_idle_machine(took, waited, later)
        self.outcome.record_largest("longest end s", idle)
        if status is not None and idle > END:
            self._fail("hang", f"it ended {idle:.1f} s ({took:.1f} s on this busy machine) after {asked!r}")
        if status is None:
            os.kill(self.terminal.pid, signal.SIGABRT)
            self._fail("hang", f"it had not ended {HUNG:.0f} s after {asked!r}")
            return self.terminal.gone(10) or self._kill()
        wanted = 128 + asked if isinstance(asked, signal.Signals) else 0
        if status != wanted:
            self._fail("exception", f"{asked!r} ended it with {status}, not with {wanted}")
        return status

    def _kill(self) -> int:
        os.kill(self.terminal.pid, signal.SIGKILL)
        return self.terminal.gone(10) or -signal.SIGKILL

    def _judge(self, status: int, state: Path) -> None:
        """Record failures of the session, however it ended."""
        written = bytes(self.terminal.written)
        after = written[written.rfind(b"\x1b[?1049l") :] if b"\x1b[?1049l" in written else written[-5000:]
        by_itself = self.asked is None and not (self._may_have_asked() and self._is_right(status))
        trace = TRACES.search(after)
        if by_itself or trace:
            told = "" if trace is None else f", having written {after[max(0, trace.start() - 80) :][:1000]!r}"
            self._fail("exception", f"it ended with {status} after {self.asked!r}{told}")
        if wrong := left_behind(written):
            self._fail("terminal", "; ".join(wrong))
        try:
            set_up = (
                state_file.parse(state.read_bytes()).set_up() if state.exists() or self.remembered else None
            )
            if set_up is None:
                self._fail("loss", "the set-up is not remembered")
        except (OSError, ValueError) as error:
            self._fail("loss", f"the set-up is lost: {error}")
        strangers = [
            path.name for path in state.parent.glob("*") if path.suffix == ".broken" or path.name[0] == "."
        ]
        if strangers:
            self._fail("loss", f"beside the set-up there is {', '.join(strangers)}")

    def _may_have_asked(self) -> bool:
        """Whether a press may have requested the end: a key, a click on the footer, or a command.

        The end may take a while, in which further presses are sent and some are answered.
        """
        since = self.sent_at[-1] - END if self.sent_at else 0.0
        last = len(self.pressed) - bisect_left(self.sent_at, since)
        late = self.pressed[-max(25 + self.burst, last) :]
        recent = self.pressed[-max(60 + self.burst, last) :]
        searched = any(
            b":" in press.sent or b"\x10" in press.sent for press in recent if press.kind != "paste"
        )
        return any(press.kind == "quit" or self._is_on_footer(press) for press in late) or (
            searched and any(press.kind == "mouse" or b"\r" in press.sent for press in late)
        )

    def _is_on_footer(self, press: Press) -> bool:
        """Whether a press is a click on one of the last rows, where the footer is."""
        click = CLICK.match(press.sent)
        return click is not None and int(click[1]) >= self.size[1] - 1

    def _is_right(self, status: int) -> bool:
        """Whether the exit status is that of a requested end.

        After the app has left, the terminal turns later keys into signals.
        """
        late = b"".join(press.sent for press in self.pressed[-25 - self.burst :])
        signals = [number for key, number in SIGNAL_KEYS.items() if key in late]
        return status == 0 or status in (end for number in signals for end in (-number, 128 + number))

    def _fail(self, kind: str, description: str) -> None:
        again = f"python -m tests.soak keys --seed {self.seed} --count {self.number_of_keys}"
        keys = b" ".join(press.sent for press in self.pressed[-40:])
        text = re.sub(rb"\x1b\[[^a-zA-Z]*[a-zA-Z]", b"", bytes(self.terminal.written[-20000:]))
        tail = text[-1500:].decode(errors="replace")
        stacks = innermost(_text(self.stacks)) + _text(self.traceback)
        last = f"keys: {keys!r}\nwrote: {json.dumps(tail, ensure_ascii=False)}\n{stacks}".rstrip()
        self.outcome.fail(kind, f"session {self.seed}: {description}", again, last)


def _on_an_idle_machine(took: float, before: dict[str, float], after: dict[str, float]) -> float:
    """Elapsed seconds minus those for which threads waited for the processor."""
    return max(0.0, took - sum(after[thread] - before.get(thread, 0.0) for thread in after))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def innermost(stacks: str) -> str:
    """Output of the fault handler, cut to the innermost calls of every thread."""
    lines, calls = [], 0
    for line in stacks.splitlines():
        calls = calls + 1 if line.startswith("  ") else 0
        if calls <= FRAMES:
            lines.append(line)
    return "\n".join(lines)


@contextmanager
def warm_cache() -> Iterator[str]:
    """Cache folder in which matplotlib has already looked up the fonts."""
    with tempfile.TemporaryDirectory(prefix="soak-cache-") as folder:
        os.environ["MPLCONFIGDIR"] = folder
        from matplotlib import font_manager

        assert font_manager.fontManager.ttflist
        yield folder


def run(seed: int, count: int) -> Outcome:
    """Run sessions in sequence until they have `count` keys; the n-th has the seed `seed` + n."""
    outcome = Outcome("keys", seed, {"keys": 0, "sessions": 0, "resizes": 0})
    with warm_cache() as cache:
        number = seed
        while (remaining := count - int(outcome.did.get("keys", 0))) > 0:
            Session(number, outcome, cache, min(remaining, KEYS_PER_SESSION)).run()
            number += 1
            if number % 5 == 0:
                print(
                    f"keys: {outcome.did['keys']:.0f} of {count}, {len(outcome.failures)} failures",
                    flush=True,
                )
    return outcome
