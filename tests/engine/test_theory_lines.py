"""Theory lines of any measure: with indices, and of every curve its own."""

import json
from typing import ClassVar

import numpy as np
import pytest
from building import beginning, experiment, gd

from engine.core import catalogue
from engine.core.parts import Finding
from engine.measures.loss import AverageLoss
from engine.measures.spectrum import SingularValues
from engine.pictures.picture import Picture
from engine.pictures.view import line_of
from engine.planning.run_plan import plan_run
from engine.problems import examples
from engine.results.report import encode
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.theory import At, Line, LineStructure

D = 8


class Made(Line, frozen=True):
    """A line that holds everywhere and binds all but EGU."""

    formula: ClassVar[str] = "y"
    source: ClassVar[str] = "this test"

    def holds(self, experiment):
        return Finding(True, "it holds everywhere in this test")

    def binds(self, learner, experiment):
        return Finding(learner.name != "EGU", "it binds all learners but EGU")


class Rates(Made, frozen=True, tag="rates"):
    """1/η."""

    def structure(self):
        return LineStructure(per_learner=True)

    def value(self, at: At):
        return np.array(1 / at.rate)


class Halves(Made, frozen=True, tag="halves"):
    """Half of the rate, where one is given."""

    def structure(self):
        return LineStructure(per_learner=True)

    def value(self, at: At):
        return np.array((at.of_rate or 1.0) / 2)


class Decay(Made, frozen=True, tag="decay"):
    """(1 + k)/j of the singular values."""

    measure: ClassVar[str] = "spectrum"

    def structure(self):
        return LineStructure(per_learner=True)

    def value(self, at: At):
        return (1 + at.k)[:, None] / at.indices["j"]


class Means(Made, frozen=True, tag="means"):
    """1/(1 + k) of the mean."""

    def structure(self):
        return LineStructure(direction="asymptotic")

    def value(self, at: At):
        return 1 / (1 + at.k)


class Seeds(Made, frozen=True, tag="seeds"):
    """1, 2 and 6 of three replicas, times 1 + k."""

    def structure(self):
        return LineStructure(per_learner=True, per_replica=True)

    def value(self, at: At):
        return np.array([1.0, 2.0, 6.0])[:, None] * (1 + at.k)


class Starts(Made, frozen=True, tag="starts"):
    """Predictions of the first row by the learner before its first step."""

    def structure(self):
        return LineStructure(per_learner=True, per_replica=True)

    def value(self, at: At):
        return at.start.predict(at.drawn.data.instances)[:, :1].numpy() * np.ones_like(at.k)


LINES = {"rates": Rates, "halves": Halves, "decay": Decay}


def instead(monkeypatch, members):
    """Have these lines, and no others."""
    everything = catalogue.members
    monkeypatch.setattr(
        catalogue, "members", lambda family: members if family == "theory" else everything(family)
    )


@pytest.fixture
def lines(monkeypatch):
    instead(monkeypatch, LINES)


def learned(target="feature", **words):
    learners = {"GD": {"update": {"kind": "gd", "lr": [0.01, 0.02]}}, "M": {"update": "momentum"}}
    learners["EGU"] = {"update": "egu"}
    learners["best"] = {"update": {"kind": "gd", "lr": "best"}}
    described = experiment(target=target, learners=learners, d=D, replicas=2, **words)
    return described, run(described)


def line(trace, kind):
    return next(trace_line for trace_line in trace.lines if trace_line.kind == kind)


def test_a_line_per_curve_uses_the_rate_of_its_curve(lines):
    described = experiment(learners={"GD": gd(0.05), "EGU": {"update": "egu"}}, d=D)
    rates_line = line(run(described), "rates")
    assert rates_line.applies_to == ["GD"]
    assert {curve_name: along.values.tolist() for curve_name, along in rates_line.of_curves.items()} == {
        "GD": [[20.0] * (D + 1)]
    }
    with_two = experiment(learners={"GD": {"update": {"kind": "gd", "lr": [0.01, 0.02]}}}, d=D)
    trace = run(with_two)
    rates_line = line(trace, "rates").of_curves
    assert {name: along.values[0, 0] for name, along in rates_line.items()} == {
        curve.name: pytest.approx(1 / curve.rate) for curve in trace.curves
    }


def test_lines_share_the_singular_values_of_the_labels(monkeypatch):
    calls = []
    monkeypatch.setattr(
        examples,
        "_squared_singular_values",
        lambda label_arrays: calls.append(1) or np.ones(len(label_arrays)),
    )
    run(experiment(target="doubled", learners={"GD": gd(0.01)}, d=D, replicas=2))
    assert len(calls) == 2, "once for every replica, whatever the number of lines"


