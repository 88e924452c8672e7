"""Views against naive loops over replicas, records and points of results."""

import msgspec
import numpy as np
import pytest
from building import LLS, experiment, gd, raw
from scipy.stats import binom

from engine.core import catalogue
from engine.core.parts import BadInput, Finding, Verdict
from engine.pictures import reductions
from engine.pictures.bounds import bound_heights, strongest_bound
from engine.pictures.picture import Picture, Read, ReplicaShare
from engine.pictures.view import at_values
from engine.pictures.wording import short_name, x_name
from engine.results.results import Results, of_one
from engine.results.trace import Curve, Statement, TheoryLine, Trace
from engine.results.views import view
from engine.runtime.run import run
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets, reading
from engine.spec.documents import sweep_of

LOSS = catalogue.make("measures", "loss")
RECORDS = 9
X = np.arange(float(RECORDS))


def curve(name, values, diverged=None, capacity=RECORDS, learner=None):
    """A curve with losses [R, S] and where its replicas diverged."""
    values = np.asarray(values, float)
    hand_made = Curve(name, capacity, len(values), Verdict(True, "made by hand"), learner)
    hand_made.append({"k": np.arange(float(values.shape[1]))}, {"loss": values.T})
    if diverged is not None:
        hand_made.divergences[:] = diverged
    hand_made.ended = True
    return hand_made


def trace(*curves, lines=()):
    return Trace(list(curves), list(lines), {"k": X}, "k", {}, "loss")


def line(values, holds=True, kind="ri-signed"):
    finding = Finding(holds, "made by hand")
    return TheoryLine(
        Statement(kind, "lower", True, "", "", "loss"), finding, {"GD": finding}, X, np.asarray(values)
    )


def view_of_run(*curves, lines=(), replicas=5, lines_drawn=None, **picture):
    """The view of a single run."""
    learners = {name: gd(0.1) for name in dict.fromkeys(run_curve.learner for run_curve in curves)}
    described = experiment(d=RECORDS - 1, learners=learners, replicas=replicas)
    return view(
        Picture(measure=LOSS, lines=lines_drawn, **picture), of_one(described, trace(*curves, lines=lines))
    )


@pytest.fixture
def random():
    return np.random.default_rng(0).uniform(0.5, 2.0, (5, RECORDS))


def by_mean(array):
    return array.mean(0)


def naive_jackknife(statistic, values):
    """The error of a statistic of values [R, ...] by the definition."""
    count = len(values)
    estimates = [
        statistic(np.array([values[r] for r in range(count) if r != omitted])) for omitted in range(count)
    ]
    mean = sum(estimates) / count
    return np.sqrt((count - 1) / count * sum((estimate - mean) ** 2 for estimate in estimates))


def test_a_curve_is_the_mean_over_replicas_with_its_standard_error(random):
    gd_curve = curve("GD", random)
    (curve_view,) = view_of_run(gd_curve).curves
    np.testing.assert_array_equal(curve_view.x, X)
    np.testing.assert_array_equal(curve_view.y, gd_curve.mean("loss"))
    np.testing.assert_array_equal(curve_view.stderr, gd_curve.stderr_of("loss"))
    np.testing.assert_allclose(
        curve_view.stderr, naive_jackknife(lambda replicas: replicas.mean(0), random), rtol=1e-12
    )
    assert (curve_view.name, curve_view.learner, curve_view.replicas) == ("GD", "GD", 5)
    assert curve_view.ends.complete
    assert curve_view.ends.sound.all()


def test_views_do_not_copy_records(random):
    gd_curve = curve("GD", random)
    (curve_view,) = view_of_run(gd_curve).curves
    assert np.shares_memory(curve_view.y, gd_curve.mean("loss"))
    assert np.shares_memory(curve_view.stderr, gd_curve.stderr_of("loss"))


STEPS = {
    "running mean": ({"running": "mean"}, lambda v: np.cumsum(v, 1) / np.arange(1, RECORDS + 1)),
    "running mean from k = 2 on": (
        {"running": "mean", "burn_in": 2},
        lambda v: np.where(
            X < 2, np.nan, np.cumsum(np.where(X < 2, 0, v), 1) / np.maximum(np.cumsum(X >= 2), 1)
        ),
    ),
    "running min": ({"running": "min"}, lambda v: np.minimum.accumulate(v, 1)),
    "a factor": ({"times": "k^2 + d"}, lambda v: v * (X**2 + RECORDS - 1)),
    "both in their order": ({"running": "sum", "times": "2k"}, lambda v: np.cumsum(v, 1) * 2 * X),
}
SUMMARIES = {
    "mean": np.mean,
    "median": np.median,
    "geometric": lambda values, axis: np.prod(values, axis) ** (1 / len(values)),
    "max": np.max,
    "min": np.min,
}
SPREAD = {
    "relative-variance": lambda draws: np.var(draws, 0, ddof=1) / np.mean(draws, 0) ** 2,
    "log-variance": lambda draws: np.var(np.log(draws), 0, ddof=1),
}


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize("steps", STEPS)
def test_transforms_precede_the_summary_and_the_jackknife_covers_both(steps, summary, random):
    words, naive = STEPS[steps]
    (curve_view,) = view_of_run(curve("GD", random), summary=summary, **words).curves

    def statistic(values):
        return SUMMARIES[summary](naive(values), axis=0)

    np.testing.assert_allclose(curve_view.y, statistic(random), rtol=1e-12)
    if summary in ("mean", "geometric"):
        np.testing.assert_allclose(
            curve_view.stderr, naive_jackknife(statistic, random), rtol=1e-9, atol=1e-14
        )
    elif summary == "median":
        assert (curve_view.stderr > 0).sum() >= np.isfinite(curve_view.y).sum() - 1
    else:
        assert curve_view.stderr is None


