"""Frames follow the speed of the connection to the terminal."""

from __future__ import annotations

import io
import threading
import time

import pytest

from hadamard_tui.terminal.terminal_io import (
    FORGETTING,
    SHARE,
    SHARE_BESIDE_ENGINE,
    SLOWEST,
    FrameRate,
    TimedFile,
    most_frames,
)


class Blocked(io.StringIO):
    """File whose flushes block until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()

    def flush(self) -> None:
        self.open.wait(10)


class Line:
    """Connection with given delays."""

    def __init__(self) -> None:
        self.blocked, self.busy = 0.0, False


def test_a_slow_write_marks_the_terminal_file_busy() -> None:
    slow = Blocked()
    file = TimedFile(slow, pytest.fail)
    file.write("text")
    assert not file.busy
    writer = threading.Thread(target=file.flush)
    writer.start()
    while not file.busy:
        time.sleep(0.001)
    first = file.blocked
    time.sleep(0.05)
    assert file.blocked >= first + 0.05
    slow.open.set()
    writer.join()
    assert not file.busy
    assert slow.getvalue() == "text"


def test_a_quick_line_gets_the_full_frame_rate() -> None:
    rate, line = FrameRate(20), Line()
    for _ in range(100):
        line.blocked += 0.001
        assert rate.adapt(line)  # type: ignore[arg-type]
    assert rate.now == 20


def test_a_slow_line_lowers_the_frame_rate_until_it_recovers() -> None:
    rate, line = FrameRate(20), Line()
    line.blocked = 0.1
    rate.adapt(line)  # type: ignore[arg-type]
    assert rate.now == pytest.approx(SHARE / 0.1)
    line.blocked += 100
    rate.adapt(line)  # type: ignore[arg-type]
    assert rate.now == SLOWEST
    for _ in range(100):
        rate.adapt(line)  # type: ignore[arg-type]
    assert rate.now == 20


def test_the_frame_rate_falls_with_drawing_time_only_while_the_engine_runs() -> None:
    rate = FrameRate(20)
    rate.adapt(None, drawing=0.025)
    assert rate.now == pytest.approx(SHARE_BESIDE_ENGINE / 0.025)
    rate.adapt(None, drawing=1e-6)
    assert rate.now == pytest.approx(SHARE_BESIDE_ENGINE / (FORGETTING * 0.025)), "one cheap frame is no rule"
    rate.adapt(None)
    assert rate.now == 20


def test_no_frame_is_drawn_while_the_last_frame_is_being_written() -> None:
    rate, line = FrameRate(20), Line()
    line.busy = True
    assert not rate.adapt(line)  # type: ignore[arg-type]
    assert FrameRate(20).adapt(None)


def test_a_remote_terminal_gets_fewer_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_frames(20, 5) == 20
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 5 192.0.2.2 22")
    assert most_frames(20, 5) == 5


class Gone:
    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")

    flush = write


def test_output_to_a_closed_terminal_is_dropped_and_reported_once() -> None:
    told: list[bool] = []
    file = TimedFile(Gone(), lambda: told.append(True))  # type: ignore[arg-type]
    assert [file.write("a frame"), file.write("ab")] == [7, 2]
    file.flush()
    assert told == [True]
    assert not file.busy
