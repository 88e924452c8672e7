"""An axis that ends as soon as its reading is known gives the same readings from fewer runs."""

import json

import numpy as np
import pytest
from building import gd

from engine.core.parts import BadInput
from engine.results.report import encode
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of
from hadamard_tui.headless.compute import state
from hadamard_tui.running.progress import skipped

READ = {"over": "rows", "first_below": 0.1, "of": "mean"}


def document(read=READ, until="read", **words):
    """Examples that least squares and ridge regression need for each of two numbers of features."""
    rows = {"name": "rows", "from": 2, "to": 64, "log": True} | ({"until": until} if until else {})
    return {
        "axes": [{"name": "size", "values": [4, 8]}, rows],
        "problem": {"matrix": {"kind": "gaussian", "n": "rows", "d": "size"}, "target": "feature"},
        "learners": [
            {"name": "LLS", "solver": "lls"},
            {"name": "ridge", "solver": {"kind": "ridge", "lam": 1}, "where": "rows >= 4"},
        ],
        "pictures": [{"x": "size", "measure": "excess-risk", "read": read}],
        "run": {"replicas": 4, "device": "cpu", "dtype": "float64"},
        **words,
    }


def runs(results):
    return [(number, curve.name) for number, trace in results.traces.items() for curve in trace.curves]


@pytest.mark.parametrize(
    "read",
    [
        READ,
        READ | {"first_below": 0.5, "between": "log"},
        READ | {"of": "replica"},
        READ | {"first_below": 0.02, "of": "replica", "between": "linear"},
    ],
)
@pytest.mark.slow
def test_readings_from_fewer_runs_equal_readings_of_all_points(read):
    full, short = run_sweep(sweep_of(document(read, until=None))), run_sweep(sweep_of(document(read)))
    (picture,) = full.sweep.experiment.pictures
    for curve, other in zip(view(picture, full).curves, view(picture, short).curves, strict=True):
        np.testing.assert_array_equal(curve.y, other.y)
        np.testing.assert_array_equal(curve.stderr, other.stderr)
        assert np.isfinite(curve.y).all()
        assert curve.ends.complete
        assert other.ends.complete
    assert short.complete
    assert set(runs(short)) < set(runs(full))
    assert sum(map(len, short.skipped.values())) == len(runs(full)) - len(runs(short))


def test_a_reading_that_never_occurs_runs_all_points():
    results = run_sweep(sweep_of(document(READ | {"first_below": -1})))
    assert not results.skipped
    assert results.complete


def test_skipped_learners_do_not_run_and_unfinished_learners_do():
    results = run_sweep(sweep_of(document()))
    for number, trace in results.traces.items():
        names = {learner.name for learner in results.sweep.points[number].experiment.learners}
        assert {curve.name for curve in trace.curves} == names - results.skipped.get(number, frozenset())
        assert [learner.name for learner in results.experiment(number).learners] == [
            curve.name for curve in trace.curves
        ]
    assert set(results.left_out) == set(range(len(results.sweep.points))) - results.traces.keys()
    assert any(0 < len(names) < 2 for number, names in results.skipped.items() if number in results.traces)


def test_all_pictures_that_read_along_the_axis_decide_the_runs():
    pictures = [
        {"x": "size", "measure": "excess-risk", "read": READ},
        {"name": "less", "x": "size", "measure": "excess-risk", "read": READ | {"first_below": 0.01}},
    ]
    one_reading, two = run_sweep(sweep_of(document())), run_sweep(sweep_of(document(pictures=pictures)))
    assert set(runs(one_reading)) < set(runs(two))


@pytest.mark.slow
def test_a_resumed_sweep_skips_the_same_runs_as_an_uninterrupted_sweep(tmp_path):
    store, rounds = Store(tmp_path), iter([1 << 30] * 5 + [0])
    stopped = run_sweep(sweep_of(document()), lambda: next(rounds), writer=RunWriter(store))
    assert not stopped.complete
    resumed, uninterrupted = (
        run_sweep(sweep_of(document()), writer=RunWriter(store)),
        run_sweep(sweep_of(document())),
    )
    assert resumed.skipped == uninterrupted.skipped
    assert runs(resumed) == runs(uninterrupted)


def test_progress_and_json_report_skipped_runs_with_reasons():
    results = run_sweep(sweep_of(document()))
    count = sum(map(len, results.skipped.values()))
    planned = sum(len(point.experiment.learners) for point in results.sweep.points)
    assert skipped(results) == f"{count} of {planned} runs skipped: these runs would change no picture"
    assert state(results)[0].endswith(skipped(results))
    assert results.share == 1.0
    assert results.points_done == (len(results.traces), 0)
    assert skipped(Results(results.sweep)) == ""
    skipped_names = [point["skipped"] for point in json.loads(encode({}, results, []))["points"]]
    assert skipped_names == [sorted(results.skipped.get(number, ())) for number in range(len(skipped_names))]


@pytest.mark.parametrize(
    ("words", "where", "reason"),
    [
        ({"pictures": []}, "axes[1].until", "no picture has a `read` along this axis"),
        ({"read": {"over": "rows", "take": "min"}}, "axes[1].until", "which needs all values"),
        ({"until": "dawn"}, "axes[1].until", "dawn"),
    ],
)
def test_until_read_requires_a_reading_of_places_along_the_axis(words, where, reason):
    with pytest.raises(BadInput) as refused:
        sweep_of(document(**words))
    assert refused.value.where == where
    assert reason in refused.value.fault


def test_an_axis_with_until_read_requires_increasing_values():
    falling = {"name": "rows", "values": [8, 4], "until": "read"}
    with pytest.raises(BadInput, match="sort them"):
        sweep_of(document(axes=[{"name": "size", "values": [4]}, falling]))


@pytest.mark.parametrize("of", ["mean", "replica"])
def test_a_reading_over_rates_finds_the_best_rate(of):
    described = document(axes=[{"name": "size", "values": [4, 8]}])
    described["problem"]["matrix"]["n"] = 16
    rates = [0.01, 0.05, 0.1]
    described |= {
        "protocol": {"kind": "steps", "steps": 20},
        "learners": [
            {"name": "GD", **gd(rates)},
            {"name": "LLS", "solver": "lls"},
            {"name": "one", **gd(0.05)},
        ],
        "pictures": [
            {"x": "size", "measure": "loss", "read": {"over": "rate", "take": "min", "of": of}},
            {"x": "step", "curves": "size", "measure": "loss", "read": {"over": "rate", "take": "min"}},
        ],
    }
    results = run_sweep(sweep_of(described))
    best, along = (view(picture, results) for picture in results.sweep.experiment.pictures)
    assert [curve.name for curve in best.curves] == ["GD", "LLS", "one"]
    for number, trace in results.traces.items():
        last = np.array([curve.values("loss")[-1] for curve in trace.curves])
        gds = last[:3].mean(1).min() if of == "mean" else last[:3].min(0).mean()
        best_losses = [curve.y[number] for curve in best.curves]
        np.testing.assert_allclose(best_losses, [gds, last[3].mean(), last[4].mean()], rtol=1e-12)
        losses_of_rates = np.array([curve.values("loss") for curve in trace.curves[:3]])
        curve = next(curve for curve in along.curves if curve.name == f"GD, size = {4 * (number + 1)}")
        np.testing.assert_allclose(curve.y, losses_of_rates.min(0).mean(1), rtol=1e-12)


def test_a_reading_over_rates_requires_several_rates():
    described = document(until=None, read={"over": "rate", "take": "min"})
    with pytest.raises(BadInput, match="there is no 'rate'"):
        sweep_of(described)
