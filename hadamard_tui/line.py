"""The line to the terminal: how busy it is, and how many frames per second it can take."""

from __future__ import annotations

import os
import time
from typing import IO

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

SHARE = 0.5
"""Frames may keep the line busy for this share of the time; the rest is for the answers to keys."""

SHARE_BESIDE_ENGINE = 0.08
"""Drawing may take this share of the time while the engine is at work, which needs the interpreter, too."""

SLOWEST = 1.0
"""Frames per second that even the slowest line is sent."""

FORGETTING = 0.8
"""How much of the longest write is still believed one frame later, so that the rate recovers."""


class TimedFile:
    """A file that knows how long its writes have blocked, the one under way included."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._blocked = 0.0
        self._since: float | None = None

    @property
    def blocked(self) -> float:
        """Seconds spent in writes since the start."""
        since = self._since
        return self._blocked + (time.monotonic() - since if since is not None else 0.0)

    @property
    def busy(self) -> bool:
        """Whether a write is under way."""
        return self._since is not None

    def write(self, text: str) -> int:
        """Write text, timed."""
        self._since = time.monotonic()
        try:
            return self._file.write(text)
        finally:
            self._end()

    def flush(self) -> None:
        """Flush, timed."""
        self._since = time.monotonic()
        try:
            self._file.flush()
        finally:
            self._end()

    def _end(self) -> None:
        since, self._since = self._since, None
        assert since is not None, "a write that ends has begun"
        self._blocked += time.monotonic() - since

    def fileno(self) -> int:
        """The file's number."""
        return self._file.fileno()


class TimedDriver(LinuxDriver):
    """Textual's driver for terminals, with a line whose delays are known."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        assert self._file is not None, "there is a terminal"
        self.line = TimedFile(self._file)
        self._file = self.line  # type: ignore[assignment]


def line_of(app: App[None]) -> TimedFile | None:
    """The line to the terminal, where its delays are known."""
    return getattr(app._driver, "line", None)


class FrameRate:
    """How many frames per second to draw: as many as wanted, and no more than line and engine bear."""

    def __init__(self, most: float) -> None:
        self.most = self.now = most
        self._seconds = 0.0
        self._drawing = 0.0
        self._seen = 0.0

    def adapt(self, line: TimedFile | None, drawing: float = 0.0) -> bool:
        """Learn from the last frame; whether the line is free for another.

        Args:
            drawing: how many seconds of processor time it took, if the engine is at work beside it.
        """
        blocked = 0.0 if line is None else line.blocked
        took, self._seen = blocked - self._seen, blocked
        self._seconds = max(took, FORGETTING * self._seconds)
        self._drawing = max(drawing, FORGETTING * self._drawing) if drawing else 0.0
        most = min(SHARE / max(self._seconds, 1e-6), SHARE_BESIDE_ENGINE / max(self._drawing, 1e-6))
        self.now = min(self.most, max(SLOWEST, most))
        return line is None or not line.busy


def most_frames(fps: float, fps_over_ssh: float) -> float:
    """The rate that is wanted on this line."""
    return fps_over_ssh if os.environ.get("SSH_CONNECTION") else fps
