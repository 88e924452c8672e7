"""Looking back: the playhead over the records, by keys and mouse, and replaying from it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import Pace, Playback
from hadamard_tui.running.session import Session
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.selection_bar import Situation, progress_text

from .conftest import WIDE, opened, until
from .test_runs import screen_text, session_of, status_of

pytestmark = pytest.mark.set_up("empty")


async def finished(app: HadamardApp, pilot: Pilot[None]) -> None:
    """Run the set-up to its end."""
    await pilot.press("r")
    app.laboratory._pace.unlimited = True
    await until(pilot, lambda: session_of(app).state == "finished")
    await pilot.pause(0.1)


def cells(app: HadamardApp, row: int = 0) -> dict[str, str]:
    """Cells of a row of the table, by column head. The head of the names may say where the numbers are."""
    scoreboard = app.laboratory.query_one(Scoreboard)
    heads = ["learner" if head.startswith("at ") else head for head in scoreboard.heads]
    return dict(zip(heads, map(str, scoreboard.get_row_at(row)), strict=True))


@pytest.mark.slow
async def test_keys_move_the_playhead_and_all_panels_show_values_at_it(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        assert "┊" not in screen_text(app)
        for keys, place in (
            (["left"], 15),
            (["left", "left"], 13),
            (["right"], 14),
            (["shift+left"], 13),
            (["ctrl+left"], 12),
            (["shift+right", "ctrl+right"], 14),
            (["home"], 0),
            (["left"], 0),
            (["right", "right", "right", "right"], 4),
        ):
            await pilot.press(*keys)
            assert session_of(app).playback.place == place, keys
        assert session_of(app).playback.shown == 16
        await until(pilot, lambda: cells(app)["loss"] == "0.75000")
        assert cells(app)["bound"] == "0.75000"
        assert f"k {4}/16" in status_of(app)
        assert screen_text(app).count("┊") > 8
        await pilot.press("4")
        await until(pilot, lambda: "at 4" in screen_text(app) and "loss − " in screen_text(app))
        await pilot.press("end")
        await until(pilot, lambda: "┊" not in screen_text(app))
        assert session_of(app).playback.place == 16


async def test_curves_beyond_the_playhead_are_faint_and_their_letters_stand_at_it(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("home", "right", "right")
        chart = app.laboratory.query_one("#loss", ChartView)
        await until(pilot, lambda: chart._playhead == 2)
        gd = [series for series in chart.shown[0] if series.mark == "A"]
        assert [len(series.x) for series in gd] == [3]
        ahead = [series for series in chart.shown[0] if series.faint and series.colour == gd[0].colour]
        assert [(series.x[0], series.x[-1]) for series in ahead] == [(2, 16)]


@pytest.mark.slow
async def test_a_run_continues_while_the_user_looks_back(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 3)
        await pilot.press("left")
        place, shown = session_of(app).playback.place, session_of(app).playback.shown
        await until(pilot, lambda: session_of(app).playback.shown > shown + 1)
        assert session_of(app).playback.place == place
        assert "running" in status_of(app)
        await pilot.press("end")
        assert session_of(app).playback.place == session_of(app).playback.shown


@pytest.mark.slow
async def test_space_replays_from_the_playhead_and_pauses_the_replay(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        app.laboratory._pace.unlimited = False
        await pilot.press("space")
        await until(pilot, lambda: 1 <= session_of(app).playback.place < 16)
        await until(pilot, lambda: "replaying" in status_of(app))
        await pilot.press("space")
        place = session_of(app).playback.place
        await pilot.pause(0.4)
        assert session_of(app).playback.place == place
        assert "finished" in status_of(app)
        for _ in range(8):
            await pilot.press("plus")
        await pilot.press("space")
        await until(pilot, lambda: session_of(app).playback.place == 16)
        assert session_of(app).state == "finished"


async def test_outcomes_of_claims_are_hidden_until_the_shown_run_ends(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).outcomes is not None)
        assert not session_of(app).over
        assert app.laboratory.context is not None
        assert app.laboratory.context.predictions.outcomes is None
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).over)
        assert app.laboratory.context.predictions.outcomes == session_of(app).outcomes


@pytest.mark.slow
async def test_a_paused_run_replayed_from_earlier_continues_to_its_end(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).trace is not None and session_of(app).playback.shown >= 6)
        await pilot.press("space")
        held = session_of(app).playback.shown
        assert held < 16
        await pilot.press("left", "left", "left")
        assert session_of(app).playback.place == held - 3
        assert session_of(app).state == "paused"
        await pilot.press("space")
        await until(pilot, lambda: session_of(app).state == "finished")


async def test_a_step_while_looking_back_moves_the_playhead(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("home", "n")
        assert session_of(app).playback.place == 1


@pytest.mark.slow
async def test_the_playhead_moves_in_a_stopped_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 3)
        await pilot.press("h")
        await until(pilot, lambda: cells(app)["state"] == "stopped")
        await pilot.press("home")
        assert session_of(app).playback.place == 0
        await pilot.pause(0.2)  # some frames
        assert cells(app)["state"] == session_of(app).state == "stopped"
        await pilot.press("space")
        await until(pilot, lambda: session_of(app).playback.place >= 2)
        assert session_of(app).playback.shown < 16


@pytest.mark.drawn
@pytest.mark.slow
async def test_the_mouse_sets_and_drags_the_playhead(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        chart = app.laboratory.query_one("#loss", ChartView)
        area = chart._area
        middle, quarter = area.start + len(area) // 2, area.start + len(area) // 4
        await pilot.mouse_down(chart, offset=(middle, 5))
        await until(pilot, lambda: session_of(app).playback.place == 8)
        await pilot.hover(chart, offset=(quarter, 5))
        await until(pilot, lambda: session_of(app).playback.place == 4)
        await pilot.mouse_up(chart, offset=(quarter, 5))
        await pilot.hover(chart, offset=(middle, 5))
        await pilot.pause(0.1)
        assert session_of(app).playback.place == 4
        await pilot.mouse_down(chart, offset=(area.stop, 5))
        await until(pilot, lambda: session_of(app).playback.place == 16)
        await pilot.mouse_up(chart, offset=(area.stop, 5))


async def test_moving_the_playhead_before_a_run_has_no_effect(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("left", "shift+right", "home", "end")
        assert app.laboratory.session is None


@pytest.mark.parametrize("record", [-3, 0, 4, 9, 20])
def test_a_playhead_stays_within_the_shown_points(record: int):
    playback = Playback(16, Pace(unlimited=True))
    playback.tick(1.0, 9)
    playback.seek(record)
    assert playback.place == min(max(record, 0), 9)
    assert playback.looking_back == (record < 9)


PROTOCOLS = {
    "steps": ({"kind": "steps", "steps": 1000, "records": 4, "grid": "log"}, "step", [0, 1, 10, 100, 1000]),
    "epochs": ({"kind": "epochs", "epochs": 3}, "epoch", [0, 1, 2, 3]),
    "erm": ({"kind": "erm", "every": 2, "steps": 1}, "k", [0, 2, 4]),
    "to-consistency": ({"kind": "to-consistency", "passes": 2}, "k", [0, 1, 2, 3, 4]),
    "at-init": ({"kind": "at-init"}, "step", [0]),
}


def held(protocol: dict[str, object]) -> tuple[Session, EditableExperiment]:
    """A paused run of four examples at its first record."""
    settings = ["problem.matrix.d=4", "run.device=cpu", "claims=[]", "learners.GD.update.lr=0.01"]
    document = presets.document("hadamard-128", settings)
    editable = EditableExperiment({**document, "protocol": protocol}, None)
    session = Session(
        editable.sweep(), editable.document, lambda receiver, event: receiver.receive(event), 1, Pace()
    )
    session.start(paused=True)
    wait(lambda: session.trace is not None and session.trace.frontier == 0)
    return session, editable


def wait(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_the_playhead_moves_by_evaluation_points_in_every_protocol(kind: str):
    protocol, clock, xs = PROTOCOLS[kind]
    session, editable = held(protocol)
    for record, x in enumerate(xs):
        if record > 0:
            session.step()
            wait(lambda: session.tick(0.0) or session.playback.shown == record)  # type: ignore[func-returns-value] # noqa: B023
        assert (session.playback.place, session.point.x_at(session.playback.place)) == (record, x)
        told = progress_text(Situation(session, editable, Pace(), 20.0), 200).plain
        assert (f"  {clock} {x}/{xs[-1]}  " in told) == (len(xs) > 1), "a single record has no clock to tell"
    for record in reversed(range(len(xs) - 1)):
        session.playback.move(-1)
        assert session.playback.place == record
    session.playback.seek(len(xs))
    assert not session.playback.looking_back
    assert session.end(10)


def test_the_nearest_evaluation_point_on_a_log_axis_is_nearest_by_factor():
    session, _ = held(PROTOCOLS["steps"][0])
    session.playback.pace.unlimited = True
    session.toggle()
    wait(lambda: session.tick(1.0) or session.playback.shown == 4)  # type: ignore[func-returns-value]
    session.playback.seek(session.point.record_at(40.0))
    assert session.playback.place == 2
    session.playback.seek(session.point.record_at(40.0, log=True))
    assert session.playback.place == 3
    assert session.end(10)


@pytest.mark.slow
async def test_the_playhead_stops_only_at_evaluation_points(app: HadamardApp):
    editable = app.laboratory._editable
    async with opened(app, WIDE) as pilot:
        editable.put("protocol.kind", "erm")
        editable.put("protocol", {"kind": "erm", "every": 5, "steps": 2})
        assert editable.error is None
        await finished(app, pilot)
        for place in (3, 2, 1, 0):
            await pilot.press("left")
            assert session_of(app).playback.place == place
        session_of(app).playback.seek(session_of(app).point.record_at(11.0))
        assert session_of(app).playback.place == 2


@pytest.mark.slow
async def test_the_playhead_moves_while_the_table_has_the_focus(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        app.laboratory.query_one(Scoreboard).focus()
        await pilot.press("down", "left")
        assert app.laboratory.query_one(Scoreboard).cursor_row == 1
        assert session_of(app).playback.place == 15
        await pilot.press("home")
        assert session_of(app).playback.place == 0