def test_the_standard_error_of_a_median_matches_the_bootstrap():
    values, count = np.sort(np.random.default_rng(0).standard_normal(41)), 41
    up_to = binom.sf(count // 2, count, np.arange(count + 1) / count)  # P(a median is among the i least)
    chance = np.diff(up_to)
    mean = chance @ values
    second, fourth = (chance @ (values - mean) ** power for power in (2, 4))
    error = reductions.standard_error("median", count, lambda drawn: np.median(values[drawn], keepdims=True))
    assert error is not None
    several = 4 * np.sqrt((fourth - second**2) / reductions.RESAMPLES)
    assert abs(error[0] ** 2 - second) < several
    assert several < second


@pytest.mark.parametrize("summary", SPREAD)
def test_a_spread_of_replicas_has_a_jackknife_error(summary, random):
    shown = view_of_run(curve("GD", random), summary=summary)
    (curve_view,) = shown.curves
    assert shown.axes.y_label.startswith(f"{summary.replace('-', ' ')} of ")
    np.testing.assert_allclose(curve_view.y, SPREAD[summary](random), rtol=1e-12)
    np.testing.assert_allclose(curve_view.stderr, naive_jackknife(SPREAD[summary], random), rtol=1e-9)


@pytest.mark.parametrize("summary", SPREAD)
def test_spreads_omit_missing_draws_and_require_two(summary):
    draws = np.array([[1.0, 1.0, np.nan], [2.0, np.nan, np.nan], [4.0, np.nan, np.nan]])
    spread = reductions.summary(summary, np.vstack([draws, np.full(3, np.nan)]))
    assert spread[0] == pytest.approx(SPREAD[summary](draws[:, 0]))
    assert np.isnan(spread[1:]).all()
    assert np.isnan(reductions.summary(summary, draws[:1])).all()


def test_the_error_of_many_replicas_uses_a_grouped_jackknife():
    draws, count = np.random.default_rng(0).lognormal(size=(4001, 1)), 4001
    calls = []

    def estimate(replicas):
        calls.append(len(replicas))
        return reductions.summary("mean", draws[replicas])

    error = reductions.standard_error("mean", count, estimate)
    assert error is not None
    assert set(calls) == {3980, 3981}
    exact = draws.std(ddof=1) / np.sqrt(count)
    assert abs(error[0] / exact - 1) < 4 / np.sqrt(2 * len(calls))


def test_a_relative_curve_pairs_replicas_in_its_jackknife(random):
    other = random[::-1] ** 2
    seen = view_of_run(curve("GD", random), curve("LLS", other), relative="LLS")
    (relative_view,) = seen.curves
    ratios = [[random[r, s] / other[r, s] for s in range(RECORDS)] for r in range(5)]
    np.testing.assert_allclose(
        relative_view.y, [sum(column) / 5 for column in zip(*ratios, strict=True)], rtol=1e-12
    )
    np.testing.assert_allclose(relative_view.stderr, naive_jackknife(by_mean, np.array(ratios)), rtol=1e-9)
    np.testing.assert_allclose(relative_view.over([1, 3]), np.add(ratios[1], ratios[3]) / 2, rtol=1e-12)


def test_relative_curves_average_the_quotients_of_replicas():
    seen = view_of_run(curve("GD", [[3.0], [2.0]]), curve("LLS", [[4.0], [1.0]]), replicas=2, relative="LLS")
    assert seen.curves[0].y.tolist() == [(3 / 4 + 2 / 1) / 2], "and not 5/5"
    assert seen.curves[0].stderr.tolist() == [(2 - 3 / 4) / 2]


def test_a_relative_median_is_the_median_of_quotients(random):
    other = random[::-1] ** 2
    (median_view,) = view_of_run(
        curve("GD", random), curve("LLS", other), relative="LLS", summary="median"
    ).curves
    np.testing.assert_allclose(median_view.y, np.sort(random / other, 0)[2], rtol=1e-12)


def test_relative_pictures_divide_lines_by_the_reference_curve(random):
    other, values = np.tile(random[:1] ** 2, (5, 1)), np.linspace(2, 1, RECORDS)
    seen = view_of_run(curve("GD", random), curve("LLS", other), lines=[line(values)], relative="LLS")
    (line_view,) = seen.lines
    np.testing.assert_allclose(line_view.y, values / other[0], rtol=1e-12)
    without = view_of_run(curve("GD", random), lines=[line(values)], replicas=5)
    np.testing.assert_array_equal(without.lines[0].y, values)


def test_relative_pictures_omit_bounds_on_the_mean_if_replicas_differ():
    """E a ≥ b says nothing of E a/c: with a = c = 1/2 or 3/2 and b = 1 it is b E 1/c = 4/3 > E a/c = 1."""
    both, bound = np.tile([[0.5], [1.5]], (1, RECORDS)), np.ones(RECORDS)
    seen = view_of_run(curve("GD", both), curve("LLS", both), lines=[line(bound)], replicas=2, relative="LLS")
    assert not seen.lines
    assert "the picture divides each replica by a different number" in seen.absences.lines["ri-signed"]


def test_pictures_relative_to_a_theory_line_divide_curves_by_it(random):
    values = np.linspace(2, 1, RECORDS)
    for drawn in (None, ()):
        seen = view_of_run(curve("GD", random), lines=[line(values)], relative="ri-signed", lines_drawn=drawn)
        (relative_view,) = seen.curves
        np.testing.assert_allclose(relative_view.y, random.mean(0) / values, rtol=1e-12)
        np.testing.assert_allclose(relative_view.stderr, naive_jackknife(by_mean, random) / values, rtol=1e-9)
        assert [list(line_view.y) for line_view in seen.lines] == ([[1.0] * RECORDS] if drawn is None else [])
    (relative_view,) = view_of_run(
        curve("GD", random), lines=[line(values, holds=False)], relative="ri-signed"
    ).curves
    np.testing.assert_allclose(relative_view.y, np.nan)


def test_a_share_of_replicas_has_a_binomial_error(random):
    random[1, 4:] = np.nan
    gd_curve = curve("GD", random, [np.nan, 4, np.nan, np.nan, np.nan])
    seen = view_of_run(gd_curve, lines=[line(np.ones(RECORDS))], share=ReplicaShare(below=1.5, above=0.8))
    (share_view,) = seen.curves
    for place in range(RECORDS):
        holding = sum(bool(0.8 < random[r, place] < 1.5) for r in range(5))
        p = holding / 5
        assert share_view.y[place] == pytest.approx(p, abs=1e-15)
        assert share_view.stderr[place] == pytest.approx((p * (1 - p) / (5 - 1)) ** 0.5, abs=1e-15)
    assert seen.axes.y_label == "share of replicas with 0.8 < average square loss < 1.5"
    assert "share of replicas" in seen.absences.lines["ri-signed"], "a bound on the mean bounds no share"


def test_the_standard_error_of_a_share_matches_many_draws():
    """Of 4000 sets of 25 draws of which each holds with probability 0.3."""
    share, draws = ReplicaShare(below=0.3), np.random.default_rng(1).random((4000, 25, 1))
    shares = [reductions.holds(share, values).mean() for values in draws]
    squares = []
    for values in draws[:400]:
        holding = reductions.holds(share, values)
        error = reductions.standard_error("mean", 25, lambda r, holding=holding: holding[r].mean(0))
        squares.append(float(error[0]) ** 2)
    assert abs(np.mean(shares) - 0.3) < 4 * np.sqrt(0.21 / 25 / 4000)
    assert abs(np.mean(squares) - np.var(shares)) < 4 * (
        np.std(squares) / 20 + np.var(shares) * np.sqrt(2 / 4000)
    )


def test_a_share_of_quotients_divides_matching_replicas(random):
    other = random[::-1] ** 2
    (share_view,) = view_of_run(
        curve("GD", random), curve("LLS", other), relative="LLS", share=ReplicaShare(above=1)
    ).curves
    expected = [np.mean([random[r, s] > other[r, s] for r in range(5)]) for s in range(RECORDS)]
    np.testing.assert_allclose(share_view.y, expected, rtol=0, atol=1e-15)


PLACES_OF = {
    "max": lambda y: max(range(RECORDS), key=lambda s: y[s]),
    "min": lambda y: min(range(RECORDS), key=lambda s: y[s]),
    "gap": lambda y: max(range(RECORDS - 1), key=lambda s: max(y[s] / y[s + 1], y[s + 1] / y[s])),
}


@pytest.mark.parametrize("which", PLACES_OF)
def test_a_picture_reads_the_place_of_an_extreme_per_replica(which, random):
    read, naive = Read(place_of=which), PLACES_OF[which]
    np.testing.assert_array_equal(reductions.read(read, random, X, 1), [naive(y) for y in random])
    (place_view,) = view_of_run(curve("GD", random), x="d", read=read).curves
    places = np.array([naive(y) for y in random])
    assert place_view.y.tolist() == [places.mean()]
    np.testing.assert_allclose(place_view.stderr, places.std(ddof=1) / np.sqrt(5), rtol=1e-12)
    deeper = np.moveaxis(np.stack([random[:2], random[2:4]]), 2, 1)  # [2, records, 2]
    expected = [[naive(y) for y in random[:2]], [naive(y) for y in random[2:4]]]
    np.testing.assert_array_equal(reductions.read(read, deeper, X, 1), expected)
    random[2, 3:] = np.nan
    assert np.isfinite(reductions.read(read, random, X, 1)).all(), "values that are known decide"
    assert np.isnan(reductions.read(read, np.full((1, RECORDS), np.nan), X, 1)).all()


def test_a_picture_shows_the_share_of_replicas_with_a_gap_at_a_place():
    net = {"kind": "dense", "widths": [40], "activation": "softplus", "outputs": "m"}
    spectrum = {"measure": "jacobian-spectrum", "x": "j", "curves": "mix"}
    gap = {"x": "C", "read": {"over": "j", "place_of": "gap"}, "share": {"below": 4.5, "above": 3.5}}
    clusters = {"kind": "clusters", "classes": 2, "centres": "C", "d": 20, "n": 48, "sigma": 0.3}
    learners = [{"name": "net", "architecture": net, "update": "gd"}]
    described = {
        "axes": [{"name": "mix", "values": [{"C": 1}, {"C": 2}]}],
        "problem": {"matrix": clusters, "target": "classes"},
        "protocol": "at-init",
        "run": {"dtype": "float64", "device": "cpu", "replicas": 8},
        "learners": learners,
        "pictures": [spectrum, {"measure": "jacobian-spectrum", **gap}],
    }
    sweep = sweep_of(described)
    results = run_sweep(sweep)
    spectra, shares = (view(picture, results) for picture in sweep.experiment.pictures)
    (share_view,) = shares.curves
    for drawn, share in zip(spectra.curves, share_view.y, strict=True):
        spectra_of_replicas = [drawn.over([replica]) for replica in range(8)]
        largest = [drawn.x[np.maximum(y[:-1] / y[1:], y[1:] / y[:-1]).argmax()] for y in spectra_of_replicas]
        assert share == np.mean([place == 4 for place in largest])
    assert shares.axes.y_label.startswith("share of replicas with 3.5 < j of the largest jump in ")


@pytest.mark.parametrize(
    ("words", "where", "reason"),
    [
        ({"share": {}}, "pictures[0].share.below", "give `below`, `above` or both"),
        ({"share": {"below": 1, "above": 2}}, "pictures[0].share.below", "no value is below 1 and above 2"),
        ({"share": {"below": 1}, "summary": "max"}, "pictures[0].summary", "leave `summary` out"),
        ({"burn_in": 2}, "pictures[0].burn_in", "set `running`, too"),
        ({"summary": "log-variance", "times": "k"}, "pictures[0].times", "leave `times` out"),
        ({"summary": "relative-variance", "relative": "it"}, "pictures[0].relative", "leave `relative` out"),
        ({"read": {"place_of": "max", "take": "min"}}, "pictures[0].read.take", "exactly one of"),
        ({"read": {"place_of": "max", "between": "log"}}, "pictures[0].read.between", "leave it out"),
    ],
)
def test_invalid_shares_and_places_are_refused_with_place_and_remedy(words, where, reason):
    with pytest.raises(BadInput) as caught:
        reading.parse({**raw(d=4), "pictures": [{"x": "k", "measure": "loss", **words}]})
    assert caught.value.where == where
    assert reason in caught.value.fault


def test_curves_average_only_the_selected_replicas(random):
    for words in ({}, {"running": "min"}):
        (curve_view,) = view_of_run(curve("GD", random), **words).curves
        values = np.minimum.accumulate(random, 1) if words else random
        np.testing.assert_allclose(curve_view.over([1, 3]), values[[1, 3]].mean(0), rtol=1e-12)
        np.testing.assert_allclose(curve_view.over([0, 1, 3, 4]), np.delete(values, 2, 0).mean(0), rtol=1e-12)
        np.testing.assert_allclose(curve_view.over([4]), values[4], rtol=0)


def test_the_first_replica_summary_has_no_standard_error(random):
    (first_view,) = view_of_run(curve("GD", random), summary="first").curves
    np.testing.assert_array_equal(first_view.y, random[0])
    assert first_view.stderr is None


def test_places_after_a_divergence_count_lost_replicas(random):
    random[1, 4:], random[3, 7:] = np.nan, np.nan
    gd_curve = curve("GD", random, [np.nan, 4, np.nan, 7, np.nan])
    for words in ({}, {"times": "2"}):
        (curve_view,) = view_of_run(gd_curve, **words).curves
        assert curve_view.ends.lost.tolist() == [0] * 4 + [1] * 3 + [2] * 2
        assert (curve_view.ends.diverged, curve_view.ends.diverged_at, curve_view.ends.complete) == (
            2,
            4.0,
            False,
        )
        np.testing.assert_allclose(curve_view.y, np.nanmean(random, 0) * (2 if words else 1), rtol=1e-12)
    (scaled,) = view_of_run(gd_curve, x="k/d").curves
    assert scaled.ends.diverged_at == 0.5


def test_a_series_with_one_stored_replica_has_only_a_mean(random, monkeypatch):
    monkeypatch.setattr("engine.results.measure_series.MOST_REPLICA_BYTES", 8)
    gd_curve = curve("GD", random)
    (curve_view,) = view_of_run(gd_curve).curves
    np.testing.assert_allclose(curve_view.y, random.mean(0), rtol=1e-12)
    for picture in ({"running": "min"}, {"summary": "median"}):
        with pytest.raises(BadInput, match="stored for the first of 5 replicas only"):
            view_of_run(gd_curve, **picture)
    with pytest.raises(BadInput, match="stored for the first of 5 replicas only"):
        curve_view.over([1])


def test_lines_are_transformed_like_curves_and_absent_lines_have_reasons(random):
    below = np.linspace(1, 0, RECORDS)
    seen = view_of_run(curve("GD", random), lines=[line(below)], times="3")
    (line_view,) = seen.lines
    np.testing.assert_allclose(line_view.y, 3 * below)
    assert (line_view.kind, line_view.direction, line_view.applies_to) == ("ri-signed", "lower", ("GD",))
    seen = view_of_run(curve("GD", random), lines=[line(below, holds=False)])
    assert seen.lines == []
    assert seen.absences.lines == {"ri-signed": "made by hand"}


def test_the_best_rate_represents_its_learner(random):
    worse = curve("GD η=1", random + 1, learner="GD")
    better = curve("GD η=2", random, learner="GD")
    seen = view_of_run(worse, better)
    assert [curve_view.chosen for curve_view in seen.curves] == [False, True]
    assert seen.curve("GD").name == "GD η=2"
    assert seen.curve("GD η=1").name == "GD η=1"
    with pytest.raises(KeyError):
        seen.curve("nobody")


SIZES = [4, 8, 16]


def sweep_of_losses(values, **axes):
    """Results over d = 4, 8, 16 with losses [R, S] of each."""
    sweep = sweep_of(
        {
            "axes": [{"name": "size", "values": SIZES, **axes}],
            "problem": {"matrix": {"kind": "gaussian", "d": "size", "n": RECORDS - 1}, "target": "feature"},
            "protocol": "one-pass",
            "learners": [{"name": "GD", **gd(0.1)}],
            "run": {"replicas": len(values[0]), "device": "cpu"},
        }
    )
    traces = {number: trace(curve("GD", losses_of_point)) for number, losses_of_point in enumerate(values)}
    return Results(sweep, traces, set(traces))


def test_curves_along_an_axis_use_the_last_record(random):
    values = [random * (1 + number) for number in range(3)]
    (curve_view,) = view(Picture(x="size", measure=LOSS), sweep_of_losses(values)).curves
    assert curve_view.x.tolist() == SIZES
    np.testing.assert_allclose(
        curve_view.y, [losses_of_point[:, -1].mean() for losses_of_point in values], rtol=1e-12
    )
    last = np.stack([losses_of_point[:, -1] for losses_of_point in values], 1)
    np.testing.assert_allclose(curve_view.stderr, naive_jackknife(lambda v: v.mean(0), last), rtol=1e-9)
    assert curve_view.ends.complete


def test_curves_along_an_axis_read_the_first_record_below_per_replica(random):
    values = [np.sort(random, 1)[:, ::-1] / (1 + number) for number in range(3)]
    picture = Picture(x="size", measure=LOSS, read=Read(first_below=0.6))
    (curve_view,) = view(picture, sweep_of_losses(values)).curves
    for number, losses_of_point in enumerate(values):
        firsts = [next((k for k in range(RECORDS) if row[k] < 0.6), np.inf) for row in losses_of_point]
        np.testing.assert_allclose(curve_view.y[number], np.mean(firsts))


def test_a_learner_that_ended_early_has_no_value_along_an_axis(random):
    values = [random, random, random[:, :4]]
    results = sweep_of_losses(values)
    ended = results.traces[2].curves[0]
    assert not ended.diverged
    (curve_view,) = view(Picture(x="size", measure=LOSS), results).curves
    assert not curve_view.ends.complete
    ended.divergences[:] = [2, 3, 4, 4, 1]
    for words in ({}, {"at": {"k": RECORDS - 1}}, {"running": "min", "read": "last"}):
        (curve_view,) = view(Picture(x="size", measure=LOSS, **words), results).curves
        assert np.isfinite(curve_view.y[:2]).all()
        assert np.isnan(curve_view.y[2])
        assert curve_view.ends.lost.tolist() == [0, 0, 5]
        assert (curve_view.ends.diverged, curve_view.ends.diverged_at, curve_view.ends.complete) == (
            0,
            16.0,
            True,
        )


def test_missing_points_leave_a_curve_incomplete(random):
    results = sweep_of_losses([random, random, random])
    del results.traces[1]
    (curve_view,) = view(Picture(x="size", measure=LOSS), results).curves
    assert curve_view.x.tolist() == [4, 16]
    assert not curve_view.ends.complete


def test_a_curve_along_an_axis_omits_ongoing_runs(random):
    results = sweep_of_losses([random, random, random[:, :4]])
    results.traces[2].curves[0].ended = False
    for words in ({"x": "size"}, {"x": "size", "read": "max"}, {"x": "size", "at": {"k": 2}}):
        (curve_view,) = view(Picture(measure=LOSS, **words), results).curves
        assert curve_view.x.tolist() == [4, 8]
        assert not curve_view.ends.complete
    (heat,) = view(Picture(x="k", y="size", measure=LOSS), results).heats
    assert heat.y.tolist() == [4, 8, 16], "along the records it is there as far as it has come"
    seen = view(Picture(x="k", measure=LOSS, curves="size"), results)
    assert [len(curve_view.x) for curve_view in seen.curves] == [RECORDS, RECORDS, 4]


def test_curves_split_by_an_axis_are_named_by_its_values(random):
    results = sweep_of_losses([random * (1 + number) for number in range(3)])
    seen = view(Picture(x="k", measure=LOSS, curves="size"), results)
    assert [curve_view.name for curve_view in seen.curves] == [
        "GD, size = 4",
        "GD, size = 8",
        "GD, size = 16",
    ]
    assert [curve_view.apart for curve_view in seen.curves] == [(0,), (1,), (2,)]
    assert [curve_view.name for curve_view in at_values(seen, (1,)).curves] == ["GD, size = 8"]
    with pytest.raises(BadInput, match="a curve mixes several values of"):
        view(Picture(x="k", measure=LOSS), results)


def test_a_curve_requires_equally_many_replicas_at_all_places():
    axis = "axes=[{name='r', values=[1, 2], set='run.replicas'}]"
    base = ["problem.matrix.d=16", "claims=[]", axis]
    split = presets.document("hadamard-128", [*base, "pictures=[{x='k', measure='loss', curves='r'}]"])
    presets.sweep_of("hadamard-128", split)
    along = presets.document("hadamard-128", [*base, "pictures=[{x='r', measure='loss'}]"])
    with pytest.raises(BadInput, match=r"there are 2 replicas at r = 2, but 1 elsewhere on the same curve"):
        presets.sweep_of("hadamard-128", along)


def test_named_axis_values_appear_in_curve_names_and_axis_labels(random):
    named = sweep_of_losses([random * (1 + number) for number in range(3)], names=["few", "some", "many"])
    apart = view(Picture(x="k", measure=LOSS, curves="size"), named)
    assert [curve_view.name for curve_view in apart.curves] == [
        "GD, size = few",
        "GD, size = some",
        "GD, size = many",
    ]
    assert apart.axes.names == {}
    along = view(Picture(x="size", measure=LOSS), named)
    assert along.axes.names == {4: "few", 8: "some", 16: "many"}


def test_waiting_learners_have_empty_curves_and_keep_curve_numbers(random):
    waiting = Curve("LLS", RECORDS, 5, Verdict(True, "made by hand"))
    both = [curve("GD", random), waiting, curve("EGU", random)]
    seen = view_of_run(*both)
    assert [(curve_view.name, curve_view.number, len(curve_view.x)) for curve_view in seen.curves] == [
        ("GD", 0, RECORDS),
        ("LLS", 1, 0),
        ("EGU", 2, RECORDS),
    ]
    assert not seen.curve("LLS").ends.complete
    assert [curve_view.name for curve_view in view_of_run(*both, x="d", read="last").curves] == ["GD", "EGU"]
    assert [curve_view.number for curve_view in view_of_run(*both, x="d", read="last").curves] == [0, 2]


@pytest.mark.parametrize("drawn", [{"x": "size"}, {"x": "k", "curves": "size"}, {"x": "k", "y": "size"}])
def test_learners_with_conditions_keep_the_order_of_their_list(drawn, random):
    learners = [
        {"name": "from 8", **gd(0.1), "where": "size > 4"},
        {"name": "at 8", **gd(0.1), "where": "size = 8"},
        {"name": "always", **gd(0.1)},
    ]
    names_by_point = {0: ["always"], 1: ["from 8", "at 8", "always"], 2: ["from 8", "always"]}
    sweep = sweep_of(
        {
            "axes": [{"name": "size", "values": SIZES}],
            "problem": {"matrix": {"kind": "gaussian", "d": "size", "n": RECORDS - 1}, "target": "feature"},
            "protocol": "one-pass",
            "learners": learners,
            "run": {"replicas": len(random), "device": "cpu"},
        }
    )
    assert sweep.learners == ("from 8", "at 8", "always")
    traces = {
        number: trace(*(curve(curve_name, random) for curve_name in names))
        for number, names in names_by_point.items()
    }
    seen = view(Picture(measure=LOSS, **drawn), Results(sweep, traces, set(traces)))
    split = [f"{name}, size = {SIZES[number]}" for number, names in names_by_point.items() for name in names]
    names = split if "curves" in drawn else list(sweep.learners)
    assert [heat.learner for heat in seen.heats] == names or [
        curve_view.name for curve_view in seen.curves
    ] == names
    assert [curve_view.number for curve_view in seen.curves] == list(range(len(seen.curves)))


def test_planned_places_of_a_run_are_not_copied(random):
    gd_curve = curve("GD", random[:, :4])
    seen = view_of_run(gd_curve)
    assert np.shares_memory(seen.places, X)
    assert len(seen.places) == RECORDS
    assert view_of_run(gd_curve, x="2*k").places.tolist() == (2 * X).tolist()
    assert (seen.x_of(0, 3.0), view_of_run(gd_curve, x="2*k").x_of(0, 3.0)) == (3.0, 6.0)
    (curve_view,) = view_of_run(gd_curve, x="2*k").curves
    np.testing.assert_array_equal(curve_view.places.clock, X[:4])


def test_strongest_bound_returns_the_highest_bound_and_breaks_ties_at_other_places(random):
    flat, steep = np.full(RECORDS, 0.5), np.linspace(1.0, 0.0, RECORDS)
    lines = [line(flat), line(steep, kind="svd"), line(steep / 2, kind="weak")]
    seen = view_of_run(curve("GD", random), lines=lines)
    gd = seen.curve("GD")
    for x in X:
        height = max(0.5, 1 - x / (RECORDS - 1))
        strongest = strongest_bound(seen, gd, x)
        assert strongest is not None
        assert strongest.at(x) == pytest.approx(height)
    np.testing.assert_allclose(bound_heights(seen, gd, X), np.maximum(flat, steep))
    equal = view_of_run(curve("GD", random), lines=[line(flat), line(flat + steep / 9, kind="svd")])
    assert strongest_bound(equal, gd, X[-1]).kind == "svd"


def test_the_axis_label_names_the_loss(random):
    assert view_of_run(curve("GD", random)).axes.y_label == "average square loss"


def test_charts_label_axes_and_measures_by_symbols_and_labels():
    document = {
        "axes": [
            {"name": "size", "values": [4, 8], "symbol": "d"},
            {"name": "turned", "values": [False, True], "set": "problem.matrix.rotate"},
        ],
        "problem": {"matrix": {"kind": "gaussian", "d": "size", "n": 5}, "target": "feature"},
        "protocol": "one-pass",
        "learners": [{"name": "GD", **gd(0.1)}],
        "run": {"replicas": 2, "device": "cpu"},
    }
    results = run_sweep(sweep_of(document))

    def seen(**how):
        return view(Picture(measure=LOSS, **how), results)

    sized = seen(x="k/size", curves=("turned", "size"))
    assert (sized.axes.x_label, x_name(sized)) == ("k/d", "k/d")
    assert [short_name(sized, curve_view) for curve_view in sized.curves] == [
        "not turned, d = 4", "turned, d = 4", "not turned, d = 8", "turned, d = 8"
    ]  # fmt: skip
    assert sized.curves[0].name == "GD, turned = False, size = 4", "claims name it by what the preset says"
    trained = seen(x="sqrt(3*train)", curves=("turned", "size"))
    assert trained.axes.x_label == "√(3·square loss on seen rows)"
    assert x_name(trained) == "√(3·loss on seen rows)"
    along = seen(x="size", curves="turned", times="1/sqrt(size)", relative="two-over-eta", at={"k": 4})
    assert along.axes.x_label == "d"
    assert along.axes.y_label == "average square loss, relative to 2/η", "the factor is one of both"
    assert seen(x="size", curves="turned", times="1/sqrt(size)", at={"k": 4}).axes.y_label.endswith(" × 1/√d")
    long = seen(x="k", curves=("turned", "size"), relative="agd-majoriser")
    assert long.axes.y_label == "average square loss, relative to the AGD majoriser"


def test_the_rates_of_a_learner_may_be_the_x_axis():
    learners = {"GD": gd([0.01, 0.02, 0.03]), "one": gd(0.015), "LLS": LLS}
    described = experiment("gaussian", learners=learners, d=8, replicas=3)
    picture = Picture(x="rate", measure=LOSS, lines=("ri-gaussian",))
    ran = run(described)
    seen = view(picture, of_one(described, ran))
    assert [(curve.name, curve.x.tolist()) for curve in seen.curves] == [
        ("GD", [0.01, 0.02, 0.03]),
        ("one", [0.015]),
    ], "solvers have no rate"
    for height, of_rate in zip(seen.curves[0].y, ran.curves[:3], strict=True):
        assert height == pytest.approx(of_rate.mean("loss")[-1])
    assert seen.axes.x_log
    assert seen.curves[0].ends.complete
    assert all(curve.chosen for curve in seen.curves), "the best of its rates is among those of a curve"
    (line,) = seen.lines
    assert line.x.tolist() == [0.01, 0.015, 0.02, 0.03]
    first = view(Picture(x="1000*rate", measure=LOSS, read="max"), of_one(described, ran))
    np.testing.assert_allclose(first.curves[0].x, [10, 20, 30])


def test_a_picture_along_rates_without_listed_rates_is_refused():
    document = raw(learners={"GD": gd(0.01)}, d=8)
    document["pictures"] = [{"x": "rate", "measure": "loss"}]
    reason = r"there is no 'rate', because no learner has a list of rates such as lr = \[0\.1, 0\.2\]"
    with pytest.raises(BadInput, match=reason):
        reading.parse(document)


def test_a_picture_along_a_single_listed_rate_has_one_place():
    described = experiment("hadamard", learners={"GD": gd([0.1])}, d=8)
    seen = view(Picture(x="rate", measure=LOSS), of_one(described, run(described)))
    (curve,) = seen.curves
    assert curve.x.tolist() == [0.1]
    assert curve.y == pytest.approx([0.36], abs=1e-6)
    assert seen.lines[0].x.tolist() == [0.1]


def test_an_array_along_a_measured_clock_has_the_values_along_time():
    document = presets.document("norms-diverge", ["protocol.records=20", "protocol.time=5", "claims=[]"])
    planned = presets.sweep_of("norms-diverge", document)
    results = run_sweep(planned)
    along = next(picture for picture in planned.experiment.pictures if picture.name == "rank")
    in_time = view(msgspec.structs.replace(along, x="time"), results).curves
    measured = view(along, results).curves
    assert [curve_view.name for curve_view in measured] == [curve_view.name for curve_view in in_time] != []
    for measured_curve, other in zip(measured, in_time, strict=True):
        trained = results.traces[0].curve(measured_curve.name).mean("train")
        np.testing.assert_allclose(measured_curve.x, np.sqrt(3 * trained))
        np.testing.assert_array_equal(measured_curve.y, other.y)


def test_learners_without_a_measure_have_a_reason_instead_of_a_curve():
    learners = {"GD": {**gd(0.1), "tends_to": "lls"}, "other": gd(0.1), "LLS": {**LLS, "role": "reference"}}
    described = experiment("gaussian", learners=learners, d=8, replicas=3, measures=[{"kind": "norm-ratio"}])
    picture = Picture(measure=catalogue.make("measures", "norm-ratio"))
    seen = view(picture, of_one(described, run(described)))
    assert [curve_view.name for curve_view in seen.curves] == ["GD"]
    assert seen.absences.learners == {
        "other": "the learner's `tends_to` names a solver that minimises a norm"
    }, "a reference is none of those that are looked at"


def test_a_picture_of_the_last_record_is_empty_before_any_record():
    end = {"measure": "loss", "below": 0.5}
    document = {
        "axes": [{"name": "size", "values": [2, 4]}],
        "problem": {"matrix": {"kind": "gaussian", "n": 4, "d": "size"}, "target": "coin"},
        "protocol": {"kind": "steps", "steps": 4, "until": end},
        "learners": [{"name": "GD", **gd(0.1)}],
        "pictures": [{"x": "size", "measure": "loss", "read": {"take": "last", "until": end}}],
        "run": {"device": "cpu"},
    }
    without_records = run_sweep(sweep_of(document), lambda: 0)
    (picture,) = without_records.sweep.experiment.pictures
    assert all(len(drawn.y) == 0 for drawn in view(picture, without_records).curves)


@pytest.mark.parametrize("count", [7, 1003])
@pytest.mark.parametrize("summary", ["mean", "median", "geometric", *SPREAD])
def test_batched_standard_errors_match_single_subsets(summary, count):
    draws = np.random.default_rng(0).lognormal(size=(count, 3))
    if summary != "median":
        draws[2, 1] = draws[:-2, 2] = np.nan

    def estimate(subset):
        return reductions.summary(summary, draws[subset])

    together = reductions.standard_error(summary, count, estimate, draws)
    np.testing.assert_allclose(together, reductions.standard_error(summary, count, estimate), rtol=1e-9)


@pytest.mark.parametrize("summary", ["geometric", "log-variance"])
def test_infinite_logarithms_have_no_standard_error(summary):
    draws = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    error = reductions.standard_error(
        summary, 3, lambda subset: reductions.summary(summary, draws[subset]), draws
    )
    assert list(np.isfinite(error)) == [summary == "geometric", True]


def test_an_index_beyond_the_measured_values_is_no_divergence():
    spectrum = {"kind": "hessian-spectrum", "most": 4}
    document = {
        "problem": {"matrix": {"kind": "gaussian", "n": 4, "d": 2}, "target": "coin"},
        "protocol": {"kind": "steps", "steps": 1},
        "learners": [{"name": "GD", **gd(0.1)}],
        "pictures": [{"x": "j", "measure": spectrum, "at": {"step": 1}}],
        "run": {"device": "cpu", "replicas": 2},
    }
    swept = run_sweep(sweep_of(document))
    (curve_view,) = view(swept.sweep.experiment.pictures[0], swept).curves
    assert np.isnan(curve_view.y).tolist() == [False, False, True, True]
    assert curve_view.ends.lost.tolist() == [0] * 4
    assert curve_view.ends.diverged_at is None
