"""Pictures of the main states, compared whole. `make update` takes them anew: look at them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels import ABOUT, PANELS
from hadamard_tui.running.progress import EngineTime
from hadamard_tui.state.config import Config
from hadamard_tui.terminal.timing import Frames
from hadamard_tui.widgets import stage
from hadamard_tui.widgets.setup import SetupPane

from .conftest import SMALL, WIDE, until
from .test_runs import screen_text

AT_REST = 4
"""Number of equal looks at the screen that count as rest."""

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def _no_experimental_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave experimental panels out, so that work on one changes no picture."""
    experimental = {panel.name for panel in PANELS if panel.experimental}
    shown = {panel_name: about for panel_name, about in ABOUT.items() if panel_name not in experimental}
    monkeypatch.setattr(stage, "ABOUT", shown)


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze all figures that depend on the speed of the machine."""
    monkeypatch.setattr(EngineTime, "speed", lambda self, x: 1000.0)
    monkeypatch.setattr(Frames, "count", lambda self, seconds: None)


def finished(app: HadamardApp) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Run to the end."""

    async def run(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.laboratory.query(SetupPane))
        setup = app.laboratory.query_one(SetupPane)
        await until(pilot, lambda: setup.filled or not setup.display)
        await pilot.press("r", "f")
        await until(pilot, lambda: app.laboratory.session is not None)
        session = app.laboratory.session
        assert session is not None
        await until(pilot, lambda: session.state == "finished" and session.outcomes is not None)
        await until(pilot, lambda: "finished" in screen_text(app))
        seen: list[str] = []
        while len(seen) < AT_REST or len(set(seen[-AT_REST:])) > 1:
            await pilot.pause(0.2)
            seen.append(screen_text(app))

    return run


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(SMALL, marks=pytest.mark.slow, id="80x24"),
        pytest.param(WIDE, id="120x40"),
        pytest.param((200, 60), marks=pytest.mark.slow, id="200x60"),
    ],
)
def test_a_run_that_has_ended(
    snap_compare: Compare, editable: EditableExperiment, size: tuple[int, int]
) -> None:
    app = HadamardApp(editable)
    assert snap_compare(app, terminal_size=size, run_before=finished(app))


@pytest.mark.slow
def test_without_colour(
    snap_compare: Compare, editable: EditableExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = HadamardApp(editable)
    assert snap_compare(app, terminal_size=SMALL, run_before=finished(app))


def test_in_ascii(snap_compare: Compare, editable: EditableExperiment) -> None:
    app = HadamardApp(editable, config=Config(ascii=True))
    assert snap_compare(app, terminal_size=SMALL, run_before=finished(app))


@pytest.mark.drawn
@pytest.mark.slow
def test_jump_mode(snap_compare: Compare, editable: EditableExperiment) -> None:
    app = HadamardApp(editable)

    async def jump(pilot: Pilot[None]) -> None:
        await finished(app)(pilot)
        await pilot.press("3", "j")
        await until(pilot, lambda: "esc to stay" in screen_text(app))

    assert snap_compare(app, terminal_size=WIDE, run_before=jump)


def test_the_first_start(snap_compare: Compare, editable: EditableExperiment) -> None:
    assert snap_compare(HadamardApp(editable, first=True), terminal_size=SMALL)
