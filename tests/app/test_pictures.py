"""Pictures of an experiment along its axes, on the stage."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from engine.results.views import view
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.plots.look import ChartOptions
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.heat_map_view import HeatMapView
from hadamard_tui.widgets.screen_lines import Caption
from hadamard_tui.widgets.stage import Stage
from hadamard_tui.widgets.tabs import PictureRow, shortened, texts

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of, status_of
from .test_time_travel import cells

pytestmark = pytest.mark.set_up("empty")

SIZES = {"name": "size", "values": [4, 8, 16]}
CURVES = {"title": "Examples", "x": "size", "measure": "loss", "read": {"first_below": 0.3}}
NETS = {"name": "net", "architecture": {"kind": "dense", "depth": 3, "width": 8, "activation": "tanh"}}
LAYERS = {"title": "Layers", "x": "layer", "measure": "layer-variance", "curves": "cw"}
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
    return HadamardApp(described, view=KeptView(setup_hidden=True, unlimited=True))


def chart(app: HadamardApp) -> ChartView:
    return app.laboratory.query_one("#loss", ChartView)


def shown(app: HadamardApp) -> dict[str, Series]:
    """Series of the chart, by name."""
    return {series.name: series for series in chart(app).shown[0]}


async def test_the_picture_of_a_sweep_grows_with_its_points() -> None:
    app = app_of(editable())
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        session = app.laboratory.session
        assert session is not None
        assert session.point.results is not None
        assert session.point.results.complete
        await until(
            pilot,
            lambda: (
                [
                    len(shown(app)[learner_name].x)
                    for learner_name in ("GD", "LLS")
                    if learner_name in shown(app)
                ]
                == [3, 2]
                and "finished" in screen_text(app)
            ),
        )
        expected = view(session.sweep.experiment.pictures[0], session.point.results)
        gd, lls = shown(app)["GD"], shown(app)["LLS"]
        assert gd.x.tolist() == [4, 8, 16]
        assert lls.x.tolist() == [8, 16]
        assert gd.y.tolist() == expected.curve("GD").y.tolist()
        text = screen_text(app)
        assert "the run · ▸Examples" in text
        assert "3 points; panels show size = 16" in text
        assert "set-up changed" not in text


async def test_a_key_cycles_through_the_pictures_and_the_run() -> None:
    app = app_of(editable(CURVES, {**CURVES, "title": "Another"}))
    async with opened(app, WIDE) as pilot:
        row, stage = app.laboratory.query_one(PictureRow), app.laboratory.query_one(Stage)
        assert row.names == ("the run", "Examples", "Another")
        assert stage.picture == 1
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        for number, title in ((2, "Another"), (0, "Average loss over all rows"), (1, "Examples")):
            await pilot.press("i")
            await until(pilot, lambda title=title: title in screen_text(app))
            assert stage.picture == number
            assert screen_text(app).count(title) == 1, "the row of pictures has it, or the frame of the chart"
        await pilot.click(row, offset=(2, 0))
        await until(pilot, lambda: stage.picture == 0)


@pytest.mark.parametrize("width", [52, 73, 113, 193])
@pytest.mark.parametrize("count", [2, 5, 17])
def test_all_pictures_fit_on_one_line_and_the_chosen_picture_has_most_room(width: int, count: int) -> None:
    names = tuple(f"Number {number} of some measure along some axis" for number in range(count))
    for chosen in range(count):
        shown = texts(names, names, chosen, width)
        assert len(" ".join(shown)) <= width
        assert len(shown[chosen]) == max(map(len, shown)) >= min(len(names[chosen]), width // 4 - 1)
        assert names[chosen].startswith(shown[chosen].removesuffix("…"))
        assert all(shown)
    assert texts(("the run", "Loss"), ("the run", "l"), 1, width) == ["the run", "Loss"]


TITLES = "the run", "Margin in ‖·‖₂ of the nets", "Margin in ‖·‖₁ of the nets", "Margin in ‖·‖_∞ of the nets"


def test_pictures_beside_the_chosen_picture_use_short_names_if_room_is_scarce() -> None:
    short = "the run", "l2", "l1", "max"
    assert texts(TITLES, short, 2, 60) == ["the run", "l2", TITLES[2], "max"]
    assert texts(TITLES, ("the run", "permutations", "l1", "max"), 2, 48)[1] == "permutations"
    assert shortened(TITLES) == ["the run", "…‖·‖₂ of the nets", "…‖·‖₁ of the nets", "…‖·‖_∞ of the nets"]
    assert shortened(["Loss", "Loss"]) == ["Loss", "Loss"]


@pytest.mark.parametrize("width", [73, 113])
def test_neighbours_of_the_chosen_picture_keep_names_among_many_pictures(width: int) -> None:
    names = [f"{number} of some measure along some axis" for number in range(17)]
    short = [f"measure {number}" for number in range(17)]
    shown = texts(names, short, 8, width)
    assert shown[7].startswith("measure")
    assert shown[9].startswith("measure")
    assert (shown[1], shown[16]) == ("2", "17")
    assert shown[8].startswith("8 of some")
    assert len(" ".join(shown)) <= width


async def test_pictures_along_the_same_axis_share_their_cursor() -> None:
    app = app_of(editable(CURVES, {**CURVES, "title": "Linear", "y_log": False}))
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        await until(pilot, lambda: "at size = 16" in status_of(app))
        await pilot.press("left", "left")
        await until(pilot, lambda: "at size = 4" in status_of(app))
        for picture in (2, 0, 1):  # 0 is the run, along k
            await pilot.press("i")
            assert app.laboratory.query_one(Stage).picture == picture
            await until(pilot, lambda: app.laboratory.look is not None)
            if picture:
                app.laboratory._draw_frame()
                assert app.laboratory.look is not None
                assert app.laboratory.look.x == 4
        await pilot.press("r")
        await over(app, pilot)
        await until(pilot, lambda: "at size = 16" in status_of(app))


@pytest.mark.slow
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
        await pilot.press("i", "i")
        await until(pilot, lambda: app.laboratory.query_one(Stage).picture == 1)


@pytest.mark.slow
async def test_two_axes_make_a_heat_map_of_the_selected_learner() -> None:
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
        assert session.point.results is not None
        (heat_view,) = view(session.sweep.experiment.pictures[0], session.point.results).heats
        assert heat_view.z.shape == (3, 3)
        assert heat_view.z[1, 1] == pytest.approx(heat.reading.z)


async def test_an_impossible_picture_is_refused_before_the_run() -> None:
    app = app_of(editable({"title": "Wrong", "x": "k", "measure": "loss"}))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        await until(
            pilot, lambda: "a curve mixes several values of size" in str(app.laboratory.editable.error)
        )
        assert app.laboratory.session is None


async def test_an_experiment_without_pictures_has_no_picture_row() -> None:
    app = app_of(EditableExperiment.of("gaussian-128"))
    async with opened(app, WIDE):
        assert not app.laboratory.query_one(PictureRow).display


def axes_of(app: HadamardApp) -> Axes:
    axes = chart(app).shown[1]
    assert axes is not None
    return axes


def marks_of(app: HadamardApp) -> list[str]:
    return [series.mark for series in chart(app).shown[0] if series.mark]


async def over(app: HadamardApp, pilot: Pilot[None]) -> None:
    """Run to the end."""
    await pilot.press("r")
    await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)


@pytest.mark.drawn
@pytest.mark.slow
async def test_keys_and_clicks_move_between_places_of_a_picture_along_an_axis() -> None:
    app = app_of(editable())
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        await until(pilot, lambda: "at size = 16" in status_of(app))
        await until(pilot, lambda: cells(app)["k"] == "12")
        assert chart(app)._playhead is None
        await pilot.press("left")
        await until(pilot, lambda: "at size = 8" in status_of(app))
        assert (cells(app)["k"], cells(app, 1)["learner"]) == ("6", "LLS")
        assert chart(app)._playhead == 8
        await pilot.press("home")
        await until(pilot, lambda: "at size = 4" in status_of(app))
        assert cells(app, 1)["state"] == "from 8", "least squares begins at 8"
        assert not session_of(app).playback.looking_back
        area = chart(app)._area
        await pilot.mouse_down(chart(app), offset=(area.start + len(area) // 3, 5))
        await until(pilot, lambda: "at size = 8" in status_of(app))
        await pilot.mouse_up(chart(app), offset=(area.start, 5))
        await over(app, pilot)
        await until(pilot, lambda: "at size = 16" in status_of(app))


@pytest.mark.drawn
@pytest.mark.slow
async def test_a_picture_along_runs_follows_the_playhead_and_tabulates_all_runs() -> None:
    twice = {"title": "Twice", "x": "2*k", "measure": "error", "curves": "size"}
    app = app_of(editable(twice))
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        await pilot.press("home", "right", "right", "right")
        await until(pilot, lambda: chart(app)._playhead == 6)
        assert session_of(app).playback.place == 3
        results = session_of(app).point.results
        assert results is not None
        drawn = view(session_of(app).sweep.experiment.pictures[0], results)
        expected = [
            drawn.curve(curve_name).y[3] for curve_name in ("GD, size = 4", "GD, size = 8", "GD, size = 16")
        ]
        shown = {cells(app, row)["learner"]: cells(app, row)["error"] for row in range(5)}
        for size, error in zip((4, 8, 16), expected, strict=True):
            assert shown[f"GD, size = {size}"] == f"{error:.5f}"
        await pilot.click(chart(app), offset=(chart(app)._area.stop, 5))
        await until(pilot, lambda: not session_of(app).playback.looking_back)


@pytest.mark.slow
async def test_zoom_and_log_axes_apply_only_to_their_picture() -> None:
    app = app_of(editable({**CURVES, "y_log": True, "x_log": True}))
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        await until(pilot, lambda: axes_of(app).y_log)
        await pilot.press("y", "home")
        await until(pilot, lambda: not axes_of(app).y_log)
        await pilot.press("y")
        assert app.laboratory.chart_options.y_log is None, "as the picture says"
        app.laboratory.chart_options = ChartOptions(window=(4.0, 8.0))
        await until(pilot, lambda: axes_of(app).x_limits == (4, 8))
        await pilot.press("2")
        panel = app.laboratory.query_one("#panel-chart", ChartView)
        await until(pilot, lambda: panel.shown[1] is not None and panel.shown[1].x_limits == (0, 4))
        await pilot.press("i")
        await until(pilot, lambda: chart(app).shown[1] is not None and chart(app).shown[1].x_limits == (0, 4))


@pytest.mark.slow
async def test_the_status_the_panels_and_the_run_name_the_point() -> None:
    app = app_of(editable(CURVES, {**CURVES, "title": "Another, with a name of some length"}))
    async with opened(app, SMALL) as pilot:
        await over(app, pilot)
        await until(pilot, lambda: "finished 3 points" in status_of(app) and "at size = 16" in status_of(app))
        app.laboratory.editable.put("run.seed", 7)
        await until(pilot, lambda: "new: r" in status_of(app))
        assert "at size = 16" in status_of(app)
        await pilot.press("3")
        await until(pilot, lambda: "at size = 16" in screen_text(app))
        await pilot.resize_terminal(*WIDE)
        await pilot.press("9")
        await until(pilot, lambda: "bound, size = 16" in screen_text(app))
        await pilot.press("i", "i")
        await until(pilot, lambda: "Average loss over all rows, size = 16" in screen_text(app))


@pytest.mark.slow
async def test_the_table_has_line_and_ratio_columns_only_if_theory_has_a_line() -> None:
    axes = [{"name": "cw", "values": [1, 2]}]
    nets = [{**NETS, "architecture": {**NETS["architecture"], "cw": "cw"}}]
    problem = {"matrix": {"kind": "sphere", "n": 1, "d": 8}, "target": "coin"}
    norm = {"title": "Norm", "x": "cw", "measure": "gradient-norm"}
    app = app_of(
        editable(norm, LAYERS, axes=axes, problem=problem, learners=nets, protocol={"kind": "at-init"})
    )
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        await until(pilot, lambda: "at cw = 2" in status_of(app))
        assert not {"bound", "line", "ratio"} & {*cells(app)}
        await pilot.press("i")
        await until(pilot, lambda: "at layer = 3" in status_of(app))
        assert {"line", "ratio"} <= {*cells(app)}
        for key, layer in (("home", 1), ("end", 3)):  # though the run has a single record
            await pilot.press(key)
            await until(pilot, lambda layer=layer: f"at layer = {layer}" in status_of(app))


@pytest.mark.slow
async def test_the_selected_cell_of_a_heat_map_is_described() -> None:
    rates = {"name": "rate", "from": 0.01, "to": 0.1, "points": 3}
    learners = [{"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "rate"}}]
    app = app_of(editable(HEAT, axes=[SIZES, rates], learners=learners))
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        await until(pilot, lambda: "at size = 16, rate = 0.1" in status_of(app))
        await pilot.press("left")
        await until(pilot, lambda: "at size = 8, rate = 0.055" in status_of(app))
        reading = app.laboratory.query_one(HeatMapView).reading
        assert reading is not None
        assert cells(app)["loss"] == f"{reading.z:.5f}"


@pytest.mark.slow
async def test_every_picture_includes_the_pinned_runs() -> None:
    app = app_of(editable())
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        await pilot.press("c")
        app.laboratory.editable.put("run.seed", 3)
        await over(app, pilot)
        await until(
            pilot,
            lambda: [series.mark for series in chart(app).shown[0] if series.mark] == ["a", "b", "A", "B"],
        )
        assert cells(app, 2)["learner"] == "GD · seed = 0"
        await pilot.press("i")
        await until(pilot, lambda: "Average loss" in screen_text(app))
        assert marks_of(app) == ["a", "b", "A", "B"]


@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.slow
async def test_the_caption_of_a_finished_run_describes_the_chart(
    editable: EditableExperiment, size: tuple[int, int]
):
    editable.put("learners[1].name", "least squares on all examples so far")
    app = HadamardApp(editable)
    async with opened(app, size) as pilot:
        caption = app.laboratory.query_one(Caption)
        height = caption.size.height
        await pilot.press("r", "f")
        await until(pilot, lambda: "below a tenth" in visible(app, caption))
        late = "GD and least squares on all examples so far only after 15"
        assert f"EGU stays below a tenth after 11 examples, {late}" in visible(app, caption)
        assert caption.size.height == (height if size == WIDE else 2), "one line of 80 columns is too short"


def visible(app: HadamardApp, widget: Widget) -> str:
    """Visible text of a widget, in one line."""
    region, lines = widget.region, screen_text(app).splitlines()
    return " ".join(line[region.x : region.right].strip() for line in lines[region.y : region.bottom])


@pytest.mark.slow
async def test_claims_can_refer_to_a_picture_with_marks_along_an_axis() -> None:
    picture = {**CURVES, "marks": [{"name": "d", "y": "size"}], "name": "examples"}
    claims = [{"kind": "value", "text": "many", "curve": "GD", "at": 8, "above": 8, "picture": "examples"}]
    app = app_of(editable(picture, claims=claims))
    async with opened(app, WIDE) as pilot:
        await over(app, pilot)
        caption = app.laboratory.query_one(Caption)
        await until(pilot, lambda: str(caption.render()).startswith("The claim fails: At size = 8, "))
