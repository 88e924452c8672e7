"""Small multiples: a chart for each learner, all on the same axes."""

from __future__ import annotations

from view_fields import replace

from engine.pictures.view import LineView
from hadamard_tui.charts.plots.derived_plots import has_multiples, multiples
from hadamard_tui.charts.plots.look import MOST_TOGETHER, ChartOptions, Look
from hadamard_tui.charts.plots.view_plot import plot

from .test_view_plot import FIRST, RATES, SECOND, TWO, along
from .test_view_plot import curve as curve_along


def test_charts_of_single_curves_share_their_axes():
    look = Look(TWO)
    shown, more = multiples(look, 4, FIRST.learner)
    axes = plot(look).axes
    assert more == 0
    assert [chart.axes.title for chart in shown] == ["A eta = 0.1", "B eta = 0.2"]
    for chart, curve in zip(shown, (FIRST, SECOND), strict=True):
        assert chart.axes == replace(axes, title=chart.axes.title)
        assert {series.name for series in chart.series if series.mark} == {curve.name}


def test_small_screens_show_the_chart_of_the_selected_learner():
    shown, more = multiples(Look(TWO), 1, SECOND.learner)
    assert [chart.axes.title for chart in shown] == ["B eta = 0.2"]
    assert more == 1


def test_only_compared_curves_have_separate_charts():
    """References alone have no charts, for example in a picture along an axis before its first point."""
    assert has_multiples(Look(TWO))
    references = [replace(curve, is_reference=True) for curve in TWO.curves]
    assert not has_multiples(Look(replace(TWO, curves=references)))
    assert not has_multiples(Look(replace(TWO, curves=[TWO.curves[0], *references])))


def test_many_curves_have_one_chart_per_learner_unless_the_user_decides():
    names = [(learner, size) for learner in ("A", "B") for size in range(MOST_TOGETHER // 2 + 1)]
    curves = [replace(FIRST, name=f"{learner}, {size}", learner=learner) for learner, size in names]
    look = Look(replace(TWO, curves=curves))
    assert look.resolved.multiples
    shown, more = multiples(look, 4, "B")
    assert more == 0
    assert [chart.axes.title for chart in shown] == ["A", "B"]
    assert [sum(bool(series.mark) for series in chart.series) for chart in shown] == [len(curves) // 2] * 2
    assert not Look(TWO).resolved.multiples
    assert not Look(look.view, options=ChartOptions(multiples=False)).resolved.multiples


def test_the_chart_of_a_learner_shows_only_lines_shared_by_its_curves():
    curves = [
        curve_along(f"{learner}, s = {s}", RATES, RATES, learner=learner, apart=(s,))
        for learner in ("A", "B")
        for s in (1, 2)
    ]

    def names(*heights: float) -> list[str]:
        lines = [
            LineView(
                name=f"limit, s = {s}", values=f", s = {s}", kind="limit", apart=(s,), direction="exact",
                formula="", applies_to=("A", "B"), x=RATES, y=height * RATES,
            )
            for s, height in zip((1, 2), heights, strict=True)
        ]  # fmt: skip
        shown, _ = multiples(Look(replace(along("A", "B"), curves=curves, lines=lines)), 4, "A")
        return [series.name for chart in shown for series in chart.series if series.name]

    assert names(3, 4) == ["s = 1", "s = 2"] * 2
    assert names(3, 3) == ["limit", "s = 1", "s = 2"] * 2
