"""Pictures on the stage: what an experiment draws of its results, along its axes."""

from __future__ import annotations

import pytest
from textual.widgets import ContentSwitcher

from engine.results.views import view
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.state.state_file import View
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.heat_map_view import HeatMapView
from hadamard_tui.widgets.picture_row import PictureRow
from hadamard_tui.widgets.stage import Stage

from .conftest import WIDE, opened, until
from .test_runs import screen_text

SIZES = {"name": "size", "values": [4, 8, 16]}
CURVES = {"title": "Examples", "x": "size", "measure": "loss", "read": {"first_below": 0.3}}
HEAT = {"title": "Both", "x": "size", "y": "rate", "measure": "loss", "at": {"k": 2}}


def editable(*pictures: object, **more: object) -> EditableExperiment:
    described = {
        "axes": [SIZES],
        "problem": {"matrix": {"kind": "hadamard", "d": "size"}, "target": "feature"},
        "protocol": "one-pass",
        "learners": [
            {"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "1/(2d)"}},
            {"name": "LLS", "solver": "lls", "where": "size >= 8"},
        ],
        "run": {"device": "cpu"},
        "pictures": pictures or [CURVES],
        **more,
    }
    return EditableExperiment(described, None)


def app_of(described: EditableExperiment) -> HadamardApp:
    return HadamardApp(described, view=View(setup_hidden=True, unlimited=True))


def chart(app: HadamardApp) -> ChartView:
    return app.laboratory.query_one("#loss", ChartView)


async def test_the_picture_of_an_experiment_is_shown_and_grows_with_its_points() -> None:
    app = app_of(editable())
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        session = app.laboratory.session
        assert session is not None
        assert session.results is not None
        assert session.results.complete
        await until(pilot, lambda: len(chart(app).shown[0][0].x) == 3)
        expected = view(session.plan.experiment.pictures[0], session.results)
        gd, lls = chart(app).shown[0][:2]
        assert (gd.name, lls.name) == ("GD", "LLS")
        assert gd.x.tolist() == [4, 8, 16]
        assert lls.x.tolist() == [8, 16]
        assert gd.y.tolist() == expected.curve("GD").y.tolist()
        text = screen_text(app)
        assert "the run Examples" in text
        assert "size = 16 (3 of 3)" in text
        assert "set-up changed" not in text


async def test_a_key_goes_from_picture_to_picture_and_back_to_the_run() -> None:
    app = app_of(editable(CURVES, {**CURVES, "title": "Another"}))
    async with opened(app, WIDE) as pilot:
        row, stage = app.laboratory.query_one(PictureRow), app.laboratory.query_one(Stage)
        assert row.names == ("the run", "Examples", "Another")
        assert stage.picture == 1
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        for number, title in ((2, "Another"), (0, "Average loss over all rows"), (1, "Examples")):
            await pilot.press("g")
            await until(pilot, lambda title=title: title in screen_text(app))
            assert stage.picture == number
        await pilot.click(row, offset=(2, 0))
        await until(pilot, lambda: stage.picture == 0)


async def test_a_click_on_a_picture_with_another_x_does_not_move_the_playhead() -> None:
    app = app_of(editable())
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        session = app.laboratory.session
        assert session is not None
        await pilot.click(chart(app), offset=(30, 8))
        await pilot.pause()
        assert not session.playback.looking_back
        await pilot.press("g", "g")
        await until(pilot, lambda: app.laboratory.query_one(Stage).picture == 1)


async def test_two_axes_make_a_heat_map_of_the_learner_selected() -> None:
    rates = {"name": "rate", "from": 0.01, "to": 0.1, "points": 3}
    learners = [{"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "rate"}}]
    app = app_of(editable(HEAT, axes=[SIZES, rates], learners=learners))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        heat = app.laboratory.query_one(HeatMapView)
        switcher = app.laboratory.query_one("#picture", ContentSwitcher)
        await until(pilot, lambda: switcher.current == "heat")
        await until(pilot, lambda: "Both" in screen_text(app))
        heat.action_move(0, 0)
        assert heat.reading is not None
        session = app.laboratory.session
        assert session is not None
        assert session.results is not None
        (found,) = view(session.plan.experiment.pictures[0], session.results).heats
        assert found.z.shape == (3, 3)
        assert found.z[1, 1] == pytest.approx(heat.reading.z)


async def test_a_picture_that_results_do_not_have_says_why_in_the_chart() -> None:
    app = app_of(editable({"title": "Wrong", "x": "k", "measure": "loss"}))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: "size varies along a curve" in screen_text(app))


async def test_without_pictures_there_is_no_row_of_them() -> None:
    app = app_of(EditableExperiment.of("hadamard-128"))
    async with opened(app, WIDE):
        assert not app.laboratory.query_one(PictureRow).display
