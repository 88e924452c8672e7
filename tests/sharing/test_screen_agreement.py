"""Files show what a screen as large would show: its ticks, letters, legend and colours."""

from __future__ import annotations

import io
from collections import Counter
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from PIL import Image

from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from engine.spec.experiment import drawn, of_run
from hadamard_tui.charts.drawing.chart_sheet import ChartSheet, compose
from hadamard_tui.charts.drawing.frame import FrameLayout, arrange
from hadamard_tui.charts.drawing.heat_sheet import bar_ticks
from hadamard_tui.charts.drawing.raster import DOTS_ACROSS, DOTS_DOWN
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.view_plot import plot
from hadamard_tui.charts.series import Axes, Series
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import triplet
from hadamard_tui.sharing.rendering import pdf, png
from hadamard_tui.sharing.svg import chart, heat_map_page
from hadamard_tui.sharing.svg_page import MUTED, WORDS, SvgPage

PRESETS = [
    "hadamard-128",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("rank-64", "criticality", "rademacher-128")),
]
X = np.linspace(0, 1, 65)
AXES = Axes("a chart", "x", "y", (0.0, 1.0), (0.0, 1.0))


def chart_of(preset: str) -> tuple[list[Series], Axes]:
    """The chart of a preset's first picture, in the colours of paper."""
    sweep = presets.sweep_of(preset, presets.document(preset, ["run.device=cpu"]))
    experiment = sweep.experiment
    if drawn(experiment):
        first_view = view(drawn(experiment)[0], run_sweep(sweep))
    else:
        first_view = view(of_run(experiment), of_one(experiment, run(experiment)))
    with palette.on_paper():
        shown = plot(Look(first_view))
    return list(shown.series), shown.axes


def screen_of(series: list[Series], axes: Axes, page: SvgPage) -> tuple[FrameLayout, ChartSheet]:
    """The chart of a screen with an area as large as that of the page."""
    width = page.columns + 100 - arrange(axes, 100, page.rows + 10, (DOTS_ACROSS, DOTS_DOWN)).columns
    for height in range(page.rows, page.rows + 20):
        sheet = compose(series, axes, width, height)
        if (sheet.surround.columns, sheet.surround.rows) == (page.columns, page.rows):
            layout = arrange(axes, width, height - sheet.legend_lines, (DOTS_ACROSS, DOTS_DOWN))
            return layout, sheet
    raise AssertionError("no screen has such an area")


def texts(group: Element) -> list[Element]:
    return [element for element in group.iter() if element.tag == "text"]


@pytest.fixture(scope="module", params=PRESETS)
def drawings(request: pytest.FixtureRequest) -> tuple[list[Series], SvgPage, FrameLayout, ChartSheet]:
    series, axes = chart_of(request.param)
    page = chart(series, axes)
    return series, page, *screen_of(series, axes, page)


def test_exported_ticks_include_all_ticks_of_the_screen(
    drawings: tuple[list[Series], SvgPage, FrameLayout, ChartSheet],
) -> None:
    _, page, layout, _ = drawings
    rows, columns = (element for element in page.root if element.get("class") in ("up", "along"))
    labels = [element.text for element in (*texts(rows), *texts(columns))]
    up = [label for _, label in layout.y_ticks]
    along = [label for _, label in layout.tick_line.ticks]
    assert labels[: len(up)] == up
    assert [label for label in labels[len(up) :] if label in along] == along
    assert len(labels) - len(up) - len(along) <= 3


def test_exported_letters_equal_those_of_the_screen_in_their_colours(
    drawings: tuple[list[Series], SvgPage, FrameLayout, ChartSheet],
) -> None:
    series, page, _, sheet = drawings
    marks = [(series[mark.at].mark, series[mark.at].colour) for mark in sheet.picture.marks]
    edges = [(edge.text, series[edge.at].colour) for edge in sheet.picture.edges]
    assert marks
    assert Counter((element.text, element.get("fill")) for element in texts(page.letters)) == Counter(
        [*marks, *edges]
    )


def test_an_exported_legend_has_the_order_of_the_screen(
    drawings: tuple[list[Series], SvgPage, FrameLayout, ChartSheet],
) -> None:
    series, page, _, sheet = drawings
    pieces = [piece for row in sheet.names for piece in row if piece.index >= 0]
    heads = [element for element in texts(page.root) if element.get("font-weight") == "bold"]
    legend = [head for head in heads if head.get("font-size") == f"{WORDS:g}"]
    on_screen = [(piece.text.split()[0], series[piece.index]) for piece in pieces]
    marked = [(first, curve.mark, curve.colour) for first, curve in on_screen if curve.mark]
    on_page = [element for element in legend if element.text not in ("≡", "≈")]
    assert [(element.text.split()[-1], element.get("fill")) for element in on_page] == [
        (mark, colour) for _, mark, colour in marked
    ]
    assert [element.text.split()[0] for element in on_page] == [first for first, _, _ in marked]


