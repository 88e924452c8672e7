"""Axes, zoom, smoothing and bands stay as chosen after every refresh."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from engine.spec import reading
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.plots.look import NARROWEST, ChartOptions, why_not_log
from hadamard_tui.charts.series import Axes, Limits
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.stage import Stage

from .conftest import WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")

X = np.arange(101.0)


def loss_axes_of(app: HadamardApp) -> Axes:
    axes = app.laboratory.query_one("#loss", ChartView).shown[1]
    assert axes is not None
    return axes


@pytest.mark.slow
async def test_log_axes_toggle_and_persist_in_the_next_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("x", "y")
        await until(pilot, lambda: loss_axes_of(app).x_log and loss_axes_of(app).y_log)
        assert loss_axes_of(app).x_limits == (1.0, 16.0)
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).state == "finished")
        await until(pilot, lambda: loss_axes_of(app).x_log and loss_axes_of(app).y_log)
        await pilot.press("x", "y")
        await until(pilot, lambda: not loss_axes_of(app).x_log and not loss_axes_of(app).y_log)
        assert loss_axes_of(app).x_limits == (0.0, 16.0)


def test_a_window_left_of_a_log_axis_gives_valid_limits():
    for window in ((0.1, 0.2), (-5.0, -3.0)):
        assert ChartOptions(x_log=True, window=window).x_limits(X) == (1.0, 2.0)


@pytest.mark.slow
async def test_an_impossible_log_axis_is_refused_with_the_reason():
    learner = {"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": 0.01}}
    problem = {"matrix": {"kind": "hadamard", "d": 16}, "target": "zero"}
    nothing_to_learn = reading.parse({"problem": problem, "protocol": "one-pass", "learners": [learner]})
    app = HadamardApp(EditableExperiment(nothing_to_learn, None))
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("y")
        await until(pilot, lambda: any("above 0" in note.message for note in app._notifications))
        assert not app.laboratory.chart_options.y_log


@pytest.mark.slow
async def test_a_panel_with_negative_values_stays_linear_with_a_note(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("2", "y")
        await until(pilot, lambda: "y stays linear: weights may be negative" in screen_text(app))


@pytest.mark.slow
async def test_a_zoom_survives_refreshes_and_follows_the_playhead(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("z")
        assert app.laboratory.chart_options.window is None  # nothing to zoom into yet
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).playback.shown >= 4)
        await pilot.press("z")
        window = app.laboratory.chart_options.window
        assert window is not None
        assert window[1] - window[0] == 8
        await until(pilot, lambda: loss_axes_of(app).x_limits == window)
        app.laboratory._pace.unlimited = True
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.pause(0.1)
        assert loss_axes_of(app).x_limits == window
        await pilot.press("home")
        await until(pilot, lambda: loss_axes_of(app).x_limits == (0, 8))
        await pilot.press("Z")
        await until(pilot, lambda: loss_axes_of(app).x_limits == (0, 16))
        assert app.laboratory.chart_options.window is None


@pytest.mark.slow
async def test_the_wheel_zooms_around_the_mouse(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        chart = app.laboratory.query_one("#loss", ChartView)
        chart.post_message(ChartView.Wheeled(chart, 4.0, True))
        await until(pilot, lambda: app.laboratory.chart_options.window == (2, 10))
        chart.post_message(ChartView.Wheeled(chart, 4.0, False))
        await until(pilot, lambda: app.laboratory.chart_options.window is None)


@pytest.mark.slow
async def test_smoothing_keeps_the_raw_curve_faint(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        trace = session_of(app).trace
        assert trace is not None
        await pilot.press("m")
        chart = app.laboratory.query_one("#loss", ChartView)
        raw = trace.curves[3].mean("loss")
        naive = np.array([raw[0], *[raw[i - 1 : i + 2].mean() for i in range(1, 16)], raw[16]])
        await until(pilot, lambda: any(series.faint and not series.is_region for series in chart.shown[0]))
        await until(pilot, lambda: "averaged over ± 1 point (m)" in screen_text(app))
        smooth = next(series for series in chart.shown[0] if series.mark == "D")
        assert smooth.y == pytest.approx(naive)
        assert any(
            series.faint and series.colour == smooth.colour and (series.y == raw).all()
            for series in chart.shown[0]
        )
        await pilot.press("m")
        await until(
            pilot, lambda: not any(series.faint and not series.is_region for series in chart.shown[0])
        )
        await until(pilot, lambda: "averaged over" not in screen_text(app))


@pytest.mark.slow
async def test_the_band_key_hides_and_shows_bands_and_requires_replicas(editable: EditableExperiment):
    editable.put("problem.matrix.kind", "gaussian")
    editable.put("run.replicas", 3)
    app = HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        chart = app.laboratory.query_one("#loss", ChartView)
        banded = [series for series in chart.shown[0] if series.band is not None and not series.is_region]
        assert len(banded) == 5
        trace = session_of(app).trace
        assert trace is not None
        assert banded[0].band is not None
        assert trace.curves[0].stderr_of("loss") is not None
        assert banded[0].band[1] - banded[0].y == pytest.approx(trace.curves[0].stderr_of("loss"))
        await pilot.press("b")
        await until(pilot, lambda: all(series.band is None or series.is_region for series in chart.shown[0]))
        await pilot.press("b")
        await until(pilot, lambda: any(series.band is not None for series in chart.shown[0]))
        app.laboratory.editable.put("run.replicas", 1)
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).state == "finished")
        await pilot.press("b")
        assert app.laboratory.chart_options.band
        assert any("no standard error" in note.message for note in app._notifications)


@pytest.mark.parametrize("around", [0.0, 13.0, 50.0, 100.0])
def test_a_zoom_keeps_its_centre_in_place(around: float):
    once = ChartOptions().zoomed(0.5, around, X)
    assert once.window is not None
    low, high = once.window
    assert high - low == 50
    assert (around - low) / 50 == pytest.approx(around / 100)
    assert once.zoomed(2, around, X).window is None


def test_a_zoom_shows_at_least_a_few_evaluation_points():
    chart_options = ChartOptions()
    for _ in range(20):
        chart_options = chart_options.zoomed(0.5, 40.0, X)
    assert chart_options.window is not None
    assert chart_options.window[1] - chart_options.window[0] == pytest.approx(NARROWEST)
    assert ChartOptions().zoomed(0.5, 0.0, np.arange(3.0)).window is None


@pytest.mark.parametrize("place", [0.0, 20.0, 33.0, 99.0, 100.0])
def test_a_window_moves_to_contain_the_playhead(place: float):
    low, high = ChartOptions(window=(10.0, 30.0)).following(place, X).window or (0, 0)
    assert low <= place <= high
    assert high - low == 20
    assert low >= 0
    assert high <= 100


AXES = [np.arange(3.0), np.geomspace(1e-4, 1e6, 50), np.linspace(-1, -0.1, 7), 1e12 + np.arange(2.0)]


@pytest.mark.parametrize("x_log", [False, True])
@pytest.mark.parametrize("x", AXES, ids=lambda x: f"{x[0]:g} to {x[-1]:g}")
@pytest.mark.parametrize("window", [(10.0, 30.0), (0.0, 1e-5), (-0.9, -0.2), (0.1, 0.2)])
def test_a_window_of_another_axis_follows_the_playhead_or_is_dropped(
    window: Limits, x: np.ndarray, x_log: bool
):
    for place in x.tolist():
        low, high = ChartOptions(x_log=x_log, window=window).following(place, x).window or (x[0], x[-1])
        assert low < high
        assert x_log or low - 1e-9 * abs(low) <= place <= high + 1e-9 * abs(high)
        for by in (0.5, 2.0):
            zoomed = ChartOptions(x_log=x_log, window=window).zoomed(by, place, x)
            assert zoomed.window is None or zoomed.window[0] < zoomed.window[1]


def test_a_refused_log_axis_has_a_reason():
    assert why_not_log("y", np.array([0.0, 1.0, 2.0])) == ""
    assert "below 0" in why_not_log("y", np.array([-1.0, 1.0, 2.0]))
    assert "fewer than two" in why_not_log("x", np.array([0.0, 1.0]))


@pytest.mark.slow
async def test_chart_options_panel_and_learner_are_restored_on_the_next_start(editable: EditableExperiment):
    kept_view = KeptView(panel="gap", learner=2, chart=ChartOptions(x_log=True, smooth=True, band=False))
    app = HadamardApp(editable, view=kept_view)
    async with opened(app, WIDE) as pilot:
        assert app.laboratory.chart_options == kept_view.chart
        assert app.laboratory.query_one(Stage).chosen == "gap"
        assert app.laboratory._selected_index == 2
        await finished(app, pilot)
        await pilot.press("z", "q")
    assert app.memory.view.chart == kept_view.chart  # but for the zoom, which is into one run
    written = msgspec.json.encode(app.memory.view)
    assert msgspec.json.decode(written, type=KeptView) == app.memory.view
