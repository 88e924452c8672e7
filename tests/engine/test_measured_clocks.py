"""Clocks known only from a run can be the x of curves and lines; impossible pictures are refused."""

import numpy as np
import pytest
from building import LLS, experiment, gd, raw

from engine.core.parts import BadInput
from engine.pictures.bounds import bounds_on
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.runtime.sweep_run import run_sweep
from engine.spec import reading
from engine.spec.documents import sweep_of

D = 8
STEPS = {"kind": "steps", "steps": 6, "batch": 1, "records": 3}
FLOW = {"kind": "flow", "time": 1, "records": 4}


def described(x, protocol, learners, **picture):
    pictures = [{"x": x, "measure": "loss", **picture}]
    return reading.parse(raw(learners=learners, d=D, protocol=protocol) | {"pictures": pictures})


def seen(*words, **more):
    setup = described(*words, **more)
    trace = run(setup)
    return view(setup.pictures[0], of_one(setup, trace)), trace


def test_time_is_eta_times_step_for_each_curve():
    time_view, _ = seen("time", STEPS, {"slow": gd(0.01), "fast": gd(0.04)})
    for name, rate in (("slow", 0.01), ("fast", 0.04)):
        np.testing.assert_allclose(time_view.curve(name).x, rate * np.array([0, 2, 4, 6]))
        assert time_view.curve(name).ends.complete
    np.testing.assert_allclose(time_view.places[[0, -1]], [0, 0.24])


def test_a_line_is_drawn_along_the_time_of_each_bound_learner():
    time_view, trace = seen("time", STEPS, {"slow": gd(0.01), "fast": gd(0.04), "EGU": {"update": "egu"}})
    (bound,) = (line for line in trace.lines if line.kind == "ri-signed")
    lines = {line.name: line for line in time_view.lines if line.kind == "ri-signed"}
    assert set(lines) == {"ri-signed of slow", "ri-signed of fast"}
    for name in ("slow", "fast"):
        line = lines[f"ri-signed of {name}"]
        np.testing.assert_array_equal(line.x, time_view.curve(name).x)
        np.testing.assert_array_equal(line.y, bound.values)
        assert line in bounds_on(time_view, time_view.curve(name))


def test_a_line_along_a_shared_time_is_drawn_once():
    time_view, _ = seen("time", STEPS, {"GD": gd(0.01), "again": gd(0.01)})
    (line,) = (line for line in time_view.lines if line.kind == "ri-signed")
    assert (line.name, line.applies_to) == ("ri-signed", ("GD", "again"))


def test_expressions_and_factors_may_use_a_clock():
    time_view, _ = seen("sqrt(time)", STEPS, {"GD": gd(0.01)}, times="1 + time")
    (curve,) = time_view.curves
    np.testing.assert_allclose(curve.x, np.sqrt(0.01 * np.array([0, 2, 4, 6])))
    (line,) = (line for line in time_view.lines if line.kind == "ri-signed")
    np.testing.assert_allclose(line.y, (1 - np.array([0, 2, 4, 6]) / D) * (1 + curve.x**2))


def test_the_playhead_follows_the_furthest_learner():
    time_view, _ = seen("time", STEPS, {"slow": gd(0.01), "fast": gd(0.04)})
    assert time_view.x_of(0, 4) == pytest.approx(0.16)
    assert time_view.x_of(0, np.inf) == pytest.approx(0.24)


def test_a_picture_omits_learners_without_its_clock():
    time_view, _ = seen("time", STEPS, {"GD": gd(0.01), "LLS": LLS})
    assert [(curve.name, curve.number) for curve in time_view.curves] == [("GD", 0)]


def test_evaluations_are_a_clock_of_a_flow():
    evaluations_view, trace = seen("evaluations", FLOW, {"GD": gd(1.0)})
    np.testing.assert_array_equal(evaluations_view.curves[0].x, trace.curves[0].clocks["evaluations"])
    assert evaluations_view.curves[0].x[-1] > 0


def test_a_divergence_has_a_place_on_the_time_axis():
    steps = {"kind": "steps", "steps": 12, "records": 12}
    time_view, trace = seen("time", steps, {"GD": gd(3.0)})
    (curve,) = time_view.curves
    assert curve.ends.diverged == 1
    assert curve.ends.diverged_at == pytest.approx(3.0 * trace.curves[0].diverged_at)


def test_the_last_value_of_a_diverged_run_is_missing():
    steps = {"kind": "steps", "steps": 40, "records": 40}
    axes = [{"name": "eta", "values": [0.1, 3.0]}]
    pictures = [{"x": "eta", "measure": "loss", "read": "last"}]
    document = raw("gaussian", loss="square", learners={"GD": gd("eta")}, d=D, protocol=steps)
    sweep = sweep_of(document | {"axes": axes, "pictures": pictures})
    (curve,) = view(sweep.experiment.pictures[0], run_sweep(sweep)).curves
    assert np.isfinite(curve.y).tolist() == [True, False]


