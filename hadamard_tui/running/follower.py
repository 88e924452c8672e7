"""Reader of a stored run. The app shows the run as if this process computed it.

Another process may still be computing the run. A follower has the methods of the engine's worker, but it only
reads the run's file.
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
"""Seconds between two reads of the file; the writer appends to it at most every 0.3 s."""

MOST_SILENT = 30.0
"""Seconds without new data after which the user is told that a run on another machine may be over."""


@dataclass(frozen=True)
class Silent:
    """Event: data of a run may be missing.

    The process that computes the run has ended early, has written nothing for a while, or has written data
    that this version cannot read.

    Args:
        why: message to the user.
    """

    why: str


class Follower:
    """Thread that reads the growing file of a run, and calls `notify` with events about its content."""

    def __init__(self, reader: RunReader, notify: Callable[[Event | Silent], None]) -> None:
        self._reader, self._notify = reader, notify
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow_file, name="follower", daemon=True)
        self._heard = time.monotonic()
        self._was_silent = False
        self._said_missing: set[str] = set()

    def start(self, paused: bool = False) -> None:
        self._thread.start()

    def pause(self) -> None:
        """Do nothing: another process computes the run, so only the playback pauses."""

    def resume(self) -> None:
        """Do nothing: another process computes the run, so only the playback resumes."""

    def step(self) -> None:
        """Do nothing: another process computes the run, so only the playback moves."""

    def stop(self) -> None:
        self._stopped.set()

    def join(self, seconds: float) -> bool:
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _follow_file(self) -> None:
        reader = self._reader
        self._notify(Changed("running"))
        self._notify(Begun(reader.results, reader.run.id))
        try:
            while not self._read_news() and not self._stopped.wait(POLL_SECONDS):
                pass
        except BadInput as error:
            self._notify(Refused(error))
            self._notify(Changed("stopped"))
        finally:
            reader.close()

    def _read_news(self) -> bool:
        """Read what was appended to the file, send events about it, and return whether the run is over."""
        reader = self._reader
        # Queried before the file is read: if the writer ends in between, the file is complete by then.
        is_written, news = reader.run.is_written, False
        for kind, number in reader.read():
            news = True
            if kind == "trac":
                self._notify(Loaded(reader.results.traces[number]))
            elif kind == "done":
                self._notify(PointDone(number))
            elif kind == "mach" and reader.machine is not None:
                self._notify(Sampled(reader.machine))
        self._notify_unknown_data()
        if reader.ended:
            self._notify_end()
            return True
        if news:
            self._heard, self._was_silent = time.monotonic(), False
        elif reader.run.is_here and not is_written:
            self._notify(Silent("The process that computed this run ended before the run was finished."))
            self._notify(Changed("stopped"))
            return True
        elif not reader.run.is_here and not self._was_silent and time.monotonic() - self._heard > MOST_SILENT:
            self._was_silent = True
            where = reader.run.host
            self._notify(Silent(f"No new data for {MOST_SILENT:.0f} s: the run on {where} may be over."))
        return False

    def _notify_end(self) -> None:
        reader = self._reader
        traces = reader.results.traces
        if reader.run.state == "finished" and traces:
            self._notify(Finished(traces[max(traces)]))
            self._notify(Changed("finished"))
        else:
            self._notify(Changed("stopped"))

    def _notify_unknown_data(self) -> None:
        run, missing = self._reader.run, self._reader.unknown - self._said_missing
        if missing:
            self._said_missing |= missing
            kinds = ", ".join(sorted(missing))
            self._notify(
                Silent(
                    f"Version {run.version} wrote this run. This version does not show its {kinds.strip()}."
                )
            )
