"""A picture with another one beneath it: two charts as one, on the same x-axis, in every output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from engine.core.parts import BadInput
from engine.results.outcomes import judge
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.sweep_run import run_sweep
from engine.spec import documents
from engine.spec.reading import Raw
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.drawing.chart_sheet import compose
from hadamard_tui.charts.plots.look import ChartOptions, Look
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.headless.pictures import pictures
from hadamard_tui.sharing.exporting import charts_of, content, first_picture
from hadamard_tui.sharing.svg_page import left_margin
from hadamard_tui.sharing.web_page import web_page
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.widgets.chart_view import BETWEEN_LEGENDS, ChartView, MultiplesView

from .conftest import WIDE, opened, until

DOCUMENT: Raw = {
    "title": "Loss and norm",
    "problem": {"matrix": {"kind": "hadamard", "d": 8}, "target": "feature"},
    "protocol": "one-pass",
    "learners": [{"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "1/(2d)"}}],
    "run": {"device": "cpu"},
    "pictures": [
        {"name": "loss", "title": "Upper", "x": "k", "measure": "loss", "beneath": "norm", "y_log": True},
        {"name": "norm", "title": "Lower", "x": "k", "measure": "norm"},
    ],
}


@pytest.fixture(scope="module")
def finished() -> Results:
    return run_sweep(documents.sweep_of(DOCUMENT))


def changed(**second: object) -> Raw:
    first, lower = DOCUMENT["pictures"]
    return {**DOCUMENT, "pictures": [first, {**lower, **second}]}


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (changed(name="other"), "no other picture 'norm'; the named ones are 'other'"),
        (changed(beneath="loss"), "'norm' already has a picture beneath it"),
        (changed(x="step"), "'norm' has a different x"),
        (changed(x_log=True), "'norm' has a different x_log"),
        ({**DOCUMENT, "pictures": [{**DOCUMENT["pictures"][0], "beneath": "loss"}]}, "no other picture"),
    ],
)
def test_an_invalid_beneath_picture_is_refused(document: Raw, fault: str) -> None:
    with pytest.raises(BadInput, match=r"pictures\[0\].beneath") as error:
        documents.sweep_of(document)
    assert fault in str(error.value)


def test_the_view_beneath_shows_the_other_picture(finished: Results) -> None:
    upper, lower = finished.sweep.experiment.pictures
    beneath = view(upper, finished).beneath
    assert beneath is not None
    assert beneath.picture == lower
    np.testing.assert_allclose(beneath.curves[0].y, np.sqrt(np.arange(9) / 8), atol=1e-6)
    assert view(lower, finished).beneath is None


def test_the_lower_chart_shares_x_and_window_but_not_the_y_scale(finished: Results) -> None:
    options = ChartOptions(y_log=True, window=(2.0, 8.0))
    look = Look(view(finished.sweep.experiment.pictures[0], finished), place=4.0, options=options)
    assert look.beneath is not None
    assert (look.x, look.beneath.x) == (4.0, 4.0)
    assert look.beneath.resolved.window == (2.0, 8.0)
    assert (look.resolved.y_log, look.beneath.resolved.y_log) == (True, False)
    assert look.beneath.beneath is None


@pytest.mark.parametrize("suffix", ["svg", "cast", "html"])
def test_an_exported_file_contains_the_upper_chart_before_the_lower_chart(
    suffix: str, finished: Results
) -> None:
    shown = first_picture(DOCUMENT, finished, judge(finished))
    text = content(Path(f"chart.{suffix}"), shown, "").decode()
    assert 0 <= text.index("Upper") < text.index("Lower")
    if suffix == "cast":
        header = json.loads(text.splitlines()[0])
        assert header["height"] > 60
    if suffix == "svg":
        names = [element.get("id") for element in ElementTree.fromstring(text).iter() if element.get("id")]
        assert len(names) == len({*names})


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "begin"), [("png", b"\x89PNG"), ("gif", b"GIF"), ("pdf", b"%PDF")])
def test_stacked_charts_are_exported_as_png_gif_and_pdf(suffix: str, begin: bytes, finished: Results) -> None:
    shown = first_picture(DOCUMENT, finished, judge(finished))
    assert content(Path(f"chart.{suffix}"), shown, "").startswith(begin)


def test_a_shared_page_puts_both_figures_into_one_stack(finished: Results) -> None:
    page = web_page(finished, judge(finished), None, DOCUMENT).decode()
    (stack,) = page.split('<div class="stack">')[1:]
    assert stack.partition("</div>\n<h2>")[0].count("<figure>") == 2


def test_run_prints_both_charts_before_the_numbers_of_the_first(finished: Results) -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    for part in pictures(finished, [], console):
        console.print(part)
    text = console.export_text()
    assert text.count("Upper") == text.count("Lower") == 1
    assert text.index("Upper") < text.index("Lower") < text.rindex("examples k"), "the table follows"


@pytest.mark.set_up("empty")
async def test_the_app_shows_two_charts_that_share_the_playhead() -> None:
    app = HadamardApp(EditableExperiment(DOCUMENT, None), view=KeptView(setup_hidden=True, unlimited=True))
    async with opened(app, WIDE) as pilot:
        await pilot.press("r")
        grid = app.laboratory.query_one(MultiplesView)

        def titles() -> list[str]:
            axes = [chart.shown[1] for chart in grid.charts if chart.display]
            return [part.title for part in axes if part is not None]

        await until(pilot, lambda: titles() == ["Upper", "Lower"])
        upper, lower = (chart.region for chart in grid.charts)
        assert upper.bottom <= lower.y, "one stands above the other"
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        grid.charts[1].post_message(ChartView.Pointed(grid.charts[1], 4.0))
        await until(pilot, lambda: [chart._playhead for chart in grid.charts] == [4.0, 4.0])


@pytest.mark.set_up("empty")
async def test_on_a_small_screen_legends_of_charts_beside_each_other_are_apart() -> None:
    app = HadamardApp(EditableExperiment(DOCUMENT, None), view=KeptView(setup_hidden=True, unlimited=True))
    async with opened(app, (80, 20)) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and app.laboratory.session.over)
        first, second = (chart for chart in app.laboratory.query_one(MultiplesView).charts if chart.display)
        await until(pilot, lambda: first.region.y == second.region.y)  # after the layout
        assert (first.legend_margin, second.legend_margin) == (BETWEEN_LEGENDS, 0)
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: first.region.bottom <= second.region.y)
        assert first.legend_margin == 0, "no chart is beside it"


def test_a_legend_keeps_its_margin_blank() -> None:
    names = [f"gradient descent {letter}" for letter in "ABCDEFG"]
    series = [
        Series(name, np.arange(9.0), np.arange(9.0) + at, "#ffffff", mark=name[-1])
        for at, name in enumerate(names)
    ]
    axes = Axes("Loss", "k", "loss", (0.0, 8.0), (0.0, 16.0))

    def room_beside_legend(width: int, margin: int) -> int:
        names = compose(series, axes, width, 14, most_legend_lines=2, legend_margin=margin).names
        return width - max(piece.column + len(piece.text) for row in names for piece in row)

    assert min(room_beside_legend(width, 0) for width in range(26, 60)) == 0
    assert min(room_beside_legend(width, 4) for width in range(26, 60)) == 4


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_stacked_charts_have_aligned_x_axes(suffix: str, finished: Results) -> None:
    shown = first_picture(DOCUMENT, finished, judge(finished))
    upper, lower = (left_margin(shown_chart.axes) for shown_chart in charts_of(shown))
    assert upper != lower, "the labels of the two y-axes differ in width"
    text = content(Path(f"chart.{suffix}"), shown, "").decode()
    frames = re.findall(r'd="M([\d.]+),[\d.]+V[\d.]+H([\d.]+)"', text)
    assert len(frames) == 2
    assert frames[0] == frames[1]
