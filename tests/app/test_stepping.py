"""Keys step numbers of the set-up; a new run starts at once, and the previous one stays as a faint curve."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.editing.typed_text import steps_of_number
from hadamard_tui.screens.view_control import RUN_BEFORE
from hadamard_tui.terminal.terminal_io import FrameRate
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.controls import NumberEntry
from hadamard_tui.widgets.form import FieldRow
from hadamard_tui.widgets.setup import SetupPane

from .conftest import WIDE, opened, until
from .test_runs import session_of


@pytest.mark.parametrize(
    ("value", "is_whole", "up", "first"),
    [
        (128, True, True, 160),
        (128, True, False, 125),
        (160, True, False, 128),
        (1, True, True, 2),
        (1, True, False, 0),
        (0, True, True, 1),
        (9, True, True, 10),
        (100, True, False, 80),
        (0.15, False, True, 0.16),
        (0.15, False, False, 0.125),
        (1.0, False, True, 1.25),
        (0.0, False, True, 0.01),
        (-2.0, False, True, -1.6),
        (1e-6, False, True, 1.25e-6),
        ("1/(2d)", False, True, "1.25/(2d)"),
        ("1.25/(2d)", False, False, "1/(2d)"),
        ("2d", False, True, "2.5d"),
        ("2*d", False, False, "1.6*d"),
        ("eta", False, True, "1.25*eta"),
        ("1.25*eta", False, False, "eta"),
        ("d-1", False, True, "1.25*(d-1)"),
        ("1e-3*d", False, True, "0.00125*d"),
    ],
)
def test_the_first_step_has_the_expected_value_and_keeps_expressions(value, is_whole, up, first):
    assert steps_of_number(value, is_whole, up)[0] == first


@pytest.mark.parametrize("value", [None, True, "", [0.1, 0.2], float("nan")])
def test_non_numeric_text_has_no_next_number(value):
    assert steps_of_number(value, False, True) == []


@pytest.mark.parametrize("is_whole", [True, False])
def test_stepping_up_and_down_returns_to_the_same_numbers(is_whole: bool):
    value: float = 3
    up = [value]
    for _ in range(40):
        value = steps_of_number(value, is_whole, True)[0]
        up.append(value)
    down = [value]
    for _ in range(40):
        value = steps_of_number(value, is_whole, False)[0]
        down.append(value)
    assert down[::-1][1:] == up[1:]


def field(app: HadamardApp, place: str) -> NumberEntry:
    """Input field of the number at a place."""
    row = next(row for row in app.laboratory.query(FieldRow) if row.place == place)
    return row.query_one(NumberEntry)


async def curves(app: HadamardApp, pilot: Pilot[None]) -> None:
    """Wait until the current run is shown to its end."""
    await until(pilot, lambda: app.laboratory.session and session_of(app).state == "finished")


@pytest.mark.slow
async def test_a_step_runs_at_once_and_the_previous_run_stays_faint(editable: EditableExperiment):
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        d = field(app, "problem.matrix.d")
        d.focus()
        await pilot.press("minus")
        await until(pilot, lambda: app.laboratory.session is not None)
        assert (d.value, app.laboratory.editable.value("problem.matrix.d")) == ("12", 12)
        await curves(app, pilot)
        first = session_of(app)
        assert first.trace is not None
        assert first.trace.last == 12
        chart = app.laboratory.query_one("#loss", ChartView)
        await pilot.press("plus")
        await until(pilot, lambda: session_of(app) is not first)
        await curves(app, pilot)
        assert d.value == "16"
        await until(pilot, lambda: chart.shown[1] is not None and chart.shown[1].x_limits == (0, 16))
        shown = chart.shown[0]
        assert [series.name for series in shown].count(f"{RUN_BEFORE}, d = 12") == 1
        ghost = next(series for series in shown if series.faint and len(series.x) == 13)
        assert (ghost.y == first.trace.curves[0].mean("loss")).all()
        app.set_focus(None)
        await pilot.press("u")
        await until(pilot, lambda: app.laboratory.editable.value("problem.matrix.d") == 16)
        await pilot.press("r")
        await until(pilot, lambda: session_of(app) is not first and app.laboratory.ghost is None)


@pytest.mark.slow
async def test_a_pinned_previous_run_is_drawn_once(editable: EditableExperiment):
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await pilot.press("r", "f")
        await until(pilot, lambda: app.laboratory.session is not None)
        await curves(app, pilot)
        await pilot.press("c")
        first = session_of(app)
        field(app, "problem.matrix.d").focus()
        await pilot.press("minus")
        await until(pilot, lambda: session_of(app) is not first)
        await curves(app, pilot)
        chart = app.laboratory.query_one("#loss", ChartView)
        await until(pilot, lambda: any(series.mark == "a" for series in chart.shown[0]))
        assert not any(series.name.startswith(RUN_BEFORE) for series in chart.shown[0])
        app.set_focus(None)
        await pilot.press("X")
        await until(
            pilot,
            lambda: (
                chart.shown[1] is not None
                and chart.shown[1].y_label.endswith("minus its value in the run “d = 16”")
            ),
        )
        assert chart.shown[1] is not None
        assert "minus" not in chart.shown[1].title


@pytest.mark.slow
async def test_plus_types_text_during_typing_and_steps_again_after_enter(editable: EditableExperiment):
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        app.laboratory.query_one(SetupPane).pick(2)
        await until(
            pilot, lambda: any(row.place == "learners[2].update.lr" for row in app.laboratory.query(FieldRow))
        )
        rate = field(app, "learners[2].update.lr")
        rate.focus()
        await pilot.press("end", *"e-2")
        assert rate.value == "0.15e-2"
        assert app.laboratory.session is None, "typing starts no run"
        await pilot.press("home", "minus")
        assert rate.value == "-0.15e-2"
        rate.value = "0.15"
        await pilot.press("enter", "plus")
        await until(pilot, lambda: rate.value == "0.16")
        await pilot.press("ctrl+down")
        await until(pilot, lambda: rate.value == "0.125")


@pytest.mark.slow
async def test_text_typed_after_steps_is_a_separate_change(editable: EditableExperiment):
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        field(app, "problem.matrix.d").focus()
        await pilot.press("minus", "minus")
        await until(pilot, lambda: app.laboratory.editable.value("problem.matrix.d") == 8)
        await pilot.press("end", "backspace", "2", "0")
        await until(pilot, lambda: app.laboratory.editable.value("problem.matrix.d") == 20)
        app.set_focus(None)
        for value in (8, 16):
            await pilot.press("u")
            await until(pilot, lambda value=value: app.laboratory.editable.value("problem.matrix.d") == value)


@pytest.mark.slow
async def test_a_step_without_a_valid_number_keeps_the_value_and_shows_the_reason(
    editable: EditableExperiment,
):
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        seed = field(app, "run.seed")
        seed.focus()
        await pilot.press("down")
        await until(
            pilot, lambda: any("No smaller number fits here" in note.message for note in app._notifications)
        )
        assert (seed.value, app.laboratory.editable.error) == ("0", None)
        assert app.laboratory.session is None


@pytest.mark.slow
async def test_a_step_causes_no_new_layout_and_its_run_ends_promptly(
    editable: EditableExperiment, monkeypatch: pytest.MonkeyPatch
):
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        field(app, "problem.matrix.d").focus()
        await pilot.press("minus")
        await until(pilot, lambda: app.laboratory.session is not None)
        await curves(app, pilot)
        await pilot.pause()
        laid_out: list[object] = []
        lay_out = Screen._refresh_layout
        with monkeypatch.context() as patch:
            patch.setattr(
                Screen,
                "_refresh_layout",
                lambda *these, **more: (laid_out.append(these), lay_out(*these, **more)),
            )
            patch.setattr(app.laboratory, "_rate", FrameRate(0.01))
            first = session_of(app)
            await pilot.press("plus")
            await until(pilot, lambda: session_of(app) is not first)
            await until(pilot, lambda: session_of(app).state == "finished", 10)
            chart = app.laboratory.query_one("#loss", ChartView)
            await until(pilot, lambda: chart.shown[1] is not None and chart.shown[1].x_limits == (0, 16), 10)
        assert laid_out == []
