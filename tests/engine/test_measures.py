"""Evaluators record the values of measures, and runs record all requested measures."""

import json
from typing import ClassVar

import numpy as np
import pytest
import torch
from building import curve, experiment, gd, measures_of, spectrum_of, weights

from engine.backends import one_by_one
from engine.core.linear_algebra import looked_at
from engine.core.parts import BadInput
from engine.measures import Index, Measure, MeasureNeeds, MeasureSchedule, named
from engine.planning import run_plan as planning_measures
from engine.results.report import encode
from engine.results.results import of_one
from engine.runtime.run import run
from engine.training import recorder

D = 8


class Nothing:
    """Evaluator without measures, so that every measure computes its own value."""

    serves: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, *arguments):
        pass

    def take(self, hypothesis, seen):
        pass

    def looks(self, record):
        return False

    def measured(self):
        return {}


GD = {"learners": {"GD": gd(0.02)}, "replicas": 2}
DRAWN = {"kind": "one-pass", "replacement": True}
FRESH = {"kind": "erm", "steps": 5}
FAST = {
    "ByWeights": {**GD, "path": "dense"},
    "ByPredictions": {"matrix": "gaussian", **GD, "noise": 0.1, "train_loss": True},
    "ByPredictions of drawn rows": {**GD, "train_loss": True, "protocol": DRAWN},
    "ByPredictions of bits": {"matrix": "hadamard01", "learners": {"EG": {"update": "eg"}}},
    "ByPredictions of fresh models": {**GD, "train_loss": True, "protocol": FRESH},
    "ChangeEvaluator": {**GD, "path": "one-by-one"},
    "CompiledEvaluator": {"learners": {"EGU": {"update": "egu"}}, "path": "compiled", "d": 64},
    "across targets": {**GD, "target": "all", "spectrum": True, "path": "dense"},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", FAST)
def test_fast_evaluators_record_the_same_values_as_the_measures(way, monkeypatch):
    described = experiment(**{"d": D, **FAST[way]})
    fast = run(described).curves[0]
    monkeypatch.setattr(recorder, "evaluator", Nothing)
    monkeypatch.setattr(one_by_one, "ChangeEvaluator", Nothing)
    if way == "CompiledEvaluator":
        monkeypatch.setattr("engine.backends.passes.compiled_pass.CompiledEvaluator", Nothing)
    slow = run(described).curves[0]
    assert {"loss"} < set(fast.measures) == set(slow.measures)
    for measure in fast.measures:
        np.testing.assert_allclose(fast.values(measure), slow.values(measure), rtol=1e-9, atol=1e-12)


def test_a_run_records_its_default_and_requested_measures():
    def names(**words):
        described = experiment(d=D, **words)
        return {measure.name for measure in measures_of(described.learners[0], described)}

    assert names() == {"loss", "error"}
    assert names(matrix="gaussian", noise=0.1) == {"loss"}
    assert names(train_loss=True) == {"loss", "error", "train", "unseen"}
    assert names(target="all", spectrum=True) == {"loss", "error", "spectrum", "rank"}


class Norm(Measure, frozen=True, tag="norm"):
    """The length of the weights."""

    label: ClassVar[str] = "norm"

    def needs(self):
        return MeasureNeeds(weights=True)

    def value(self, probe):
        return probe.data.over_targets(probe.weights.norm(dim=1)[None])[0]


class Largest(Measure, frozen=True, tag="largest"):
    """The two largest weights, in some of the records."""

    label: ClassVar[str] = "weight"

    def needs(self):
        return MeasureNeeds(weights=True)

    def schedule(self):
        return MeasureSchedule(expensive="much")

    def index(self, learner, problem):
        return (Index("j", np.array([1.0, 2.0])),)

    def value(self, probe):
        return probe.weights.topk(2).values.view(probe.data.replicas, probe.data.variants, 2)


@pytest.fixture
def outsiders(monkeypatch):
    requested, more = planning_measures._requested_measures, {"norm": Norm(), "largest": Largest()}
    monkeypatch.setattr(planning_measures, "_requested_measures", lambda *words: requested(*words) | more)


@pytest.mark.usefixtures("outsiders")
def test_a_registered_measure_is_recorded_for_each_replica():
    described = experiment("gaussian", d=D, **GD)
    trace = run(described, gate=lambda: 3)
    measured_curve = trace.curves[0]
    expected = weights(described)
    np.testing.assert_allclose(measured_curve.values("norm"), np.linalg.norm(expected, axis=2), rtol=1e-12)
    largest = measured_curve.array("largest")
    np.testing.assert_allclose(largest.values, np.sort(expected)[:, :, :-3:-1], rtol=1e-12)
    assert largest.x.tolist() == list(range(D + 1))
    pictures = json.loads(encode({}, of_one(described, trace), []))["pictures"]
    (written,) = (picture["curves"][0] for picture in pictures if picture["measure"] == "norm")
    np.testing.assert_allclose(written["y"], measured_curve.mean("norm"), rtol=1e-12)


@pytest.mark.usefixtures("outsiders")
@pytest.mark.slow
def test_an_expensive_measure_is_computed_at_a_subset_of_the_records():
    epochs = {"kind": "epochs", "epochs": 300}
    expensive_curve, in_pieces = (
        run(experiment("gaussian", d=D, protocol=epochs, **GD), gate=lambda count=count: count).curves[0]
        for count in (1000, 1)
    )
    assert expensive_curve.array("largest").x.tolist() == [
        record for record in range(301) if looked_at(record)
    ]
    assert np.isfinite(expensive_curve.values("norm")).all()
    assert np.array_equal(in_pieces.array("largest").values, expensive_curve.array("largest").values)
    assert set(in_pieces.measures) == set(expensive_curve.measures) == {"loss", "norm"}


@pytest.mark.usefixtures("outsiders")
def test_weight_measures_are_not_recorded_for_nonlinear_learners():
    net = gd(0.01, kind="dense", widths=[4], activation="relu")
    net_curve = run(experiment("gaussian", learners={"net": net}, d=D)).curves[0]
    assert set(net_curve.measures) == {"loss"}
    assert net_curve.array("largest") is None


@pytest.mark.usefixtures("outsiders")
def test_a_diverged_replica_has_no_further_values_of_any_measure():
    partial_curve = run(experiment("gaussian", learners={"it": gd(0.1)}, d=32, replicas=20, seed=1)).curves[0]
    assert 0 < partial_curve.diverged < 20
    gone = np.isnan(partial_curve.values("loss"))
    assert np.array_equal(np.isnan(partial_curve.values("norm")), gone)
    largest = partial_curve.array("largest")
    assert np.array_equal(np.isnan(largest.values[:, :, 0]), gone[largest.x.astype(int)])


def test_spectrum_and_rank_share_one_singular_value_computation(monkeypatch):
    calls = []
    computed = torch.linalg.svdvals
    monkeypatch.setattr(torch.linalg, "svdvals", lambda matrices: calls.append(1) or computed(matrices))
    spectrum_curve = curve(d=D, target="all", spectrum=True)
    assert len(calls) == D + 1
    np.testing.assert_array_equal(spectrum_curve.mean("rank"), spectrum_of(spectrum_curve).rank)


def test_a_claim_about_an_unavailable_measure_names_its_requirement():
    for measure, where in {
        "error": "labels are two classes",
        "rank": "there are several targets",
    }.items():
        claim = {"text": "It is low", "learner": "GD", "k": 1, "below": 1.0, "of": measure}
        with pytest.raises(BadInput) as caught:
            run(experiment("gaussian", d=D, noise=0.1, learners={"GD": gd(0.1)}, claims=[claim]))
        assert f"{measure} is measured only where {where}" in caught.value.fault


def test_every_measure_has_a_name_and_declares_its_indices():
    described = experiment(d=D, target="all", spectrum=True)
    assert {"loss", "error", "train", "unseen", "rank", "spectrum"} <= named().keys()
    where = described.learners[0], described.problem
    for measure in named().values():
        assert measure.is_number == (measure.index(*where) == ())
    (index,) = named()["spectrum"].index(*where)
    assert (index.name, index.values.tolist()) == ("j", list(range(1, D + 1)))