def test_lines_of_unrecorded_measures_are_omitted(lines, monkeypatch):
    monkeypatch.delitem(LINES, "rates")
    _, without = learned("all")
    assert {trace_line.kind for trace_line in without.lines} == {"halves"}
    described, trace = learned("all", spectrum=True)
    assert {trace_line.kind for trace_line in trace.lines} == {"halves", "decay"}
    assert [trace_line.kind for trace_line in trace.lines_of("spectrum")] == ["decay"]
    losses = json.loads(encode({}, of_one(described, trace), []))["pictures"][0]
    assert {line_in_json["kind"] for line_in_json in losses["theory"]} == {"halves"}, (
        "the other is about the spectrum"
    )
    assert losses["absent"] == []


def test_a_line_with_an_index_is_drawn_along_it(lines, monkeypatch):
    monkeypatch.delitem(LINES, "rates")
    described, trace = learned("all", spectrum=True)
    results = of_one(described, trace)
    spectrum_view = view(Picture(x="j", measure=SingularValues(), at={"k": 3.0}), results)
    assert {line_view.kind for line_view in spectrum_view.lines} == {"decay"}
    first = spectrum_view.lines[0]
    assert first.name.startswith("decay of ")
    assert first.direction == "reference"
    np.testing.assert_array_equal(first.x, np.arange(1.0, D + 1))
    np.testing.assert_allclose(first.y, 4 / first.x, rtol=1e-12)
    assert {line_view.kind for line_view in view(Picture(measure=AverageLoss()), results).lines} == {"halves"}


def test_a_claim_uses_the_line_of_its_own_curve(lines, monkeypatch):
    monkeypatch.delitem(LINES, "rates")
    described, trace = learned()
    loss_view = view(Picture(measure=AverageLoss()), of_one(described, trace))
    for planned in plan_run(described).learners:
        for learner_name, rate in planned.rates_by_curve.items() if planned.learner.name != "EGU" else ():
            assert line_of(loss_view, "halves", learner_name).y[0] == (rate or 1.0) / 2
            assert line_of(loss_view, "halves", learner_name).curve == learner_name
    with pytest.raises(KeyError):
        line_of(loss_view, "halves", "EGU")


@pytest.mark.parametrize(("summary", "of_three"), [("mean", 3), ("median", 2), ("first", 1), ("max", 6)])
def test_a_line_with_values_per_replica_is_summarised_like_curves(monkeypatch, summary, of_three):
    instead(monkeypatch, {"seeds": Seeds})
    described = experiment(learners={"GD": gd(0.05)}, d=D, replicas=3)
    results = of_one(described, run(described))
    (summed_line,) = view(Picture(measure=AverageLoss(), summary=summary), results).lines
    np.testing.assert_array_equal(summed_line.y, of_three * (1 + np.arange(D + 1.0)))


def test_a_line_receives_the_start_of_its_learner(monkeypatch):
    instead(monkeypatch, {"starts": Starts})
    net = {"kind": "dense", "widths": [5], "activation": "tanh"}
    learners = {"net": {"architecture": net, "update": {"kind": "gd", "lr": [0.01, 0.02]}}}
    described = experiment("gaussian", learners=learners, d=D, replicas=3)
    lines_by_curve = line(run(described), "starts").of_curves
    hypothesis, data = beginning(described)
    expected = hypothesis.predict(data.instances)[:, 0].numpy()
    assert len(lines_by_curve) == 2
    for along in lines_by_curve.values():
        np.testing.assert_allclose(along.values[:, 0], expected, rtol=1e-12)


def test_a_median_picture_draws_a_line_about_the_mean_only_if_named(monkeypatch):
    instead(monkeypatch, {"means": Means})
    described = experiment(learners={"GD": gd(0.05)}, d=D, replicas=3)
    results = of_one(described, run(described))
    median = Picture(measure=AverageLoss(), summary="median")
    (mean,) = view(Picture(measure=AverageLoss()), results).lines
    assert mean.kind == "means"
    median_view = view(median, results)
    assert [line.kind for line in median_view.lines] == []
    assert (
        median_view.absences.lines["means"]
        == "this line is about the mean over replicas, but the picture shows the median"
    )
    named = view(Picture(measure=AverageLoss(), summary="median", lines=("means",)), results)
    (line,), (curve,) = named.lines, named.curves
    assert (line.is_about(curve), line.says(curve)) == (True, False)


def test_lines_declare_the_summary_that_they_are_about():
    theory_lines = {kind: catalogue.make("theory", kind) for kind in catalogue.members("theory")}
    about = {kind: line.structure().about for kind, line in theory_lines.items()}
    assert {about[kind] for kind in ("svd", "two-over-eta", "lazy-flow", "catapult-loss")} == {None}
    assert {about[kind] for kind in ("ri-signed", "layer-recursion", "ri-bayes")} == {"mean"}
    assert about["layer-recursion-finite"] == "median"
