"""The frame rate in the status is true, and rests while the screen rests."""

import ast
import re
from pathlib import Path

import pytest

from hadamard_tui.app import HadamardApp
from hadamard_tui.terminal.terminal_io import FrameRate
from hadamard_tui.terminal.timing import Frames
from hadamard_tui.widgets.stage import PanelView

from .conftest import SMALL, WIDE, opened, until
from .test_runs import session_of

pytestmark = pytest.mark.drawn

ASKED = re.compile(r"\b(?:time|datetime|date)\.(?:time|time_ns|now|today)\b")
"""Text of a file that reads the time of day; parsing all files takes too long."""


def test_the_frame_rate_is_measured_over_the_last_frames():
    frames = Frames(20.0)
    for _ in range(30):
        frames.count(0.1)
    assert frames.rate == pytest.approx(10.0)


def test_a_nearly_constant_frame_rate_is_shown_unchanged():
    frames = Frames(20.0)
    for _ in range(100):
        frames.count(1 / 19)
    assert frames.rate == 20.0


@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_a_run_causes_no_new_layout(app: HadamardApp, size: tuple[int, int]):
    """No record causes a new layout, which takes longer than drawing the curves."""
    async with opened(app, size) as pilot:
        laid_out: list[object] = []
        await pilot.press("n")
        await until(pilot, lambda: app.laboratory.session is not None)
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).trace.frontier >= 0)
        laboratory = app.laboratory
        laboratory.screen_layout_refresh_signal.subscribe(laboratory, laid_out.append)
        await pilot.press("n", "n", "n")
        await until(pilot, lambda: session_of(app).trace.frontier >= 3)
        assert laid_out == []
        await pilot.resize_terminal(size[0] - 1, size[1])
        await until(pilot, lambda: laid_out)


@pytest.mark.slow
async def test_a_change_by_a_key_is_drawn_before_the_next_frame(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
):
    async with opened(app, WIDE) as pilot:
        await pilot.press("f", "r")
        await until(pilot, lambda: app.laboratory.session is not None and session_of(app).over)
        await until(pilot, lambda: session_of(app).playback.shown == session_of(app).trace.frontier)
        await until(pilot, lambda: app.laboratory._next_frame is None, 10)
        monkeypatch.setattr(app.laboratory, "_rate", FrameRate(0.01))  # a frame in 100 s; none at rest
        panel = app.laboratory.query_one(PanelView)
        for key, drawn in (("6", "panel-words"), ("2", "panel-chart")):
            await pilot.press(key)
            await until(pilot, lambda drawn=drawn: panel.current == drawn, 10)


STAMPED = {"run_writer.py", "store.py", "runs.py"}
"""Files that write the time of day into files of runs, or sort runs by it, for people and other processes."""


def test_durations_never_use_the_time_of_day() -> None:
    """The time of day may be part of a text, such as a file name, but never measures durations."""
    for package in ("engine", "hadamard_tui"):
        for file in (Path(__file__).parents[2] / package).rglob("*.py"):
            if file.name in STAMPED or not ASKED.search(text := file.read_text()):
                continue
            nodes = list(ast.walk(ast.parse(text)))
            told = [node.value for node in nodes if isinstance(node, ast.FormattedValue)]
            as_text = [call.func for call in told if isinstance(call, ast.Call)]
            for node in nodes:
                if node in as_text:
                    continue
                asked = isinstance(node, ast.Attribute) and node.attr in ("time", "time_ns", "now", "today")
                of = node.value.id if asked and isinstance(node.value, ast.Name) else ""
                assert of not in ("time", "datetime", "date"), f"{file}:{node.lineno}: take time.monotonic"
