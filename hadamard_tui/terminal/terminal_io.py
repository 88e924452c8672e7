"""Terminal output: time spent in writes, frame rate, and restoring the terminal's settings at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from hadamard_tui.terminal.signals import hang_up
from hadamard_tui.terminal.terminal_input import ExitEvent, InputReader, chunks
from hadamard_tui.terminal.textual_internals import driver_of, replace_output

SHARE = 0.5
"""Maximum share of the time in which frames are written to the terminal.

In the rest of the time, the terminal connection is free for the response to keys.
"""

SHARE_BESIDE_ENGINE = 0.08
"""Maximum share of processor time for drawing while the engine runs in the same Python interpreter."""

SLOWEST = 1.0
"""Minimum frame rate in frames per second, however slow the connection is."""

FORGETTING = 0.8
"""Factor by which remembered write and drawing times shrink at each frame, so that the rate recovers."""

PATIENCE = 0.5
"""Seconds to wait for a pending write before the terminal is restored anyway."""

GIVEN_BACK = (
    "\x18"  # ends an escape sequence that was interrupted
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?2048l"  # unbuffered output, plain pastes, wrapping, no size reports
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?1004l"  # no mouse or focus reports
    "\x1b[<u\x1b[?1049l\x1b[0m\x1b[?25h"  # default keyboard mode, main screen, colours and cursor
)


class TimedFile:
    """Terminal output that measures the time spent in writes, including a write in progress.

    After the terminal is lost, output is dropped, because the program must not wait for a lost terminal.
    """

    def __init__(self, file: IO[str], lost: Callable[[], None]) -> None:
        """Measure the writes to `file`, and call `lost` if a write fails because the terminal is lost."""
        self._file, self._lost = file, lost
        self._blocked = 0.0
        self._since: float | None = None
        self._closed = False

    @property
    def blocked(self) -> float:
        since = self._since
        return self._blocked + (time.monotonic() - since if since is not None else 0.0)

    @property
    def busy(self) -> bool:
        return self._since is not None

    def close(self) -> None:
        """Drop all output from now on."""
        self._closed = True

    def write(self, text: str) -> int:
        self._time_work(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        self._time_work(self._file.flush)

    def _time_work(self, work: Callable[[], object]) -> None:
        if self._closed:
            return
        self._since = since = time.monotonic()
        try:
            work()
        except OSError:
            self._closed = True
            self._lost()
        finally:
            self._since = None
            self._blocked += time.monotonic() - since

    def fileno(self) -> int:
        return self._file.fileno()


class TimedDriver(LinuxDriver):
    """Textual's driver for terminals, which also times the output and detects the loss of the terminal."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self.app = app
        self.line = replace_output(self, lambda file: TimedFile(file, hang_up))
        self.exit_event: ExitEvent = ExitEvent()
        self._loop_of_app = asyncio.get_running_loop()
        self._is_suspended = False
        signal.signal(signal.SIGCONT, self._schedule_resume)

    def run_input_thread(self) -> None:
        """Send keys and clicks to the app until the driver stops or the terminal is lost.

        An error in this thread ends the app.
        """
        try:
            self._post_input()
        except Exception as error:
            self.app.call_later(_raise_error, error)

    def _post_input(self) -> None:
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        keys = InputReader()
        is_first = True
        for chunk in chunks(self.fileno, self.exit_event, lambda: keys.patience):
            # If a key was pressed before the app took over the terminal, Enter arrives as a line feed.
            text = decode(chunk.replace(b"\n", b"\r") if is_first else chunk)
            is_first = False
            for message in keys.messages(text):
                self.process_message(message)
        if not self.exit_event.is_set():
            hang_up()

    def stop_application_mode(self) -> None:
        """Restore the terminal's settings. Keys that are pressed later go to the shell."""
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        super().stop_application_mode()

    def suspend_application_mode(self) -> None:
        stop = signal.getsignal(signal.SIGTSTP)
        super().suspend_application_mode()
        signal.signal(signal.SIGTSTP, stop)
        signal.signal(signal.SIGCONT, self._schedule_resume)
        self._is_suspended = True

    def resume_application_mode(self) -> None:
        super().resume_application_mode()
        self._is_suspended = False

    def _schedule_resume(self, *_: object) -> None:
        self._loop_of_app.call_soon_threadsafe(self._resume_app)

    def _resume_app(self) -> None:
        if not self._is_suspended:  # SIGSTOP cannot be handled, so the input thread still runs
            self.suspend_application_mode()
        self.resume_application_mode()

    def give_back(self) -> None:
        """Restore the terminal's settings at once, without a lock.

        If a write is in progress, wait for its end, but at most PATIENCE seconds.
        """
        self.line.close()
        end = time.monotonic() + PATIENCE
        while self.line.busy and time.monotonic() < end:
            time.sleep(0.01)
        try:
            terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            return
        try:
            os.write(terminal, GIVEN_BACK.encode())
        except OSError:
            pass
        finally:
            os.close(terminal)
        if self.attrs_before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)


def line_of(app: App[Any]) -> TimedFile | None:
    return getattr(driver_of(app), "line", None)


def _raise_error(error: Exception) -> None:
    raise error


class FrameRate:
    """Frames per second of the app: `highest_rate`, or less if the connection or the engine is slow."""

    def __init__(self, highest_rate: float) -> None:
        self.highest = self.now = highest_rate
        self._seconds = 0.0
        self._drawing = 0.0
        self._seen = 0.0

    def adapt(self, line: TimedFile | None, drawing: float = 0.0) -> bool:
        """Adapt the frame rate to the cost of the last frame, and return whether to send the next frame now.

        Args:
            line: the timed terminal output; None if output is not timed.
            drawing: processor seconds that drawing the last frame took; 0 if the engine was not running.
        """
        blocked = 0.0 if line is None else line.blocked
        took, self._seen = blocked - self._seen, blocked
        self._seconds = max(took, FORGETTING * self._seconds)
        self._drawing = max(drawing, FORGETTING * self._drawing) if drawing else 0.0
        affordable_rate = min(
            SHARE / max(self._seconds, 1e-6), SHARE_BESIDE_ENGINE / max(self._drawing, 1e-6)
        )
        self.now = min(self.highest, max(SLOWEST, affordable_rate))
        return line is None or not line.busy


def most_frames(fps: float, fps_over_ssh: float) -> float:
    return fps_over_ssh if os.environ.get("SSH_CONNECTION") else fps
