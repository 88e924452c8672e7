"""Readings: measured places, or places between them where a line crosses the threshold."""

import numpy as np
import pytest
from building import gd, raw

from engine.core import catalogue
from engine.core.parts import BadField, BadInput
from engine.pictures import reductions
from engine.pictures.picture import Read
from engine.protocols import Until
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of

PLACES = np.array([1.0, 2, 4, 8, 16, 32])


def test_a_power_law_is_read_off_exactly_in_logarithms():
    powers = np.array([-0.5, -1.0, -2.0])
    values = 3 * PLACES ** powers[:, None]
    places = reductions.read(Read(first_below=0.6, between="log"), values, PLACES, 1)
    np.testing.assert_allclose(places, (0.6 / 3) ** (1 / powers), rtol=1e-12)
    assert reductions.read(Read(first_below=0.6), values, PLACES, 1).tolist() == [32, 8, 4]


def test_a_straight_line_is_read_off_exactly():
    values = np.stack([5 - PLACES / 4, 4 - PLACES / 8]).T[:, None]  # [places, 1, replicas]
    places = reductions.read(Read(first_below=3.2, between="linear"), values, PLACES, 0)
    np.testing.assert_allclose(places, [[7.2, 6.4]], rtol=1e-12)
    rising = reductions.read(Read(first_above=1.3, between="linear"), PLACES / 10, PLACES, 0)
    np.testing.assert_allclose(rising, 13)


@pytest.mark.parametrize("between", ["linear", "log"])
def test_the_reading_without_interpolation_points_is_the_measured_place(between):
    how = Read(first_below=1.0, between=between)
    values = np.array([[0.5, 0.4], [2, 3], [np.nan, 0.5], [np.nan, np.nan]])
    places = reductions.read(how, values, PLACES[:2], 1)
    np.testing.assert_array_equal(places, [1, np.inf, 2, np.nan])


def test_the_reading_is_the_measured_place_if_a_logarithm_is_undefined():
    how = Read(first_below=0.5, between="log")
    assert reductions.read(how, np.array([1.0, 0.0]), PLACES[:2], 0) == 2
    assert reductions.read(how, np.array([1.0, 0.1]), np.array([0.0, 1.0]), 0) == 1


def test_only_readings_of_places_may_set_between():
    with pytest.raises(BadField, match="leave it out"):
        Read(take="max", between="log")


def test_held_values_stay_constant_after_a_replica_has_passed():
    values = np.arange(12.0).reshape(3, 4) ** 2
    passed = np.array([[False, True, False, True], [True, True, True, True], [False] * 4])
    held = reductions.held(values, passed)
    np.testing.assert_array_equal(held, [[0, 1, 1, 1], [16, 16, 16, 16], [np.nan] * 4])
    both = reductions.held(np.stack([values, -values], 2), passed)
    np.testing.assert_array_equal(both, np.stack([held, -held], 2))
    at_once = reductions.held(values, passed[:1])
    np.testing.assert_array_equal(at_once, values[:, [0, 1, 1, 1]])


STOPPED = {
    "matrix": {"kind": "gaussian", "n": 6, "d": 4},
    "learners": {"GD": gd(0.05, kind="dense", widths=[3])},
    "protocol": {"kind": "steps", "steps": 40, "records": 40},
    "replicas": 3,
}


def test_a_measure_is_read_where_another_measure_passes_a_value():
    described = raw(**STOPPED)
    along = [
        {"x": "step", "measure": "loss"},
        {"x": "step", "measure": {"kind": "layer-movement"}, "at": {"layer": 1}},
    ]
    read = {"x": "d", "measure": {"kind": "layer-movement"}, "at": {"layer": 1}}
    ends = [
        {"measure": "loss", "below": 0.8},
        {"clock": "step", "above": 20},
        {"measure": "loss", "below": -1},
    ]
    pictures = [*along, *({**read, "read": {"take": "last", "until": end}} for end in ends)]
    sweep = sweep_of({**described, "pictures": pictures})
    results = run_sweep(sweep)
    _, _, *curves = (view(picture, results).curves[0] for picture in sweep.experiment.pictures)
    trace = results.traces[0].curves[0]
    losses, movements = trace.values("loss").T, trace.array("layer-movement").values[:, :, 0]
    first = [int(np.flatnonzero(losses_of_replica < 0.8)[0]) for losses_of_replica in losses]
    assert len(set(first)) > 1
    movements_there = [movement[place] for movement, place in zip(movements.T, first, strict=True)]
    assert curves[0].y[0] == pytest.approx(np.mean(movements_there))
    assert curves[0].stderr[0] == pytest.approx(np.std(movements_there, ddof=1) / np.sqrt(3))
    assert curves[1].y[0] == pytest.approx(movements[21].mean())
    assert np.isnan(curves[2].y[0])
    labels = [
        view(picture, results).axes.y_label.partition(" once ")[2]
        for picture in sweep.experiment.pictures[2:]
    ]
    assert labels == ["average square loss < 0.8", "step > 20", "average square loss < -1"]


@pytest.mark.parametrize(("kind", "fields", "label"), [
    ("error", {"rows": "train"}, "0/1 error on seen rows"),
    ("error", {"rows": "test", "labels": "true"}, "0/1 error on unseen rows, true labels"),
    ("relative-error", {"rows": "test"}, "relative error on unseen rows"),
    ("error", {}, "0/1 error"),
    ("loss", {"rows": "test"}, "hinge loss on unseen rows"),
])  # fmt: skip
def test_axis_labels_name_the_rows_of_a_measure(kind, fields, label):
    assert catalogue.make("measures", kind, **fields).label_with("hinge") == label


@pytest.mark.parametrize(("until", "message"), [
    ({"measure": "rank", "below": 1}, "rank is measured only where"),
    ({"clock": "time", "above": 1}, "there is no 'time'"),
])  # fmt: skip
def test_a_reading_with_an_unavailable_end_is_refused(until, message):
    described = raw("hadamard", d=4, learners={"EG": {"update": "eg"}})
    picture = {"x": "d", "measure": "loss", "read": {"take": "last", "until": until}}
    with pytest.raises(BadInput, match=message):
        sweep_of({**described, "pictures": [picture]})
    with pytest.raises(BadField, match='set over = "record"'):
        Read(over="rows", take="last", until=Until(measure="loss", below=1.0))


def test_a_reading_is_infinite_only_once_all_its_points_are_computed():
    axes = [{"name": "size", "values": [4, 8]}, {"name": "rows", "values": [1, 2]}]
    pictures = [{"x": "size", "measure": "loss", "read": {"over": "rows", "first_below": 1e-9}}]
    described = raw("gaussian", learners={"GD": gd(0.1)}, protocol={"kind": "steps", "steps": 1})
    described["problem"]["matrix"] |= {"n": "rows", "d": "size"}
    sweep = sweep_of(described | {"axes": axes, "pictures": pictures})
    results = run_sweep(sweep)
    unfinished = Results(sweep, {number: results.traces[number] for number in range(3)}, set(range(3)))
    (picture,) = sweep.experiment.pictures
    np.testing.assert_array_equal(view(picture, unfinished).curves[0].y, [np.inf, np.nan])
    np.testing.assert_array_equal(view(picture, results).curves[0].y, [np.inf, np.inf])
