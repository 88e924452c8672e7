"""Running, holding, stepping and stopping, as a person does it with the keys."""

from __future__ import annotations

import re
import threading
import time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from textual.widgets import Button, Input, Static, TextArea

from engine.runtime import run as engine_run
from engine.runtime import worker as engine_worker
from engine.runtime.run import Diverged
from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import WHOLE_RUN_SECONDS
from hadamard_tui.running.session import Session
from hadamard_tui.screens.laboratory import Laboratory
from hadamard_tui.screens.modal import Failure
from hadamard_tui.screens.run_control import EngineSpoke, divergence_message
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.selection_bar import Progress
from hadamard_tui.widgets.setup import SetupPane

from .conftest import SMALL, WIDE, opened, until
from .test_haste import post

pytestmark = pytest.mark.set_up("empty")


def session_of(app: HadamardApp) -> Session:
    session = app.laboratory.session
    assert session is not None
    return session


def status_of(app: HadamardApp) -> str:
    """Status of a run: its progress, and the place of the numbers in the table."""
    heads = app.laboratory.query_one(Scoreboard).heads
    return f"{app.laboratory.query_one(Progress).render()}  {heads[1] if heads else ''}"


def screen_text(app: HadamardApp) -> str:
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()
    )


@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_a_finished_run_shows_bounds_and_learners(app: HadamardApp, size: tuple[int, int]):
    async with opened(app, size) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).trace is not None)
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.pause(0.1)
        text = screen_text(app)
        for word in ("GD", "least squares", "EGU", "spindly", "1 − k/d", "finished", "16/16"):
            assert word in text, word


async def test_the_engine_runs_ahead_of_the_playback(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).outcomes is not None)
        session = session_of(app)
        assert session.trace is not None
        assert session.trace.frontier == 16
        assert session.playback.shown < 16


@pytest.mark.slow
async def test_pausing_holds_the_screen_until_resuming(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 1)
        await pilot.press("space")
        shown = session_of(app).playback.shown
        await pilot.pause(0.5)
        assert session_of(app).playback.shown == shown
        assert session_of(app).state == "paused"
        await pilot.press("space", "f")
        await until(pilot, lambda: session_of(app).state == "finished")


async def test_a_step_shows_exactly_one_example_more(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).trace.frontier >= 0)
        for expected in (1, 2, 3):
            await pilot.press("n")
            await until(pilot, lambda expected=expected: session_of(app).playback.shown == expected)
        session = session_of(app)
        assert session.trace is not None
        assert session.state == "paused"
        assert {curve.length for curve in session.trace.curves} == {4}


async def test_stopping_keeps_the_curves_and_the_place(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 1)
        await pilot.press("h")
        shown = session_of(app).playback.shown
        await pilot.pause(0.3)
        assert session_of(app).state == "stopped"
        assert session_of(app).playback.shown == shown
        assert "stopped" in status_of(app)


async def test_reset_clears_the_run_and_keeps_the_set_up(app: HadamardApp, editable: EditableExperiment):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 1)
        await pilot.press("R")
        await pilot.pause(0.1)
        assert app.laboratory.session is None
        assert app.laboratory._editable.experiment == editable.experiment
        await until(pilot, lambda: "ready" in status_of(app))


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_changing_a_value_during_a_run_marks_a_pending_restart(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).trace is not None)
        before = session_of(app)
        field = next(
            row for row in app.laboratory.query_one(SetupPane).query("Row") if row.place == "run.seed"
        )
        field.query_one(Input).value = "7"
        await until(pilot, lambda: re.search("(not run yet|new): r ", status_of(app)))
        field.query_one(Input).focus()
        await until(pilot, lambda: re.search("(not run yet|new): esc r ", status_of(app)))
        assert session_of(app) is before
        await pilot.press("escape", "r")
        await until(pilot, lambda: session_of(app) is not before)
        assert session_of(app).experiment.run.seed == 7
        await until(pilot, lambda: "not run yet" not in status_of(app))


@pytest.mark.slow
async def test_an_exception_of_the_engine_is_shown_and_does_not_end_the_app(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise RuntimeError("the engine is on fire")

    async with opened(app, WIDE) as pilot:
        with monkeypatch.context() as patch:
            patch.setattr(engine_run, "prepare", broken)
            await pilot.press("r")
            await until(pilot, lambda: isinstance(app.screen, Failure))
            assert "the engine is on fire" in app.screen.query_one(TextArea).text
            await pilot.press("c")
            assert "the engine is on fire" in app.clipboard
            await pilot.press("escape")
        assert isinstance(app.screen, Laboratory)
        assert "failed" in status_of(app)
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).state == "finished")