def test_an_exported_heat_map_has_the_ticks_of_the_screen() -> None:
    heat = HeatMap(np.arange(1.0, 9), np.arange(12.0), np.arange(96.0).reshape(12, 8), z_label="value")
    page = heat_map_page(heat)
    layout = arrange(heat.axes, 90, page.rows + 3, (1, 2))
    assert layout.rows == page.rows
    numbers = [
        [element.text for element in texts(group)]
        for group in page.root
        if group.get("class") in ("up", "over")
    ]
    up, over = numbers
    assert up == [label for _, label in layout.y_ticks]
    assert over[:-1] == [label for _, label in bar_ticks(heat.scale, page.rows)]
    assert over[-1] == "value"


def test_coinciding_curves_share_a_line_with_disjoint_dashes() -> None:
    first = Series("GD", X, 1 - X, "#0000aa", "long", mark="A")
    second = Series("least squares", X, 1 - X, "#00aa00", "long", mark="B")
    bound = Series("bound", X, 1 - X, "#111111", "dashed", formula="1 − x")
    page = chart([bound, first, second], AXES)
    paths = [element for element in page.grown.iter("path") if element.get("fill") == "none"]
    assert [path.get("stroke") for path in paths] == ["#0000aa", "#111111", "#00aa00"]
    assert len({path.get("d") for path in paths}) == 1
    patterns = [(path.get("stroke-dasharray"), path.get("stroke-dashoffset")) for path in paths]
    assert patterns == [("10 4", "0"), ("10 32", "-28"), ("10 32", "-14")]
    assert not list(page.area.iter("path"))
    written = [element.text for element in texts(page.root)]
    assert written[-4:] == ["≡ B", "least squares", "≡", "bound 1 − x"]


def test_a_curve_that_outlasts_its_shared_line_is_drawn_to_its_end() -> None:
    short = Series("short", X[:33], X[:33], "#0000aa", mark="A")
    long = Series("long", X, X, "#00aa00", mark="B")
    page = chart([short, long], AXES)
    ends = []
    for path in page.grown.iter("path"):
        if path.get("stroke") == "#00aa00":
            start, *steps = (path.get("d") or "").removeprefix("M").split("l")
            places = np.cumsum([[float(part) for part in step.split(",")] for step in (start, *steps)], 0)
            ends.append(places[-1, 0])
    assert max(ends) == pytest.approx(page.right, abs=0.02)


def test_the_longer_curve_continues_at_the_end_of_the_shared_line() -> None:
    x = np.linspace(0, 1, 5)
    page = chart([Series("short", x[:3], x[:3], "#0000aa", mark="A"), Series("long", x, x, "#00aa00")], AXES)
    starts = [
        float((path.get("d") or "").removeprefix("M").split(",")[0])
        for group in (page.grown, page.area)
        for path in group.iter("path")
        if path.get("stroke") == "#00aa00"
    ]
    assert page.left + (page.right - page.left) / 2 == pytest.approx(max(starts), abs=0.02)


def test_an_arrow_and_the_letter_stand_where_a_curve_leaves_the_chart() -> None:
    page = chart([Series("GD", X, 3 * X, "#0000aa", mark="A")], AXES)
    (arrow,) = (element for element in texts(page.letters) if element.text == "↑A")
    across = (float(arrow.get("x", "")) - page.left) / (page.right - page.left)
    assert across == pytest.approx(1 / 3, abs=0.03)
    assert page.top < float(arrow.get("y", "")) < page.top + 20


@pytest.fixture(scope="module")
def page() -> SvgPage:
    curve = Series("GD", X, 1 - X, "#0000aa", mark="A")
    return chart([curve, Series("bound", X, X / 2, "#111111", "dashed")], AXES, caption="A headline.")


def test_a_png_has_the_colours_of_the_curves_and_letters_on_white(page: SvgPage) -> None:
    with Image.open(io.BytesIO(png(page, 2))) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    assert pixels.shape[1] == 1440
    assert (pixels[0, 0] == 255).all()
    for colour, least in (("#0000aa", 500), ("#111111", 300), (MUTED, 20)):
        assert (pixels == triplet(colour)).all(2).sum() > least
    below = pixels[-60:]
    assert (below.mean(2) < 128).sum() > 50, "the headline is below"


def test_a_png_is_reproducible_and_independent_of_installed_fonts(page: SvgPage) -> None:
    assert png(page, 1) == png(page, 1)


def test_a_pdf_is_reproducible_and_contains_the_page_text_as_text(page: SvgPage) -> None:
    content = pdf(page)
    assert content.startswith(b"%PDF")
    assert b"/Subtype /Type42" in content or b"/FontFile2" in content
    assert content == pdf(page)


def test_growing_curves_end_at_their_place_and_the_headline_comes_last(page: SvgPage) -> None:
    def dark(share: float) -> tuple[int, int]:
        page.grow(share)
        with Image.open(io.BytesIO(png(page, 1))) as picture:
            pixels = np.asarray(picture.convert("RGB")).astype(int)
        blue = (pixels[:, :, 2] - pixels[:, :, 0] > 100)[: int(page.bottom)]
        across = np.flatnonzero(blue.any(0))
        return int(across.max(initial=0)), int((pixels[-30:].mean(2) < 128).sum())

    middle = (page.left + page.right) / 2
    assert dark(0.5)[0] == pytest.approx(middle, abs=2)
    assert dark(0.5)[1] == 0
    assert dark(1.0)[0] == pytest.approx(page.right, abs=8)
    assert dark(1.0)[1] > 0
