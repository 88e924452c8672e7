"""Traces of the Python API draw on axes of matplotlib, and show themselves in notebooks and terminals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from rich.console import Console

import hadamard_tui as ht
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.view_plot import plot
from hadamard_tui.colours import palette

SMALL = "problem.matrix.d=16", "claims=[]", "run.device=cpu"


@pytest.fixture(scope="module")
def trace() -> ht.Trace:
    return ht.run(ht.load("hadamard-128", *SMALL))


@pytest.fixture
def ax() -> Iterator[Axes]:
    pyplot.switch_backend("agg")
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def test_the_documented_figure_program_writes_a_png(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    program = (
        "import hadamard_tui as ht\n"
        'trace = ht.run(ht.load("hadamard-128", "problem.matrix.d=16", "claims=[]"))\n'
        "ax = trace.plot()\n"
        'ax.set_title("mine")\n'
        'ax.figure.savefig("mine.png")\n'
    )
    exec(program)
    pyplot.close("all")
    assert (tmp_path / "mine.png").read_bytes().startswith(b"\x89PNG")


def test_a_notebook_chart_has_the_numbers_colours_and_names_of_an_export(trace: ht.Trace, ax: Axes) -> None:
    assert trace.plot(ax) is ax
    with palette.on_paper():
        drawing = plot(Look(trace.view()))
    axes, series = drawing.axes, [drawn for drawn in drawing.series if not drawn.is_region]
    assert len(ax.lines) == len(series) > 5
    for line, drawn in zip(ax.lines, series, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), drawn.x)
        np.testing.assert_array_equal(line.get_ydata(), drawn.y)
        assert to_hex(line.get_color()) == to_hex(drawn.colour)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == (axes.x_label, axes.y_label, axes.title)
    legend = ax.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert sorted(text.removeprefix("≡ ") for text in texts) == sorted(
        drawn.name for drawn in series if drawn.name
    )


def test_the_legend_joins_equal_curves_like_the_screen(trace: ht.Trace, ax: Axes) -> None:
    trace.plot(ax)
    legend = ax.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[:3] == ["GD", "≡ least squares", "≡ rotation-invariant bound"]
    assert all("≡" not in text for text in texts[3:])
    for text, handle in zip(texts, legend.legend_handles, strict=True):
        (line,) = (line for line in ax.lines if line.get_label() == text)
        assert handle is not None
        assert to_hex(handle.get_color()) == to_hex(line.get_color())  # type: ignore[attr-defined]


def test_coinciding_curves_share_a_line_with_alternating_dashes(trace: ht.Trace, ax: Axes) -> None:
    trace.plot(ax)
    by_name = {line.get_label(): line for line in ax.lines}
    shared = [by_name[learner_name]._dash_pattern for learner_name in ("GD", "≡ least squares")]  # type: ignore[attr-defined]
    assert all(lengths is not None for _, lengths in shared)
    assert shared[0][0] != shared[1][0], "each begins where the other has its gap"


def test_bounds_have_distinct_dashes_and_the_legend_covers_no_curve(
    trace: ht.Trace,
) -> None:
    axes = trace.plot()
    bounds = [line for line in axes.lines if "bound" in str(line.get_label())]
    assert len(bounds) == 2
    lengths = [tuple(line._dash_pattern[1][:1]) for line in bounds]  # type: ignore[attr-defined]
    assert len(set(lengths)) == 2
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_window_extent().x0 > axes.get_window_extent().x1
    assert legend.get_window_extent().x1 <= axes.figure.bbox.x1
    pyplot.close("all")


def test_error_bands_and_scales_are_drawn(ax: Axes) -> None:
    trace = ht.run(ht.load("coins-64", "run.replicas=5", "claims=[]"))
    axes = trace.view().axes
    assert (trace.plot(ax).get_yscale() == "log") == axes.y_log
    assert ax.collections, "bands of standard errors"


@pytest.mark.slow
def test_a_heat_map_is_drawn_with_its_scale(ax: Axes) -> None:
    trace = ht.run(ht.load("plane-cells", "claims=[]"))
    trace.plot(ax, picture=0)
    (mesh,) = ax.collections
    heat = trace.view(0).heats[0]
    drawn = np.ma.filled(np.ma.asarray(mesh.get_array()), np.nan).reshape(heat.z.shape)
    np.testing.assert_array_equal(np.sort(drawn, axis=None), np.sort(heat.z, axis=None))
    assert len(ax.figure.axes) == 2, "the map and its scale"


def test_an_unknown_picture_is_refused_with_the_existing_names(trace: ht.Trace) -> None:
    with pytest.raises(ht.BadInput, match="no picture has this name; the names are loss"):
        trace.plot(picture="losses")
    with pytest.raises(ht.BadInput, match="no picture has this number; pictures have the numbers 0 to 0"):
        trace.plot(picture=1)


def test_notebooks_show_the_svg_and_terminals_the_chart(trace: ht.Trace) -> None:
    svg = trace._repr_svg_()
    assert svg is not None
    assert "spindly" in svg
    console = Console(width=80, record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(trace)
    words = captured.get()
    assert "<Trace of" in words
    assert "examples k" in words
    assert trace.headline().split()[0] in words


def test_a_run_before_its_first_evaluation_point_cannot_be_plotted() -> None:
    with ht.start(
        ht.load("hadamard-128", "problem.matrix.d=1024", "claims=[]", "run.replicas=20")
    ) as running:
        trace = running.trace
    if not trace.results.traces:
        assert trace._repr_svg_() is None
        with pytest.raises(ht.BadInput, match="nothing is computed yet"):
            trace.plot()
    assert running.wait(20)
