"""Plots of views: extent, bands, windows, and the place of the playhead or cursor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from view_fields import curve_view, replace, view_of

from engine.core import catalogue
from engine.pictures.picture import Marked, Picture
from engine.pictures.view import CurveView, HeatView, LineView, View, index_at, known_places
from hadamard_tui.charts.plots.look import ChartOptions, Look, Pinned
from hadamard_tui.charts.plots.series_builder import mark
from hadamard_tui.charts.plots.values import compares, equals, looked_at, values
from hadamard_tui.charts.plots.view_plot import plot
from hadamard_tui.charts.series import Series

RECORDS = 41
K = np.arange(float(RECORDS))
RATES = np.array([0.001, 0.01, 0.1, 1.0])


def curve(name: str, y: np.ndarray, x: np.ndarray = K, **more: object) -> CurveView:
    facts: dict[str, object] = {
        "learner": name,
        "stderr": np.full(len(y), 0.01),
        "replicas": 4,
        "over": lambda replicas: y,
        "lost": np.zeros(len(y), int),
        "diverged": 0,
        "diverged_at": None,
        "complete": True,
        "planned": len(y),
    }
    return curve_view(name=name, x=x, y=y, **(facts | more))  # type: ignore[arg-type]


def played(name: str, y: np.ndarray, scale: float, point: int, number: int) -> CurveView:
    """Curve along the records of the run at a point; its x is a multiple of the clock."""
    clock = K[: len(y)]
    return curve(name, y, scale * clock, number=number, point=point, clock=clock, planned=RECORDS)


def of_runs(*curves: CurveView, measure: str = "sharpness", **more: object) -> View:
    """View of a picture along two runs; their x are a tenth and a fifth of their clocks."""
    picture = Picture(x="eta*step", measure=catalogue.make("measures", measure), curves="eta")

    def x_of(point: int, clock: float) -> float:
        return (0.1, 0.2)[point] * min(clock, RECORDS - 1)

    facts = {"curves": [*curves], "places_of": lambda view: 0.2 * K, "x_of": x_of, "clock": "step"}
    return view_of(picture, "eta*step", "sharpness", False, False, 1e-5, **(facts | more))  # type: ignore[arg-type]


GROWING = np.sqrt(K)
FIRST, SECOND = played("eta = 0.1", GROWING, 0.1, 0, 0), played("eta = 0.2", 2 * GROWING, 0.2, 1, 1)
TWO = of_runs(FIRST, SECOND)


def along(*names: str, y: np.ndarray | None = None) -> View:
    """View of a picture along an axis."""
    picture = Picture(x="alpha", measure=catalogue.make("measures", "excess-risk"))
    curves = [
        curve(curve_name, (at + 1) * RATES if y is None else y, RATES, number=at)
        for at, curve_name in enumerate(names)
    ]
    return view_of(picture, "alpha", "excess risk", True, True, 1e-11, curves=curves)


def test_a_shared_name_and_a_shared_line_stand_once_in_the_legend():
    y = np.sqrt(RATES)
    curves = [curve(f"net, s = {s}", s * y, RATES, learner="net", apart=(s,)) for s in (1, 2)]
    picture = Picture(x="alpha", measure=catalogue.make("measures", "excess-risk"), curves="s")

    def chart(*heights: float) -> list[str]:
        lines = [
            LineView(
                name=f"limit, s = {s}", values=f", s = {s}", kind="limit", apart=(s,), direction="exact",
                formula="",
                applies_to=("net",), x=RATES, y=height * y,
            )
            for s, height in zip((1, 2), heights, strict=True)
        ]  # fmt: skip
        view = view_of(picture, "alpha", "excess risk", True, True, 1e-11, curves=curves, lines=lines)
        return [series.name for series in plot(Look(view)).series if series.name]

    assert chart(3, 3) == ["limit", "s = 1", "s = 2"]
    assert chart(3, 4) == ["limit, s = 1", "limit, s = 2", "s = 1", "s = 2"]


def test_equal_lines_of_several_curves_are_drawn_once_without_an_owner():
    curves = [
        curve(curve_name, RATES * size, RATES, number=size) for size, curve_name in enumerate(("u", "v"))
    ]

    def names(height: float) -> list[str]:
        lines = [
            LineView(
                name=f"lazy-flow of {own_curve.name}", kind="lazy-flow", title="lazy flow",
                curve=own_curve.name,
                direction="asymptotic", formula="", applies_to=(own_curve.name,), x=RATES, y=scale * RATES,
            )
            for own_curve, scale in zip(curves, (1.0, height), strict=True)
        ]  # fmt: skip
        picture = Picture(x="alpha", measure=catalogue.make("measures", "excess-risk"))
        view = view_of(picture, "alpha", "excess risk", True, True, 1e-11, curves=curves, lines=lines)
        return [series.name for series in plot(Look(view)).series if series.name]

    assert names(1 + 1e-13) == ["lazy flow", "u", "v"]
    assert names(1.001) == ["lazy flow of u", "lazy flow of v", "u", "v"]


@pytest.mark.parametrize(("other_learners", "shown"), [([], ["limit, s = 2", "s = 1"]), (["tanh"], None)])
def test_a_line_names_its_learner_if_other_learners_have_or_await_curves(other_learners: list[str], shown):
    def line_of_learner(learner: str, s: int) -> LineView:
        return LineView(
            name=f"limit of {learner}, s = {s}", values=f", s = {s}", kind="limit", curve=learner, apart=(s,),
            direction="exact",
            formula="", applies_to=(learner,), x=RATES, y=s * RATES,
        )  # fmt: skip

    picture = Picture(x="alpha", measure=catalogue.make("measures", "excess-risk"), curves="s")
    lines = [line_of_learner("net", 2), *(line_of_learner(name, 3) for name in other_learners)]
    curves = [curve("net, s = 1", RATES, RATES, learner="net", apart=(1,))]
    view = view_of(picture, "alpha", "excess risk", True, True, 1e-11, curves=curves, lines=lines)
    names = [series.name for series in plot(Look(view)).series if series.name]
    assert names == (shown or [*(line.name for line in lines), "net, s = 1"])


def named(series: Sequence[Series], name: str) -> Series:
    return next(one_series for one_series in series if one_series.name == name)


def test_curves_end_at_the_shown_point_and_are_faint_beyond_the_playhead():
    drawn = plot(Look(TWO, point=1, shown=20.0, place=10.0))
    series = drawn.series
    now = named(series, "eta = 0.2")
    assert now.x.tolist() == (0.2 * K[:11]).tolist()
    ahead = [(part.x[0], part.x[-1]) for part in series if part.faint]
    assert (2.0, 4.0) in ahead
    assert drawn.playhead == 2.0
    other = named(series, "eta = 0.1")
    assert other.x[-1] == 2.0, "another run is faint beyond the same x"
    assert drawn.axes.x_limits == (0.0, 8.0)


def test_an_ended_run_is_drawn_completely_while_another_run_is_played():
    drawn = plot(Look(TWO, point=1, shown=20.0, place=20.0))
    assert len(named(drawn.series, "eta = 0.1").x) == RECORDS
    assert len(named(drawn.series, "eta = 0.2").x) == 21
    assert drawn.playhead is None


def test_bands_windows_and_smoothing_follow_the_chart_options():
    look = Look(TWO, point=1)
    assert all(part.band is not None for part in plot(look).series)
    assert all(part.band is None for part in plot(replace(look, options=ChartOptions(band=False))).series)
    near = plot(replace(look, options=ChartOptions(window=(2.0, 4.0))))
    assert near.axes.x_limits == (2.0, 4.0)
    assert near.axes.y_limits[1] < 2 * np.sqrt(40)
    assert len(named(near.series, "eta = 0.2").x) == 13, "one beyond each end, for the line goes on"
    smooth = plot(replace(look, options=ChartOptions(smooth=True))).series
    expected = [2 * GROWING[0], *(2 * GROWING[i - 1 : i + 2].mean() for i in range(1, 40)), 2 * GROWING[-1]]
    assert named(smooth, "eta = 0.2").y == pytest.approx(expected)
    assert sum(part.faint for part in smooth) == 2


def test_curves_along_a_sweep_axis_are_not_smoothed_and_have_margins():
    series, axes, *_ = plot(Look(along("D = 2"), options=ChartOptions(smooth=True)))
    assert named(series, "D = 2").y.tolist() == RATES.tolist()
    assert axes.x_log
    assert axes.y_log
    assert axes.x_limits[0] < 0.001 < 1.0 < axes.x_limits[1]


def test_a_log_axis_follows_lines_at_most_eight_decades_below_all_curves():
    y = np.geomspace(1, 1e-6, len(RATES))

    def foot(last: float) -> float:
        line = LineView(
            name="limit", kind="limit", direction="exact", formula="", applies_to=(), x=RATES,
            y=np.geomspace(1, last, len(RATES)),
        )  # fmt: skip
        return plot(Look(replace(along("D = 2", y=y), lines=[line]))).axes.y_limits[0]

    assert foot(1e-9) < 1e-9
    assert foot(1e-200) > 1e-15


@pytest.mark.parametrize("log", [False, True])
def test_the_y_axis_includes_bands_unless_a_log_axis_would_grow_far_longer(log: bool):
    y, errors = np.full(len(RATES), 2.0), np.array([1.9, 0.5, 1.0, 1.9])
    view = along("D = 2")
    view = replace(view, curves=[curve("D = 2", y, RATES, stderr=errors)])
    low, high = plot(Look(view, options=ChartOptions(y_log=log))).axes.y_limits
    assert high > 3.9
    assert low < 1.0
    assert low > 0.2 if log else low < 0.1


def test_bands_of_rounding_errors_do_not_stretch_a_log_axis():
    y, errors = np.array([0.5, 0.1, 3e-34, 0.01]), np.array([0.1, 0.02, 1e-34, 0.002])
    view = along("D = 2")
    view = replace(view, curves=[curve("D = 2", y, RATES, stderr=errors)])
    axes = plot(Look(view, options=ChartOptions(y_log=True))).axes
    assert axes.y_rounding == 3e-34
    assert 1e-3 < axes.y_limits[0] < 0.01


def test_a_band_does_not_extend_a_positive_axis_below_0():
    view = along("D = 2")
    view = replace(view, curves=[curve("D = 2", np.array([1.0, 2, 3, 4]), RATES, stderr=np.full(4, 1.5))])
    assert plot(Look(view, options=ChartOptions(y_log=False))).axes.y_limits[0] == 0


def test_the_user_overrides_the_log_axes_of_a_picture():
    assert not plot(Look(along("D = 2"), options=ChartOptions(x_log=False, y_log=False))).axes.y_log
    assert not plot(Look(along("D = 2"), options=ChartOptions(x_log=False))).axes.x_log
    below = plot(Look(along("D = 2", y=-RATES), options=ChartOptions(y_log=True)))
    assert not below.axes.y_log
    assert "above 0" in below.screen_note
    assert below.file_note == "", "files do not show remarks on the options of the app"


def test_axes_change_in_few_steps_during_a_run():
    noise = 0.01 * np.sin(np.arange(RECORDS))
    limits = {
        plot(Look(of_runs(played("eta = 0.1", (np.sqrt(K) + noise)[:n], 0.1, 0, 0)))).axes.y_limits
        for n in range(5, RECORDS)
    }
    assert len(limits) <= 12
    assert max(high for _, high in limits) < 8


def test_a_diverging_risk_does_not_stretch_the_axes_but_other_measures_do():
    wild = played("wild", 1.2**K, 0.1, 0, 0)
    risk = of_runs(wild, played("tame", np.exp(-K), 0.1, 0, 1), measure="loss")
    assert plot(Look(risk)).axes.y_limits == (0.0, pytest.approx(2.08))
    assert plot(Look(of_runs(wild))).axes.y_limits[1] > 1.2**40


def test_pinned_runs_have_small_letters_dashes_and_no_bands_in_any_picture():
    series = plot(Look(along("D = 2"), pinned=[Pinned("run 1", along("D = 2"))])).series
    title, other, now = series
    assert title.name == "run 1, small letters"
    assert (other.mark, now.mark) == ("a", "A")
    assert other.band is None
    assert other.colour == now.colour
    assert (other.style, now.style) == ("dash-dot", "solid")


def test_lines_are_drawn_under_curves_and_show_formulas_of_the_measure():
    line = LineView(
        name="ri", kind="ri", direction="lower", formula="1 − k/d", applies_to=("GD",), x=RATES, y=RATES
    )
    picture = replace(along("D = 2"), lines=[line])
    marked = replace(
        picture,
        picture=Picture(x="alpha", measure=picture.picture.measure),
        marks=[Marked("here", x=(0.1,))],
    )
    assert [(series.name, series.formula) for series in plot(Look(marked)).series] == [
        ("here", ""),
        ("ri", "1 − k/d"),
        ("D = 2", ""),
    ]
    read = replace(picture, as_measured=False)
    assert [series.formula for series in plot(Look(read)).series] == ["from 1 − k/d", ""], (
        "of what was made of it"
    )


def test_the_shown_place_is_the_nearest_to_the_cursor_or_else_the_newest():
    view = replace(along("D = 2", "D = 3"), x_of=lambda point, clock: float(RATES[::-1][point]))
    assert Look(view, point=2, newest=1).x == 0.1
    assert Look(view, point=2).x == 0.01
    assert Look(view, cursor=0.4).x == 1.0, "by factors where x is logarithmic"
    assert Look(view, cursor=0.4, options=ChartOptions(x_log=False)).x == 0.1
    assert Look(view, cursor=0.1).playhead == 0.1
    assert Look(view, cursor=1.0).playhead is None
    assert [reading.value for reading in values(Look(view, cursor=0.01))] == [0.01, 0.02]
    best = looked_at(Look(view, cursor=0.01), "D = 3")
    assert best is not None
    assert best.name == "D = 2", "of a risk the lowest"


def test_a_complete_sweep_shows_numbers_at_the_last_place_of_most_curves():
    view = replace(along("a", "b"), x_of=lambda point, clock: float(RATES[::-1][point]))
    a, b = view.curves
    short = [replace(view_curve, x=RATES[:2], y=view_curve.y[:2], planned=2) for view_curve in (a, b)]
    late = replace(a, name="c", x=RATES[2:], y=a.y[2:], planned=2)
    assert Look(view, point=2, is_complete=True).x == 1.0, "though the run at 0.01 came last"
    look = Look(replace(view, curves=[short[0], b]), point=2, is_complete=True)
    assert look.x == 0.01
    look = Look(replace(view, curves=[*short, late]), point=0, is_complete=True)
    assert (look.x, look.shown_at_in_words) == (0.01, "α = 0.01")
    assert [reading.state for reading in values(look)][2] == "from 0.1"
    assert [reading.state for reading in values(replace(look, cursor=1.0))] == [
        "to 0.01",
        "to 0.01",
        "learning",
    ]


def test_a_finished_sweep_names_the_place_of_its_numbers_for_unequal_runs():
    short, long = (
        played(f"η = {n}", 1 / (1 + K[:n]), 1.0, 0, at) for at, n in enumerate((len(K) // 2, len(K)))
    )
    end = float(K[len(K) // 2 - 1])
    view = of_runs(short, long, measure="loss", x_of=lambda point, clock: min(clock, end))
    look = Look(view, is_complete=True)
    assert (look.x, look.shown_at, look.shown_at_in_words) == (end, end, f"η·step = {end:g}")
    assert not Look(view).shown_at_in_words, "during the run, the progress display shows the place"
    assert not replace(look, view=replace(view, curves=[short])).shown_at_in_words
    assert not replace(look, moved=True).shown_at_in_words


def bounded(end: float, moved: bool = False, place: float = np.inf) -> Look:
    """View of GD on its bound, which falls from 1 to `end`, and of a net at a tenth of it."""
    height = 1 - (1 - end) * K / K[-1]
    curves = [
        played(learner_name, y, 1.0, 0, at)
        for at, (learner_name, y) in enumerate({"GD": height, "net": height / 10}.items())
    ]
    line = LineView(name="ri", kind="ri", direction="lower", formula="", applies_to=("GD",), x=K, y=height)
    view = of_runs(*curves, measure="loss", lines=[line], x_of=lambda point, clock: min(clock, K[-1]))
    return Look(view, place=place, moved=moved)


def test_a_run_with_a_vanishing_bound_shows_numbers_at_half_the_bound():
    look = bounded(0.0)
    assert (look.x, look.shown_at, look.shown_at_in_words) == (40, 20, "η·step = 20")
    gd, net = values(look)
    assert (gd.value, gd.height, gd.ratio, gd.binds) == (0.5, 0.5, 1.0, True)
    assert (net.value, net.binds) == (0.05, False)
    best = looked_at(look, "GD")
    assert best is not None
    assert best.name == "net"
    assert look.past(look.view.curves[0]) == len(K), "the curves are drawn to their end"


def test_signed_values_have_no_ratio_to_a_line():
    view = bounded(0.02).view
    assert values(Look(view))[0].ratio == 1.0
    down, net = view.curves[0], view.curves[1]
    signed = replace(view, curves=[down, replace(net, y=net.y - 0.5)])
    assert [(reading.ratio, reading.height is None) for reading in values(Look(signed))] == 2 * [
        (None, False)
    ]


@pytest.mark.parametrize("look", [bounded(0.0, moved=True), bounded(0.02)])
def test_numbers_are_shown_at_a_chosen_end_or_if_the_bound_is_positive(look: Look):
    assert look.shown_at == look.x == 40
    assert not look.shown_at_in_words
    assert values(look)[0].value == pytest.approx(look.view.lines[0].y[-1])


def test_numbers_along_an_axis_are_shown_at_the_playhead():
    bound = lower("ri", np.array([1.0, 0.8, 0.1, 0.0]), "GD")
    view = replace(along("GD"), lines=[bound], x_of=lambda point, clock: 1.0)
    assert Look(view, is_complete=True).shown_at == Look(view).shown_at == 1.0


def test_numbers_are_shown_at_the_playhead():
    assert bounded(0.0, place=7.0).shown_at == 7


def test_only_minimised_measures_have_a_best_learner_and_ties_are_counted():
    same, near = along("a", "b", y=np.full(4, 4e-11)), along("a", "b", y=RATES)
    for view, count in (
        (same, 1),
        (replace(near, curves=[near.curves[0], curve("b", RATES * 1.1, RATES)]), 0),
    ):
        best = looked_at(Look(replace(view, y_log=True)), "b")
        assert best is not None
        assert (best.name, equals(Look(replace(view, y_log=True)), best)) == ("a", count)
    distance = replace(same, picture=replace_measure(same, "distance"))
    chosen = looked_at(Look(distance), "b")
    assert chosen is not None
    assert (chosen.name, compares(distance), compares(same)) == ("b", False, True)
    assert not compares(along("a")), "one alone is no best"


def test_numbers_count_as_0_where_the_log_chart_shows_0():
    falling = np.array([1e3, 1e-6, 1.1e-9, 4.4e-12])
    for y, rounding in ((falling, 0.0), (np.array([1.0, 0.1, 0.01, 1e-29]), 1e-29)):
        view = along("a", y=y)
        [value] = values(Look(view, cursor=1.0))
        assert (value.value, value.rounding) == (y[-1], rounding)
        assert values(Look(replace(view, y_log=False), cursor=1.0))[0].rounding == view.quantity.rounding


def replace_measure(view: View, name: str) -> Picture:
    return Picture(x=view.picture.x, measure=catalogue.make("measures", name))


def test_an_infinite_ratio_is_no_value_and_no_best_learner():
    lost = curve("a", np.array([1.0, 0.5, 0.2, np.inf]), RATES)
    view = replace(along("a"), curves=[lost], y_log=False)
    [value] = values(Look(view, cursor=1.0))
    assert value.value is None
    assert (
        looked_at(Look(replace(view, curves=[lost, replace(lost, name="b", learner="b")]), cursor=1.0), "a")
        is None
    )
    [before] = values(Look(view, cursor=0.1))
    assert before.value == 0.2


def test_all_runs_of_a_picture_show_values_at_equal_x():
    [first, second] = values(Look(TWO, point=1, shown=20.0, place=10.0))
    assert second.value == pytest.approx(2 * np.sqrt(10))
    assert first.value == pytest.approx(np.sqrt(20)), "at eta*step = 2, too"
    chosen = looked_at(Look(TWO, point=1, shown=20.0, place=10.0), "eta = 0.2")
    assert chosen is not None
    assert chosen.name == "eta = 0.2", "a measure that is no risk has no best"


def test_looking_back_shows_the_state_of_every_learner_at_the_playhead():
    both = of_runs(*(replace(view_curve, ended=True) for view_curve in (FIRST, SECOND)))
    pinned = Look(both, point=1, shown=20.0, place=10.0, pinned=[Pinned("before", both)])
    assert [reading.state for reading in values(pinned)] == 4 * ["learning"]
    assert values(replace(pinned, place=20.0))[0].state == "done", "its run ended before"
    assert [reading.state for reading in values(Look(both, point=1))] == 2 * ["done"]


def test_a_reference_independent_of_an_axis_is_drawn_once_without_values():
    y = np.linspace(1, 0.1, RECORDS)

    def reference(at: int, y: np.ndarray) -> CurveView:
        more = {"apart": (at,), "is_reference": True, "learner": "flow"}
        return replace(played(f"flow, eta = {at}", y, 0.1, at, 2 + at), **more)

    nets = [replace(FIRST, apart=(0,)), replace(SECOND, apart=(1,))]

    def names(*flows: CurveView) -> list[str]:
        return [series.name for series in plot(Look(of_runs(*nets, *flows))).series if series.name]

    assert names(reference(0, y), reference(1, y[:5])) == ["eta = 0.1", "eta = 0.2", "flow"]
    assert names(reference(0, y), reference(1, 2 * y))[2:] == ["flow, η = 0", "flow, η = 1"]


def test_the_state_at_a_place_of_an_axis_reports_progress_and_divergence():
    partly_lost = curve("GD", RATES, RATES, lost=np.array([0, 0, 1, 4]), ended=True, complete=False)
    at_work = curve("net", K[:3], K[:3], ended=False, complete=False)
    rest = curve("late", RATES[2:], RATES[2:], ended=True, complete=False, planned=4)
    view = replace(along("x"), curves=[partly_lost, at_work, rest])
    states = [[reading.state for reading in values(Look(view, cursor=x))] for x in (0.001, 0.1, 1.0)]
    assert states == [
        ["done", "not here", "waiting"],
        ["diverged: 1/4", "not here", "done"],
        ["diverged", "learning", "done"],
    ]


def test_a_curve_is_compared_with_its_strongest_bound_or_most_informative_line():
    def line(kind: str, direction: str, height: float, **more: object) -> LineView:
        y = np.full(len(RATES), height)
        facts = {
            "name": kind,
            "kind": kind,
            "direction": direction,
            "formula": "",
            "applies_to": ("GD",),
            "x": RATES,
            "y": y,
        }
        return LineView(**(facts | more))  # type: ignore[arg-type]

    exact, far = line("exact", "exact", 3.0), line("far", "asymptotic", 4.0)
    low, high = line("low", "lower", 1.0), line("high", "lower", 2.0)
    ahead = line("ahead", "lower", 9.0, applies_to=("other",))
    view = along("GD", "free")
    for lines, kind, ratio in (
        ([low, high, exact, ahead], "high", 0.05),
        ([far, exact], "exact", 0.1 / 3),
        ([far], "far", 0.025),
    ):
        [gd, free] = values(Look(replace(view, lines=lines), cursor=0.1))
        assert gd.line is not None
        assert (gd.line.kind, gd.ratio, gd.binds) == (kind, pytest.approx(ratio), True)
        beaten = free.line.kind if free.line is not None else None
        assert (beaten, free.binds) == ("ahead", False) if low in lines else (None, True)
    assert values(Look(view, cursor=0.1))[0].line is None
    edges = [line("far", "reference", height, name=f"{height}") for height in (1.0, 2.0)]
    assert values(Look(replace(view, lines=edges), cursor=0.1))[0].line is None, "two edges of a band"
    lazy_line = line("own", "asymptotic", 5.0, curve="GD", applies_to=("GD",))
    [gd, free] = values(
        Look(replace(view, lines=[replace(far, applies_to=("GD", "free")), lazy_line]), cursor=0.1)
    )
    assert [reading.line is not None and reading.line.kind for reading in (gd, free)] == ["own", "far"]


def test_the_selected_cell_shows_the_value_of_every_learner():
    heats = [HeatView(name, RATES, K[:3], np.outer(K[:3], RATES) + at, None) for at, name in enumerate("ab")]
    picture = Picture(x="alpha", y="cw", measure=catalogue.make("measures", "loss"))
    view = view_of(picture, "alpha", "loss", True, False, 1e-11, heats=heats, y_of=lambda point: float(point))
    assert [reading.value for reading in values(Look(view, point=2, cursor=0.1))] == pytest.approx([0.2, 1.2])
    assert [reading.value for reading in values(Look(view, cursor=0.1, height=1.4))] == pytest.approx(
        [0.1, 1.1]
    )


def lower(kind: str, y: np.ndarray, *bound: str, direction: str = "lower") -> LineView:
    return LineView(name=kind, kind=kind, direction=direction, formula="", applies_to=bound, x=RATES, y=y)


def region(view: View) -> np.ndarray | None:
    """Upper border of the shaded region, or None."""
    regions = [series for series in plot(Look(view)).series if series.is_region]
    assert all(shaded.faint and not shaded.name and np.isnan(shaded.y).all() for shaded in regions)
    if not regions:
        return None
    assert regions[0].band is not None
    assert (regions[0].band[0] == -np.inf).all(), "down to the foot of the axis"
    return regions[0].band[1]


def test_the_forbidden_region_of_bound_learners_is_shaded_but_not_for_conjectures():
    view = along("GD", "net")
    low, high = lower("low", RATES, "GD"), lower("high", 2 * RATES[::-1], "GD")
    above = region(replace(view, lines=[low, high]))
    assert above is not None
    assert above.tolist() == np.maximum(low.y, high.y).tolist(), "a learner is held by all of its bounds"
    other = lower("other", np.full(4, 0.5), "net")
    above = region(replace(view, lines=[low, high, other]))
    assert above is not None
    assert above.tolist() == np.minimum(np.maximum(low.y, high.y), 0.5).tolist(), "of learners the least held"
    for nothing in (
        [lower("ri", RATES, "GD", direction="conjecture")],
        [lower("ri", RATES, "GD", direction="exact")],
        [lower("ri", RATES, "not here")],
        [],
    ):
        assert region(replace(view, lines=nothing)) is None


def test_a_note_states_the_width_of_smoothing():
    assert plot(Look(TWO, options=ChartOptions(smooth=True))).smoothed == "averaged over ± 1 point"
    longer = of_runs(replace(FIRST, planned=320))
    assert plot(Look(longer, options=ChartOptions(smooth=True))).file_note == "averaged over ± 10 points"
    assert plot(Look(TWO)).smoothed == ""
    assert plot(Look(along("D = 2"), options=ChartOptions(smooth=True))).smoothed == ""


def test_46_learners_have_distinct_letters_in_both_cases():
    letters = [mark(number) for number in range(46)]
    assert len(set(letters)) == 46
    assert letters[:3] == ["A", "B", "C"]
    assert len({*letters, *map(str.lower, letters)}) == 2 * 46
    assert mark(46) == "A"


def limits_of(*ys: np.ndarray, rounding: float = 1e-11) -> tuple[tuple[float, float], float]:
    view = replace(along("x"), rounding=rounding)
    curves = [curve(f"c{at}", y, K[: len(y)] + 1, number=at, stderr=None) for at, y in enumerate(ys)]
    chart_axes = plot(Look(replace(view, curves=curves))).axes
    return chart_axes.y_limits, chart_axes.y_rounding


def test_rounding_errors_do_not_stretch_a_log_axis():
    (low, high), rounding = limits_of(np.array([7e-16, 0.05, 0.2]), np.array([0.1, 0.3, 0.02]))
    assert 0.005 < low < 0.02
    assert 0.3 < high < 1
    assert rounding == 7e-16
    single = limits_of(np.array([7e-8, 0.05, 0.2]), rounding=1e-5)
    assert single[1] == 7e-8


def test_limits_include_a_curve_of_rounding_errors_and_gradually_falling_values():
    (low, _), rounding = limits_of(np.array([7e-16, 0.05, 0.2]), np.array([3e-16, 4e-16, 4e-16]))
    assert low < 3e-16
    assert rounding == 0
    (low, _), _ = limits_of(10.0 ** -np.arange(20))
    assert low < 1e-19, "data that fall by factors are no rounding"
    (low, _), _ = limits_of(np.array([1.0, 1e-3, 1e-7]))
    assert low < 1e-7, "what is above rounding is data, whatever the gap"


@pytest.mark.parametrize(
    ("measure", "values"), [("change", [3e-16, 4e-9, 2e-7]), ("loss", [4e-27, 1e-27, 0])]
)
@pytest.mark.parametrize("y_log", [True, False])
def test_values_counted_as_0_lie_at_the_foot_of_an_ordinary_axis(
    measure: str, values: list[float], y_log: bool
):
    y = np.array(values)
    view = replace(along("x"), curves=[curve("a", y, K[:3], stderr=None, clock=K[:3])], y_log=y_log)
    view = replace(view, picture=Picture(x="k", measure=catalogue.make("measures", measure)))
    axes = plot(Look(view)).axes
    assert not axes.y_log
    assert axes.y_limits[1] >= 0.5
    assert Look(view).rounding >= y.max(), "tables show it as 0, too"


def test_values_counted_as_0_do_not_stretch_a_log_axis():
    ys = [np.array([0.2, 0.1, 0.05]), np.array([3e-16, 4e-12, 2e-9])]
    view = replace(along("x"), picture=Picture(measure=catalogue.make("measures", "change")))
    curves = [curve(f"c{at}", y, K[:3] + 1, number=at, stderr=None) for at, y in enumerate(ys)]
    assert plot(Look(replace(view, curves=curves))).axes.y_limits[0] > 1e-3


def test_a_risk_with_a_passing_peak_is_shown_completely():
    up = np.concatenate([np.linspace(1, 2.8, 21), np.linspace(2.8, 0, 20)])
    assert plot(Look(of_runs(played("A", up, 0.1, 0, 0), measure="loss"))).axes.y_limits[1] > 2.8
    far = plot(Look(of_runs(played("A", 10 * up, 0.1, 0, 0), measure="loss"))).axes.y_limits[1]
    assert far > 28, "whatever the scale"
    spike = np.where(K == 20, 90.0, 1.0)
    assert plot(Look(of_runs(played("A", spike, 0.1, 0, 0), measure="loss"))).axes.y_limits[1] < 5


def test_a_vertical_mark_spans_the_height_of_the_chart():
    view = replace(along("D = 2", y=np.array([1e-30, 0.1, 1.0, 1.0])), marks=[Marked("here", x=(0.1,))])
    series, axes, *_ = plot(Look(view))
    assert tuple(named(series, "here").y) == axes.y_limits


def test_a_level_spans_the_axis_also_if_places_begin_at_0():
    view = replace(of_runs(played("A", 1 - K / 40, 0.1, 0, 0)), marks=[Marked("half", y=(0.5,))])
    assert named(list(plot(Look(view)).series), "half").x.tolist() == [0, 4]
    assert named(list(plot(Look(replace(view, x_log=True))).series), "half").x.tolist() == [0.1, 4]


def test_an_axis_of_few_places_has_ticks_exactly_at_its_places():
    assert [place for place, _ in plot(Look(along("D = 2"))).axes.x_names] == RATES.tolist()
    assert plot(Look(TWO)).axes.x_names == ()


def ended(name: str, x: np.ndarray, y: np.ndarray, number: int, **more: object) -> CurveView:
    return curve(name, y, x, number=number, ended=True, stderr=None, **more)


def test_the_legend_marks_a_curve_without_points_as_diverged():
    nowhere = ended("lost", RATES, np.full(4, np.nan), 1, lost=np.full(4, 4))
    partly = ended("partly", RATES, np.array([1, 1, 1, np.nan]), 2, lost=np.array([0, 0, 1, 4]))
    view = replace(along("x"), curves=[ended("whole", RATES, RATES, 0), nowhere, partly])
    names = [series.name for series in plot(Look(view)).series if series.name]
    assert names == ["whole", "lost (diverged)", "partly"]


def test_the_note_names_curves_that_do_not_span_the_axis():
    complete = ended("whole", RATES, RATES, 0)
    view = replace(along("x"), places_of=lambda any_view: RATES)
    few = [ended(curve_name, RATES[:2], RATES[:2], at) for at, curve_name in enumerate(("b", "c"), start=1)]
    late = ended("late", RATES[2:], RATES[2:], 3)
    lost = ended("lost", RATES, np.array([1, 1, 1, np.nan]), 4, lost=np.array([0, 0, 1, 4]))
    at_work = curve("at work", RATES[:2], RATES[:2], number=5, planned=4)

    def note(*curves: CurveView) -> str:
        return plot(Look(replace(view, curves=[*curves]))).note

    assert note(complete) == note(complete, at_work) == ""
    assert note(complete, *few) == "B, C: not run beyond α = 0.01"
    assert note(complete, ended("single", RATES[1:2], RATES[1:2], 1)) == "B: run only at α = 0.01"
    assert note(complete, late, lost) == "D: not run below 0.1 · E: diverged at 1"
    later = ended("later", RATES[3:], RATES[3:], 6)
    later = replace(later, x=RATES[1:], y=RATES[1:], planned=3)
    assert note(complete, late, later) == "D, G: not run below 0.1, 0.01"


def passing(name: str, x: np.ndarray, y: np.ndarray, **more: object) -> CurveView:
    return curve(name, y, x, clock=np.arange(float(len(x))), is_passed=True, **more)


def of_margin(*curves: CurveView) -> View:
    return of_runs(*curves, places_of=known_places, x_of=lambda point, clock: None)


def test_points_moving_backwards_on_a_measured_x_are_not_drawn():
    x = np.array([0.0, -0.5, 0.3, 0.2, 0.4, 1.0])
    series = plot(Look(of_margin(passing("A", x, np.arange(6.0))))).series
    assert named(series, "A").x.tolist() == [0.0, 0.3, 0.4, 1.0]
    falling = plot(Look(of_margin(passing("A", 1 - x, np.arange(6.0)))))
    assert named(list(falling.series), "A").y.tolist() == [0.0, 2.0, 4.0, 5.0]
    assert falling.axes.x_falls
    assert not plot(Look(of_margin(passing("A", x, np.arange(6.0))))).axes.x_falls
    assert not plot(Look(TWO)).axes.x_falls


@pytest.mark.parametrize(("x", "index"), [(1.0, 0), (0.5, 2), (0.4, 2), (0.05, None)])
def test_a_measured_x_is_reached_at_the_start_or_at_the_crossing(x: float, index: int | None):
    falling = passing("A", np.array([1.0, 0.8, 0.4, 0.1]), np.arange(4.0))
    assert index_at(falling, x) == index


def test_a_reference_at_a_single_measured_x_is_drawn_as_a_level():
    x = np.linspace(1.0, 0.1, 6)
    least = passing("least", np.where(np.arange(6) < 1, 1.0, 0.0), np.full(6, 2.0), is_reference=True)
    level = named(list(plot(Look(of_margin(passing("A", x, x), least))).series), "least")
    assert (level.x.min(), level.x.max()) == (0.1, 1.0)
    assert (level.y == 2.0).all()


def test_a_note_explains_the_line_at_the_place_of_the_table():
    shown = plot(Look(along("D = 2"), cursor=0.01))
    assert shown.screen_note == "┊ learner table: values at α = 0.01"
    assert shown.file_note == "", "files have no playhead"
    assert plot(Look(along("D = 2"), cursor=1.0)).screen_note == "", "there is none at the end"
    assert plot(Look(TWO, point=1, shown=20.0, place=10.0)).screen_note == "", (
        "nor words for a run that is played back"
    )


def test_equal_marks_of_several_curves_are_merged():
    def names(*marks: Marked) -> list[str]:
        return [series.name for series in plot(Look(replace(along("D = 2"), marks=marks))).series][:-1]

    same = [Marked(f"2/(πd), labels = {label}", y=(0.1,)) for label in ("x₁", "sign x₁")]
    assert names(*same) == ["2/(πd)"]
    assert names(same[0], same[1]._replace(y=(0.2,))) == [mark.name for mark in same]
    assert names(Marked("here", x=(0.1,)), Marked("there", x=(0.1,))) == ["here", "there"]


def bound_at(height: float, *bound: str) -> View:
    """View of GD with a constant bound."""
    return replace(along("GD"), lines=[lower("bound", np.full(4, height), *bound)])


def test_the_bound_of_a_pinned_run_is_faint_and_unnamed():
    look = Look(bound_at(0.5, "GD"), pinned=[Pinned("d = 128", bound_at(0.2, "GD"))])
    bounds = [
        series for series in plot(look).series if not series.mark and not series.is_region and len(series.x)
    ]
    assert [(bound.name, bound.faint, bound.y[0]) for bound in bounds] == [
        ("", True, 0.2),
        ("bound", False, 0.5),
    ]
    assert bounds[0].style == "dash-dot", "as its curves"


def test_a_bound_shared_by_both_runs_is_drawn_once():
    look = Look(bound_at(0.5, "GD"), pinned=[Pinned("seed = 0", bound_at(0.5, "GD"))])
    assert [series.name for series in plot(look).series if not series.mark and len(series.x)] == ["", "bound"]


def test_the_region_beside_a_pinned_run_lies_below_both_bounds():
    for ours, pinned in ((0.5, 0.2), (0.2, 0.5)):
        look = Look(bound_at(ours, "GD"), pinned=[Pinned("d = 128", bound_at(pinned, "GD"))])
        [shaded] = [part for part in plot(look).series if part.is_region]
        assert shaded.band is not None
        assert shaded.band[1].tolist() == [0.2] * 4


def test_no_region_is_shaded_if_only_one_run_bounds_a_learner():
    for ours, pinned in ((bound_at(0.5, "GD"), along("GD")), (along("GD"), bound_at(0.5, "GD"))):
        look = Look(ours, pinned=[Pinned("matrix = gaussian", pinned)])
        assert not any(part.is_region for part in plot(look).series)
    other = Look(bound_at(0.5, "GD"), pinned=[Pinned("with EGU", along("EGU"))])
    assert any(part.is_region for part in plot(other).series), "EGU is bound in no run"