@pytest.mark.slow
async def test_a_diverging_learner_stops_alone_and_shows_its_point_of_divergence(
    editable: EditableExperiment,
):
    editable.put("problem.matrix.kind", "gaussian")
    editable.put("learners[0].update.lr", 5.0)
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).trace is not None)
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.pause(0.1)
        trace = session_of(app).trace
        assert trace is not None
        gd, other_curves = trace.curves[0], trace.curves[1:]
        assert gd.diverged_at is not None
        assert gd.length == gd.diverged_at
        assert all(curve.complete for curve in other_curves)
        assert f"diverged at {gd.diverged_at:g} " in screen_text(app)


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_an_unavailable_device_is_reported_at_its_field(editable: EditableExperiment):
    editable.put("run.device", "cuda:93")
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).state == "failed")
        row = next(row for row in app.laboratory.query("Row") if row.place == "run.device")
        await until(pilot, lambda: row.has_class("-wrong"))
        assert "cuda:93 is not available" in str(row.query_one(".problem", Static).render())


async def test_quitting_during_a_run_ends_the_engine(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).trace is not None)
        await pilot.press("q")
    assert app.laboratory.end(1.0)


@pytest.mark.slow
async def test_a_static_screen_is_not_redrawn(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).trace is not None)
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.pause(0.2)
        shown: list[object] = []
        chart = app.laboratory.query_one("#loss", ChartView)
        chart.show = lambda *arguments, **_: shown.append(arguments)  # type: ignore[method-assign]
        await pilot.pause(0.3)
        assert shown == []


async def test_the_table_shows_loss_bound_and_ratio_at_the_shown_point(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).trace.frontier >= 0)
        for _ in range(4):
            await pilot.press("n")
        await until(pilot, lambda: session_of(app).playback.shown == 4)
        await pilot.pause(0.1)
        cells = [str(cell) for cell in app.laboratory.query_one(Scoreboard).get_row_at(0)]
        assert cells[1:5] == ["GD", "0.75000", "0.75000", "1.000"]


async def test_a_step_is_kept_while_the_previous_step_is_not_yet_shown(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).trace.frontier >= 0)
        session = session_of(app)
        session.step()
        while session.trace is not None and session.trace.frontier < 1:
            time.sleep(0.01)  # and not a frame is drawn meanwhile
        session.step()
        await until(pilot, lambda: session.playback.shown == 2)


@pytest.mark.slow
async def test_pending_steps_are_dropped_when_the_run_resumes(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).trace.frontier >= 0)
        session = session_of(app)
        for _ in range(3):
            session.step()
        while session.trace is not None and session.trace.frontier < 1:
            time.sleep(0.01)  # and not a frame is drawn meanwhile
        session.toggle()
        session.toggle()
        await until(pilot, lambda: session.state == "paused")
        await pilot.pause(0.3)
        assert session.playback.shown == 0


async def test_a_run_paused_while_the_engine_loads_stands_at_the_start(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
):
    held = threading.Event()
    monkeypatch.setattr(engine_worker, "load_torch_for", lambda sweep, threads: held.wait(60))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "space")
        held.set()
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).trace.frontier >= 0)
        await until(pilot, lambda: session_of(app).state == "paused")
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).playback.shown == 1)


async def test_the_playback_rate_can_be_chosen_before_a_run_and_persists(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("plus", "plus")
        await until(pilot, lambda: "4 × the usual rate" in status_of(app))
        await pilot.press("r")
        usual = 16 / WHOLE_RUN_SECONDS
        assert session_of(app).playback.rate == pytest.approx(4 * usual)
        await pilot.press("minus", "r")
        assert session_of(app).playback.rate == pytest.approx(2 * usual)


async def test_continuing_a_stopped_run_is_refused_with_a_message(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 1)
        await pilot.press("h", "n")
        await until(pilot, lambda: any("cannot go on" in note.message for note in app._notifications))


@pytest.mark.slow
async def test_engine_time_does_not_count_idle_time(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).trace is not None)
        await pilot.press("n", "n")
        await until(pilot, lambda: session_of(app).playback.shown == 2)
        await pilot.pause(0.1)
        seconds = session_of(app).engine_time.seconds
        await pilot.pause(0.2)
        assert session_of(app).engine_time.seconds == seconds > 0


