"""Bars over the values of an axis, which may be words."""

import numpy as np
import pytest

from engine.core.parts import BadInput
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.documents import sweep_of
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.plots.view_plot import plot
from hadamard_tui.charts.scales import x_ticks


def document(learners, replicas):
    return {
        "problem": {"matrix": {"kind": "rademacher", "n": 16, "d": 4}, "target": "parity"},
        "protocol": {"kind": "steps", "steps": 2},
        "run": {"replicas": replicas, "dtype": "float64"},
        "learners": [
            {"name": learner_name, "architecture": "linear", "update": {"kind": "gd", "lr": rate}}
            for learner_name, rate in learners.items()
        ],
    }


def described(picture, **learners):
    words = document(learners or {"GD": 0.1}, replicas=3)
    words["axes"] = [{"name": "degree", "set": "problem.target.degree", "values": [1, 2, "any"]}]
    words["pictures"] = [{"x": "degree", "measure": "error", "draw": "bars"} | picture]
    return sweep_of(words)


def seen(planned, points=3):
    traces = {number: run(point.experiment) for number, point in enumerate(planned.points[:points])}
    return view(planned.experiment.pictures[0], Results(planned, traces, set(traces)))


def test_words_have_ticks_and_values_at_their_numbers():
    planned = described({})
    view_of_words = seen(planned)
    curve = view_of_words.curve("GD")
    np.testing.assert_array_equal(curve.x, [1, 2, 3])
    expected = [run(point.experiment).curve("GD").mean("error")[-1] for point in planned.points]
    np.testing.assert_allclose(curve.y, expected)
    assert [view_of_words.axes.names.get(x) for x in curve.x] == ["1", "2", "any"]
    axes = plot(Look(view_of_words)).axes
    assert x_ticks(axes, 9) == ((1.0, "1"), (2.0, "2"), (3.0, "any"))
    assert axes.x_limits == (0.5, 3.5)
    assert axes.y_limits[0] == 0


def test_bars_of_two_curves_stand_side_by_side_from_0_to_their_values():
    view_of_words = seen(described({}, GD=0.1, slow=0.01))
    bars = [bar for bar in plot(Look(view_of_words)).series if bar.name in ("GD", "slow")]
    ends = []
    for bar in bars:
        curve = view_of_words.curve(bar.name)
        x, y = bar.x.reshape(3, 5), bar.y.reshape(3, 5)
        np.testing.assert_allclose(y[:, :4], np.outer(curve.y, [0, 1, 1, 0]))
        assert np.isnan(y[:, 4]).all()
        np.testing.assert_allclose(x[:, 2] - x[:, 0], 0.4)
        for edge, heights in zip(bar.band, (0 * curve.y, curve.y), strict=True):
            np.testing.assert_allclose(edge.reshape(3, 5)[:, :4], np.outer(heights, np.ones(4)))
        ends.append((x[:, 0], x[:, 2]))
    np.testing.assert_allclose(ends[0][0], [0.6, 1.6, 2.6])
    np.testing.assert_allclose(ends[0][1], ends[1][0])
    np.testing.assert_allclose(ends[1][1], [1.4, 2.4, 3.4])


@pytest.mark.parametrize("points", [0, 1])
def test_pending_bars_have_room(points):
    chart = plot(Look(seen(described({}), points)))
    assert [len(bar.x) for bar in chart.series if bar.name == "GD"] == [5] * points
    assert chart.axes.x_limits == (0.5, 3.5)


def test_bars_on_a_log_axis_have_equal_width():
    words = document({"GD": "eta"}, replicas=1)
    words["axes"] = [{"name": "eta", "values": [0.01, 0.1, 1], "log": True}]
    words["pictures"] = [{"x": "eta", "measure": "loss", "draw": "bars", "x_log": True}]
    planned = sweep_of(words)
    chart = plot(Look(seen(planned)))
    bar = next(series for series in chart.series if series.name == "GD")
    sides = np.log10(bar.x.reshape(3, 5))
    np.testing.assert_allclose(sides[:, 2] - sides[:, 0], 0.8)
    np.testing.assert_allclose(np.log10(chart.axes.x_limits), [-2.5, 0.5])


@pytest.mark.parametrize(
    ("picture", "place", "reason"),
    [
        ({"x": "step"}, "draw", "bars show the values of an axis or index"),
        ({"draw": "curves"}, "x", "the values of degree are words"),
        ({"x": "2*degree"}, "x", "the values of degree are words"),
    ],
)
def test_bars_without_an_axis_and_words_without_bars_are_refused(picture, place, reason):
    with pytest.raises(BadInput, match=reason) as caught:
        described(picture)
    assert caught.value.where == f"pictures[0].{place}"
