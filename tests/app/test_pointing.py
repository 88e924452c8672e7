"""A click on a chart goes to the record at that x of its own axis."""

from __future__ import annotations

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot

from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.plots.series_builder import Plot
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels import PANELS
from hadamard_tui.widgets.chart_view import ChartView, MultiplesView
from hadamard_tui.widgets.stage import Stage

from .conftest import WIDE, opened, until
from .test_panels import context_of
from .test_runs import session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")

PICTURE = {"x": "k/n", "measure": "loss", "name": "share"}


async def click(pilot: Pilot[None], chart: ChartView, x: float) -> None:
    """Click on a chart at `x`."""
    axes = chart.shown[1]
    assert axes is not None
    low, high = axes.x_limits
    column = chart._area.start + round((x - low) / (high - low) * (len(chart._area) - 1))
    await pilot.click(chart, offset=Offset(column, chart.size.height // 3))
    await pilot.pause(0.05)


def test_charts_of_panels_use_the_clock_of_the_run_as_x():
    context = context_of("all-targets-128", "run.spectrum=true", "run.train_loss=true")
    drawn = 0
    for panel in PANELS:
        if panel.lacks(context.experiment) is None and isinstance(shown := panel.show(context), Plot):
            assert shown.axes.x_label == context.trace.x_label, panel.name
            assert shown.axes.x_limits == (0.0, 16.0), panel.name
            drawn += 1
    assert drawn >= 5


@pytest.mark.drawn
@pytest.mark.slow
async def test_a_click_on_a_picture_moves_to_the_clicked_evaluation_point(small):
    changed = EditableExperiment(small, "hadamard-128")
    changed.put("pictures", [PICTURE])
    app = HadamardApp(changed)
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        stage, session = app.laboratory.query_one(Stage), session_of(app)
        stage.choose_picture(1)
        chart = app.laboratory.query_one("#loss", ChartView)
        await until(pilot, lambda: chart.shown[1] is not None and chart.shown[1].x_limits[1] <= 1.1)
        await click(pilot, chart, 0.5)
        assert session.playback.place == 8
        await pilot.press("M")
        grid = app.laboratory.query_one(MultiplesView)
        await until(
            pilot, lambda: len(grid.charts) >= 2 and all(small_chart.shown[1] for small_chart in grid.charts)
        )
        await until(pilot, lambda: len(grid.charts[1]._area) > 10)
        assert {small_chart.shown[1].y_limits for small_chart in grid.charts if small_chart.shown[1]} == {
            chart.shown[1].y_limits
        }  # type: ignore[union-attr]
        await click(pilot, grid.charts[1], 0.25)
        assert session.playback.place == 4, "a fourth of the examples, not example 0"
        app.laboratory.query_one(Stage).choose("gap")
        panel = app.laboratory.query_one("#panel-chart", ChartView)
        await until(pilot, lambda: panel.is_on_screen and len(panel._area) > 20)
        await click(pilot, panel, 12)
        assert session.playback.place == 12, "the charts of panels go along the run"


@pytest.mark.drawn
@pytest.mark.slow
async def test_a_click_on_a_picture_along_an_axis_does_not_move_the_playhead():
    changes = ["problem.matrix.d=16", "claims=[]", 'axes=[{name="eta", values=[0.05, 0.1, 0.2]}]']
    learner = 'learners=[{name="GD", architecture="linear", update={kind="gd", lr="eta/4"}}]'
    picture = 'pictures=[{x="eta", measure="loss"}]'
    document = presets.document("hadamard-128", [*changes, learner, picture, "run.device='cpu'"])
    app = HadamardApp(EditableExperiment(document, None))
    async with opened(app, WIDE) as pilot:
        await pilot.press("f", "r")
        await until(pilot, lambda: app.laboratory.session and session_of(app).state == "finished")
        app.laboratory.query_one(Stage).choose_picture(1)
        chart, session = app.laboratory.query_one("#loss", ChartView), session_of(app)
        await until(pilot, lambda: chart.shown[1] is not None and chart.shown[1].x_label == "η")
        await until(pilot, lambda: len(chart._area) > 20)
        before = session.playback.place
        await click(pilot, chart, 0.1)
        assert session.playback.place == before
        assert app.laboratory._cursor == 0.1