@pytest.mark.slow
async def test_weights_are_drawn_when_a_small_screen_becomes_large(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).outcomes is not None)
        await pilot.resize_terminal(*WIDE)
        await pilot.press("2")
        await until(pilot, lambda: "Weights of GD" in screen_text(app))
        await pilot.press("3")
        await until(pilot, lambda: "is rotation invariant" in screen_text(app))


@pytest.mark.slow
async def test_an_empty_weights_panel_never_says_that_a_linear_learner_has_no_weights(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "h")
        await pilot.pause(0.3)
        assert "is not linear" not in screen_text(app)


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_removing_a_learner_from_the_set_up_does_not_shift_curves_of_the_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).outcomes is not None)
        app.laboratory.query_one("#remove", Button).press()
        await until(pilot, lambda: app.laboratory.query_one(Scoreboard).cursor_row == 1)
        await pilot.press("2")
        await until(pilot, lambda: "Weights of least squares" in screen_text(app))


@pytest.mark.parametrize("where", [pytest.param("field", marks=pytest.mark.set_up("filled")), "help"])
async def test_ctrl_c_quits_from_a_field_and_from_a_page_on_top(app: HadamardApp, where: str):
    async with opened(app, WIDE) as pilot:
        if where == "field":
            app.laboratory.query(Input).first().focus()
        else:
            await pilot.press("question_mark")
        post(
            app, "ctrl+c"
        )  # a pilot that presses it waits for what still moves, which an end leaves as it is
        await until(pilot, lambda: app._exit)


@pytest.mark.slow
async def test_the_footer_offers_to_leave_only_an_open_drawer(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        assert "Leave" not in screen_text(app)
        await pilot.press("s")
        await until(pilot, lambda: "esc Leave" in screen_text(app) and "? Help" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Leave" not in screen_text(app))


async def test_numbers_too_long_for_their_column_are_shown_in_powers_of_ten(editable: EditableExperiment):
    editable.put("problem.matrix.kind", "gaussian")
    editable.put("learners[0].update.lr", 5.0)
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).state == "finished")
        await pilot.pause(0.1)
        scoreboard = app.laboratory.query_one(Scoreboard)
        cells = dict(zip(scoreboard.shape, map(str, scoreboard.get_row_at(0)), strict=True))
        assert "e+" in cells["value"]
        assert all(len(cells[column]) <= width for column, width in scoreboard.shape.items())


async def test_a_finished_run_shows_numbers_at_half_the_bound_until_the_playhead_moves(
    app: HadamardApp,
):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).trace is not None)
        await pilot.press("f")
        await until(pilot, lambda: "at k = 8" in status_of(app))
        scoreboard = app.laboratory.query_one(Scoreboard)
        assert scoreboard.heads[1] == "at k = 8"
        assert [str(cell) for cell in scoreboard.get_row_at(0)][1:5] == ["GD", "0.50000", "0.50000", "1.000"]
        assert "(0.50000)" in str(scoreboard.get_row_at(2)), "the bound does not bind EGU"
        await pilot.press("end")
        await until(pilot, lambda: scoreboard.heads[1] == "learner")
        assert [str(cell) for cell in scoreboard.get_row_at(0)][1:5] == ["GD", "0.00000", "0.00000", "–"]


async def test_a_failure_to_store_points_is_a_notification(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None)
        full = engine_run.NotKept("No space left on device")
        app.laboratory.post_message(EngineSpoke(session_of(app), full))
        await until(pilot, lambda: any("No space left" in note.message for note in app._notifications))


def test_a_divergence_message_mentions_other_learners_only_if_they_exist():
    together = presets.load("hadamard-128")
    alone = msgspec.structs.replace(together, learners=together.learners[:1])
    event = Diverged("GD", 8.0, 4, 4)
    for experiment, addition in ((together, "; the other learners go on"), (alone, "")):
        session: Any = SimpleNamespace(experiment=experiment, point=SimpleNamespace(label="eta = 0.3"))
        told = f"GD diverged in all 4 replicas, in the last one at k = 8, eta = 0.3{addition}."
        assert divergence_message(event, session) == told
