"""Stored curves: shown, faint, before and during a run of a preset as shipped, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from textual.pilot import Pilot

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.drawing.raster import paint_series
from hadamard_tui.charts.plots.look import STORED
from hadamard_tui.charts.series import Series
from hadamard_tui.colours import palette
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels import story
from hadamard_tui.running import stored
from hadamard_tui.tours import Stop, Tour
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.screen_lines import Caption
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.stage import Stage
from hadamard_tui.widgets.tabs import PictureRow

from .conftest import SMALL, opened, until
from .test_runs import screen_text

pytestmark = pytest.mark.set_up("empty")

PRESET = "hadamard-128"


def chart_of(app: HadamardApp) -> ChartView:
    return app.laboratory.query_one("#loss", ChartView)


def curves_of(app: HadamardApp) -> list[Series]:
    """The series of the chart that have points."""
    return [series for series in chart_of(app).shown[0] if len(series.x)]


async def undo(app: HadamardApp, pilot: Pilot[None]) -> None:
    await pilot.press("u")
    await until(pilot, lambda: not app.laboratory.editable.changed)


@pytest.mark.parametrize("change", ["run.seed", "problem.matrix.d"])
def test_only_the_unchanged_preset_has_stored_curves(change: str):
    editable = EditableExperiment.of(PRESET)
    assert stored.stored_of(editable) is not None
    editable.put(change, 2 * editable.value(change) + 64)
    assert stored.stored_of(editable) is None
    assert stored.stored_of(EditableExperiment(editable.document, None)) is None


def test_a_preset_with_an_inactive_learner_has_no_stored_curves():
    editable = EditableExperiment.of(PRESET)
    editable.switch_learner(1)
    assert stored.stored_of(editable) is None


def test_outdated_stored_curves_are_not_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stored, "digest", lambda document: "another")
    assert stored.stored_of(EditableExperiment.of(PRESET)) is None


def test_a_stored_picture_is_drawn_in_the_colours_of_the_theme():
    pictures = stored.read(PRESET)
    assert pictures is not None
    assert pictures.first is not None
    curves = [series for series in pictures.first.series if series.mark]
    assert [curve.name for curve in curves] == [learner.name for learner in presets.load(PRESET).learners]
    for curve in curves:
        assert curve.drawn(faint=True).colour in palette.current().of_learners
    assert (
        paint_series(pictures.first.plot("", faint=False).series, pictures.first.axes, 60, 20).colours >= 0
    ).any()


async def test_stored_curves_appear_faint_and_marked_until_the_set_up_changes():
    app = HadamardApp(EditableExperiment.of(PRESET))
    async with opened(app, SMALL) as pilot:
        await until(pilot, lambda: curves_of(app))
        assert all(series.faint for series in curves_of(app))
        assert STORED in chart_of(app)._note
        app.laboratory.query_one(SetupPane).change("run.seed", 1)
        await until(pilot, lambda: not curves_of(app))
        await undo(app, pilot)
        await until(pilot, lambda: curves_of(app))


@pytest.mark.slow
async def test_a_run_is_drawn_over_its_stored_curves_until_it_ends():
    app = HadamardApp(EditableExperiment.of(PRESET))
    async with opened(app, SMALL) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: app.laboratory.look is not None)
        look, session = app.laboratory.look, app.laboratory.session
        assert look is not None
        assert session is not None
        assert [series.name for series in look.stored if series.name] == [STORED]
        assert {STORED} < {series.name for series in chart_of(app).shown[0]}
        assert all(series.faint for series in look.stored if len(series.x))
        assert app.laboratory.look is look  # so that nothing is drawn again
        assert STORED not in {series.name for series in app._shown_state().series}
        app.laboratory._pace.unlimited = True
        await pilot.press("space")
        await until(pilot, lambda: session.over)
        await until(pilot, lambda: STORED not in {series.name for series in chart_of(app).shown[0]})


@pytest.mark.slow
async def test_the_stored_law_of_a_sweep_can_be_chosen_like_a_picture():
    app = HadamardApp(EditableExperiment.of(PRESET))
    async with opened(app, (120, 40)) as pilot:
        row, caption = app.laboratory.query_one(PictureRow), app.laboratory.query_one(Caption)
        await until(pilot, lambda: len(row.names) == 2)
        assert row.names[1].endswith(f"against d, {STORED}")
        await pilot.press("i")
        await until(pilot, lambda: "∝ log d" in str(caption.content))
        assert not any(series.faint for series in curves_of(app))
        assert STORED in chart_of(app)._note
        app.laboratory.query_one(SetupPane).change("run.seed", 1)
        await until(pilot, lambda: len(row.names) == 1)
        await undo(app, pilot)
        await until(pilot, lambda: len(row.names) == 2)
        assert row.chosen == 0


def test_the_stored_law_agrees_with_theory():
    pictures = stored.read(PRESET)
    assert pictures is not None
    assert pictures.law is not None
    curves = {series.name: series for series in pictures.law.series}
    assert curves["GD"].x == (32, 512)  # a straight line between
    np.testing.assert_allclose(np.array(curves["GD"].y, float), [29, 461], atol=1)  # the first k > 0.9 d
    for learner_name in ("EGU", "EGU±", "spindly"):
        y = np.array(curves[learner_name].y, float)
        assert y[-1] - y[0] < 4 * np.log2(512 / 32)


async def test_a_story_is_shown_before_a_run():
    app = HadamardApp(EditableExperiment.of(PRESET))
    async with opened(app, SMALL) as pilot:
        app.laboratory.query_one(Stage).choose(story.PANEL.name)
        app.laboratory._update_panel()
        await until(pilot, lambda: "Watch two groups of learners" in screen_text(app))


@pytest.mark.slow
async def test_a_preset_opened_after_a_run_shows_its_own_stored_curves():
    app = HadamardApp(EditableExperiment.of(PRESET))
    async with opened(app, SMALL) as pilot:
        app.laboratory._pace.unlimited = True
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        await app.choose_preset("gaussian-128")
        await until(pilot, lambda: curves_of(app) and all(series.faint for series in curves_of(app)))
        assert app.laboratory.session is None
        assert len(app.laboratory.runs.finished) == 1


async def test_a_guess_replaces_the_stored_curves_until_it_is_cancelled():
    app = HadamardApp(EditableExperiment.of(PRESET))
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: len(curves_of(app)) > 4)
        await pilot.press("g")
        await until(pilot, lambda: "A (GD) stays below 0.1" in screen_text(app))
        app.laboratory.wake()
        await pilot.pause(0.3)
        assert [series.name for series in curves_of(app)] == ["loss 0.1"], "no frame draws the curves again"
        await pilot.press("escape")
        await until(pilot, lambda: len(curves_of(app)) > 4)


async def test_a_stop_with_a_question_hides_stored_curves_before_its_run():
    tour = Tour((Stop(PRESET, None, "Rows are orthogonal.", (), "When is A below a tenth?"),))
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "When is A below a tenth?" in screen_text(app))
        app.laboratory.wake()
        await pilot.pause(0.3)
        assert curves_of(app) == []
        assert app.laboratory.stored_beside(None) is None
        await pilot.press("f", "r")
        await until(pilot, lambda: "Rows are orthogonal." in screen_text(app))
        assert app.laboratory.stored_beside(app.laboratory.session) is not None
