"""Follower: shows a run that another process writes, or that has ended, as if it were computed here.

It has the methods of the engine's worker. It reads the run's file, and computes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.core.parts import BadInput
from engine.runtime.run import Finished, Loaded
from engine.runtime.sweep_run import Begun, PointDone, Sampled
from engine.runtime.worker import Changed, Refused

if TYPE_CHECKING:
    from engine.runtime.run_reader import RunReader
    from engine.runtime.worker import Event

POLL_SECONDS = 0.25
"""Seconds between two looks at the file; the writer appends at most every 0.3 s."""

MOST_SILENT = 30.0
"""Seconds without news after which a run on another machine may be over."""


@dataclass(frozen=True)
class Silent:
    """Event: no news comes from the writer of a run, with the reason."""

    why: str


class Follower:
    """Follows the file of a run in a thread of its own; `notify` is called from that thread."""

    def __init__(self, reader: RunReader, notify: Callable[[Event | Silent], None]) -> None:
        self._reader, self._notify = reader, notify
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="follower", daemon=True)
        self._heard = time.monotonic()
        self._was_silent = False
        self._said_missing: set[str] = set()

    def start(self, paused: bool = False) -> None:
        """Begin to read."""
        self._thread.start()

    def pause(self) -> None:
        """Leave the run alone: only its playback pauses."""

    def resume(self) -> None:
        """Leave the run alone: only its playback goes on."""

    def step(self) -> None:
        """Leave the run alone: only its playback moves."""

    def stop(self) -> None:
        """Stop reading; the run goes on where it is computed."""
        self._stopped.set()

    def join(self, seconds: float) -> bool:
        """Wait for the thread up to `seconds`, and return whether it has ended."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _follow(self) -> None:
        reader = self._reader
        self._notify(Changed("running"))
        self._notify(Begun(reader.results, reader.run.id))
        try:
            while not self._read() and not self._stopped.wait(POLL_SECONDS):
                pass
        except BadInput as error:
            self._notify(Refused(error))
            self._notify(Changed("stopped"))
        finally:
            reader.close()

    def _read(self) -> bool:
        """Take over what was appended, and return whether the run is over."""
        reader = self._reader
        # Asked before the last look at the file: a writer that ends between the two has written all.
        is_written, news = reader.run.is_written, False
        for kind, number in reader.read():
            news = True
            if kind == "trac":
                self._notify(Loaded(reader.results.traces[number]))
            elif kind == "done":
                self._notify(PointDone(number))
            elif kind == "mach" and reader.machine is not None:
                self._notify(Sampled(reader.machine))
        self._say_what_is_missing()
        if reader.ended:
            self._end()
            return True
        if news:
            self._heard, self._was_silent = time.monotonic(), False
        elif reader.run.is_here and not is_written:
            self._notify(Silent("The process that computed this run has ended before the run did."))
            self._notify(Changed("stopped"))
            return True
        elif not reader.run.is_here and not self._was_silent and time.monotonic() - self._heard > MOST_SILENT:
            self._was_silent = True
            where = reader.run.host
            self._notify(Silent(f"No news for {MOST_SILENT:.0f} s: the run on {where} may be over."))
        return False

    def _end(self) -> None:
        reader = self._reader
        traces = reader.results.traces
        if reader.run.state == "finished" and traces:
            self._notify(Finished(traces[max(traces)]))
            self._notify(Changed("finished"))
        else:
            self._notify(Changed("stopped"))

    def _say_what_is_missing(self) -> None:
        """Name the parts of the file that this version cannot show, once each."""
        run, missing = self._reader.run, self._reader.unknown - self._said_missing
        if missing:
            self._said_missing |= missing
            kinds = ", ".join(sorted(missing))
            self._notify(
                Silent(f"Version {run.version} wrote this run; parts of it are not shown ({kinds.strip()}).")
            )