@pytest.mark.parametrize(
    ("x", "protocol", "learner", "more", "where", "reason"),
    [
        ("time", STEPS, LLS, {}, "pictures[0].x", "there is no 'time'; there are step, k, n, d"),
        ("step", "one-pass", LLS, {}, "pictures[0].x", "there is no 'step'; there are k, n, d"),
        ("evaluations", STEPS, gd(0.1), {}, "pictures[0].x", "there is no 'evaluations'"),
        ("k", STEPS, gd(0.1), {"times": "epoch"}, "pictures[0].times", "there is no 'epoch'"),
        ("k", STEPS, gd(0.1), {"at": {"epoch": 1}}, "pictures[0].at", "there is no 'epoch'"),
        ("k", STEPS, gd(0.1), {"y": "step"}, "pictures[0].y", "step counts the progress of a run"),
        ("k", STEPS, gd(0.1), {"read": "last"}, "pictures[0].x", "so x cannot be k"),
    ],
)
def test_an_impossible_picture_is_refused_when_read(x, protocol, learner, more, where, reason):
    with pytest.raises(BadInput) as caught:
        described(x, protocol, {"it": learner}, **more)
    assert caught.value.where == where
    assert reason in caught.value.fault


@pytest.mark.parametrize(
    ("words", "where", "reason"),
    [
        ({"x": "j", "read": {"over": "j", "take": "max"}}, "pictures[0].x", "`read` reduces j to one number"),
        ({"x": "j", "at": {"j": 1}}, "pictures[0].x", "`at` already fixes j"),
        (
            {"x": "k"},
            "pictures[0]",
            "j of spectrum must be named in `x`, `read` or `at`",
        ),
    ],
)
def test_a_picture_without_a_place_for_an_index_is_refused(words, where, reason):
    pictures = [{"measure": "spectrum", **words}]
    with pytest.raises(BadInput) as caught:
        reading.parse(raw(target="all", learners={"LLS": LLS}, d=D) | {"pictures": pictures})
    assert (caught.value.where, caught.value.fault.startswith(reason)) == (where, True)


@pytest.mark.parametrize(
    ("axes", "picture", "where", "reason"),
    [
        (
            [{"name": "eta", "values": [1, 2]}],
            {"x": "eta", "read": {"over": "eta", "first_below": 1}},
            "pictures[0].x",
            "`read` reduces eta to one number",
        ),
        (
            [{"name": "both", "values": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}],
            {"x": "a", "read": {"over": "both", "first_below": 1}},
            "pictures[0].x",
            "`read` reduces both to one number",
        ),
        (
            [{"name": "both", "values": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}],
            {"x": "both"},
            "pictures[0].x",
            "the values of both are tables; name a, b",
        ),
        (
            [{"name": "rule", "set": "learners[0].update.kind", "values": ["gd", "egu"]}],
            {"x": "rule"},
            "pictures[0].x",
            "the values of rule are words; add rule to `curves`, to get a curve for each value",
        ),
        (
            [{"name": "eta", "values": [1, 2]}],
            {"x": "k"},
            "pictures[0]",
            "a curve mixes several values of eta",
        ),
        (
            [{"name": "eta", "values": [1, 2]}, {"name": "size", "values": [4, 8]}],
            {"x": "k", "y": "eta"},
            "pictures[0]",
            "a curve mixes several values of size",
        ),
        (
            [{"name": "eta", "values": [1, 2]}],
            {"x": "k", "curves": "eta", "running": "mean", "times": "eta", "read": {"first_below": "eta"}},
            "pictures[0].x",
            "so x cannot be k",
        ),
        (
            [{"name": "eta", "values": [1, 2]}],
            {"x": "eta", "read": {"first_below": "eta"}},
            "pictures[0]",
            "the picture at eta = 2 differs from that at the first sweep point, "
            "but only the numbers in `marks` may depend on sweep axes",
        ),
    ],
)
def test_an_impossible_picture_along_axes_is_refused(axes, picture, where, reason):
    document = raw(learners={"GD": gd(0.1)}, d=D) | {"axes": axes}
    with pytest.raises(BadInput) as caught:
        sweep_of(document | {"pictures": [{"measure": "loss", **picture}]})
    assert (caught.value.where, reason in caught.value.fault) == (where, True), caught.value


def test_a_picture_may_use_a_clock_that_only_later_points_have():
    axes = [{"name": "eta", "values": [0.1, 0.2, 0.4]}]
    learners = [{"name": "LLS", **LLS}, {"name": "GD", **gd("eta"), "where": "eta > 0.1"}]
    document = raw(d=D, protocol=STEPS) | {"axes": axes, "learners": learners}
    pictures = [{"x": "time", "curves": "eta", "measure": "loss"}]
    sweep = sweep_of(document | {"pictures": pictures})
    assert len(sweep.points) == 3


def test_rules_with_a_rate_have_the_clock_time():
    assert experiment(d=D, protocol=STEPS).protocol.measured_clocks(experiment(d=D).learners[0]) == ("time",)
