"""The status line is complete in every state and at every width."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from engine.core.machine import GpuSample, MachineSample
from engine.results.results import of_one
from engine.results.trace import Trace
from engine.results.views import view
from engine.runtime.run import run
from engine.runtime.sweep_run import Sampled
from engine.spec import presets
from engine.spec.experiment import Experiment, of_run
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.values import ShownValue, looked_at, values
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import Pace
from hadamard_tui.widgets.scoreboard import row
from hadamard_tui.widgets.screen_lines import MachineLine, Status
from hadamard_tui.widgets.selection_bar import Situation, progress_text

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")

WIDTHS = (60, 66, 72, 80, 100, 120, 160, 200)


def small(*settings: str) -> list[str]:
    return ["problem.matrix.d=16", "run.device=cpu", "claims=[]", *settings]


def look(experiment: Experiment, trace: Trace, place: float) -> Look:
    """Look at a complete run with the playhead at `place`."""
    return Look(view(of_run(experiment), of_one(experiment, trace)), place=place)


def test_a_run_with_only_diverged_learners_has_no_best_learner() -> None:
    learner = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=3000.0}}]'
    experiment = presets.load("hadamard-128", small(learner))
    trace = run(experiment)
    [gd] = trace.curves
    assert gd.diverged_at is not None
    assert trace.frontier < gd.diverged_at
    [now] = values(look(experiment, trace, trace.frontier))
    assert row(now, 5)["state"] == f"diverged at {gd.diverged_at:g}"
    [before] = values(look(experiment, trace, trace.frontier - 1))
    assert before.state == ("learning" if trace.frontier else "waiting")
    assert looked_at(look(experiment, trace, trace.frontier), "GD") is None


def test_a_learner_with_diverged_replicas_shows_their_count_and_is_not_best() -> None:
    learner = 'learners=[{name="GD", architecture={kind="linear"}, update={kind="gd", lr=0.1}}]'
    many = ["problem.matrix.kind=gaussian", "problem.matrix.d=32", "run.replicas=20", "run.seed=1"]
    experiment = presets.load("hadamard-128", small(learner, *many))
    trace = run(experiment)
    [gd] = trace.curves
    assert 0 < gd.diverged < 20
    first = gd.diverged_at
    assert first is not None
    [before], [after] = (values(look(experiment, trace, place)) for place in (first - 1, 32))
    assert row(before, 5)["state"] == "learning"
    assert row(after, 5)["state"] == f"diverged at {first:g}: {gd.diverged}/20"
    assert row(after, 5)["value"]
    assert looked_at(look(experiment, trace, first - 1), "GD") is not None
    assert looked_at(look(experiment, trace, first), "GD") is None


def checked_status(app: HadamardApp, width: int) -> str:
    """Status at a width, after checks that nothing is cut or missing."""
    laboratory = app.laboratory
    line = progress_text(Situation(laboratory.session, laboratory.editable, Pace(), 20.0), width).plain
    assert cell_len(line) <= width, line
    assert width < 60 or re.search(r"cpu|auto|cuda", line), line
    is_run = app.laboratory.session is not None
    is_over = app.laboratory.session is not None and app.laboratory.session.over
    assert width < 120 or not is_run or is_over or re.search(r"[\d.]+[kM]? steps/s +20 fps", line), line
    assert not is_over or not re.search(r"steps/s|fps", line), line
    return line


def at_every_width(app: HadamardApp) -> list[str]:
    return [checked_status(app, width) for width in WIDTHS]


async def test_the_status_fits_every_width_before_and_after_a_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        for line in at_every_width(app):
            assert line.startswith("○ ready")
        await finished(app, pilot)
        for line in at_every_width(app):
            assert line.startswith("● finished")
            assert "16/16" in line


async def test_the_error_of_an_invalid_set_up_fits_80_columns(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        app.laboratory.editable.put("problem.matrix.d", 7)
        app.laboratory.show_set_up()
        assert "cannot run" in checked_status(app, 80)
        status = app.laboratory.query_one(Status)
        await until(pilot, lambda: "fix d of the matrix: 7 is not an order" in str(status.render()))
        await until(pilot, lambda: "cannot run: problem.matrix.d: 7 is not an order" in screen_text(app))


@pytest.mark.slow
async def test_a_long_device_and_a_pending_restart_do_not_displace_the_status(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        session = session_of(app)
        assert session.trace is not None
        session.trace.environment["device"] = "cuda:1 (NVIDIA H200)"
        session.playback.pace = Pace(0.001)
        await pilot.press("home", "right", "space")
        app.laboratory.editable.put("run.seed", 7)
        for line in at_every_width(app):
            assert line.startswith("▶ replaying")


async def test_a_status_without_a_clock_shows_neither_clock_nor_pace() -> None:
    document = presets.document(
        "criticality", ["run.replicas=2", "axes[0].values=[2]", "run.device=cpu", "claims=[]"]
    )
    app = HadamardApp(EditableExperiment(document, None))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session and session_of(app).state == "finished")
        for width in WIDTHS:
            told = progress_text(
                Situation(session_of(app), app.laboratory.editable, Pace(), 20.0), width
            ).plain
            assert "finished" in told
            assert not re.search(r"0/0|/s\b", told), told


def test_a_loss_negative_by_rounding_is_shown_as_0() -> None:
    line: Any = SimpleNamespace(direction="lower", kind="ri-signed")
    reading = ShownValue("A", "GD", "", "GD", "done", -1e-17, line, 1.0, rounding=1e-11)
    assert (row(reading, 5)["value"], row(reading, 5)["ratio"]) == ("0.00000", "0.000")


GIB = 1 << 30
BUSY = MachineSample(0.87, 3 * GIB, 16 * GIB, (GpuSample(0.64, 4 * GIB, 80 * GIB),))


@pytest.mark.parametrize(("size", "is_followed"), [(WIDE, False), (SMALL, False), (SMALL, True)])
async def test_the_machine_line_takes_one_row_and_ends_with_the_run(
    app: HadamardApp, size: tuple[int, int], is_followed: bool
):
    async with opened(app, size) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: app.laboratory.session and session_of(app).state == "paused")
        session, line = session_of(app), app.laboratory.query_one(MachineLine)
        assert not line.display
        session.is_followed = is_followed
        app.laboratory._post_event(session, Sampled(BUSY))
        if size == WIDE or is_followed:
            await until(
                pilot, lambda: "machine: processor 87 % · memory 3 of 16 GiB · GPU 64 %" in screen_text(app)
            )
            assert line.size.height == 1
        app.laboratory._post_event(session, Sampled(replace(BUSY, load=0.5)))
        await until(pilot, lambda: session.machine is not None and session.machine.load == 0.5)
        assert ("machine:" in screen_text(app)) == (size == WIDE or is_followed)
        session.is_followed = False
        await pilot.press("f", "space")
        await until(pilot, lambda: session.state == "finished")
        await until(pilot, lambda: "machine:" not in screen_text(app))
