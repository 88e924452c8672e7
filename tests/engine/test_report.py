"""JSON of a run: pictures, points and claims, in strict JSON."""

import json
import tracemalloc
from typing import get_args

import numpy as np
import pytest
from building import LLS, experiment, gd, spectrum_of

from engine.core.parts import Verdict
from engine.results import report as reports
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.results import of_one
from engine.results.trace import Curve, Trace
from engine.runtime.run import run
from engine.spec import reading
from engine.theory import Direction

CLAIMS = [
    {"text": "It halves", "learner": "GD", "k": 4, "loss": 0.5, "within": 1e-9},
    {"text": "It diverges", "learner": "wild", "diverges": True},
    {"text": "It does not", "learner": "GD", "diverges": True},
]
LEARNERS = {"GD": gd(1 / 16), "LLS": LLS, "EGU": {"update": "egu"}, "wild": gd(1e4)}


def strict(text):
    """Parse strict JSON, without NaN and Infinity."""

    def never(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=never)


def told(described, trace, document=None):
    """Report of a run, written and read again."""
    results = of_one(described, trace)
    return strict(encode(document or {}, results, judge(results)))


@pytest.fixture(scope="module", params=[1, 3])
def measured(request):
    described = experiment("hadamard", learners=LEARNERS, claims=CLAIMS, d=8, replicas=request.param)
    return described, run(described)


def test_the_report_has_the_keys_of_schema_2(measured):
    document = told(*measured)
    assert document["schema"] == 2
    keys = ("schema", "experiment", "environment", "data", "axes", "points", "pictures", "claims")
    assert document.keys() == {*keys}
    assert document["environment"].keys() >= {"version", "torch", "device", "dtype"}
    for curve in document["pictures"][0]["curves"]:
        assert curve.keys() >= {"learner", "x", "y", "stderr", "diverged_at", "verdict", "path"}
        assert curve["verdict"].keys() == {"answer", "invariant", "reason"}
        assert curve["verdict"]["invariant"] in (True, False, "on this data")
    for line in document["pictures"][0]["theory"]:
        assert line.keys() >= {"kind", "direction", "x", "y", "applies_to", "source", "reasons"}
        assert line["direction"] in get_args(Direction)
    for claim in document["claims"]:
        assert claim.keys() == {"text", "holds", "measured", "stderr", "detail"}


def test_a_run_without_pictures_reports_a_picture_per_measure(measured):
    _, trace = measured
    pictures = told(*measured)["pictures"]
    assert pictures[0]["title"] == "Average loss over all rows"
    assert {picture["measure"] for picture in pictures} == {
        name for curve in trace.curves for name in curve.measures
    }
    assert {picture["x"] for picture in pictures} == {"k"}


def test_the_report_contains_the_computed_numbers(measured):
    described, trace = measured
    document = told(described, trace)
    for picture in document["pictures"]:
        measured_there = [
            curve_of_measure
            for curve_of_measure in trace.curves
            if curve_of_measure.mean(picture["measure"]) is not None
        ]
        for written, curve in zip(picture["curves"], measured_there, strict=True):
            assert written["learner"] == curve.learner
            assert written["x"] == curve.x.tolist()
            assert written["y"] == reports.numbers(curve.mean(picture["measure"]))
            stderr = curve.stderr_of(picture["measure"])
            assert written["stderr"] == (None if stderr is None else reports.numbers(stderr))
            assert written["diverged_at"] == curve.diverged_at
    lines = {line.kind: line for line in trace.lines_of("loss")}
    for written in document["pictures"][0]["theory"]:
        line = lines.pop(written["kind"])
        assert written["y"] == line.values.tolist()
        assert written["applies_to"] == line.applies_to
        assert written["source"] == line.statement.source
    assert {absent_line["kind"] for absent_line in document["pictures"][0]["absent"]} == lines.keys()


def test_bounds_name_the_learners_they_apply_to_and_the_reasons(measured):
    losses = told(*measured)["pictures"][0]
    bounds = {line["kind"]: line for line in losses["theory"]}
    absent = {line["kind"]: line for line in losses["absent"]}
    assert bounds["ri-signed"]["applies_to"] == ["GD", "LLS", "wild"]
    assert bounds["ri-signed"]["reasons"].keys() == {"problem", *LEARNERS}
    assert absent["ri-gaussian"]["why"] == absent["ri-gaussian"]["reasons"]["problem"]


def test_an_ongoing_run_is_not_reported_as_finished(measured):
    described, trace = measured
    assert told(described, trace)["points"][0]["finished"]
    going_on = trace.snapshot()
    going_on.curves[0].ended = False
    assert not told(described, going_on)["points"][0]["finished"]


def test_claims_are_judged(measured):
    document = told(*measured)
    claims = document["claims"]
    assert [claim["holds"] for claim in claims] == [True, True, False]
    assert claims[0]["measured"] == pytest.approx(0.5)
    assert claims[1]["measured"] == document["pictures"][0]["curves"][3]["diverged_at"]
    assert claims[2]["measured"] is None


def test_the_experiment_is_fully_resolved_and_can_be_read_again(measured):
    described, trace = measured
    setup = told(described, trace, {"learners": []})["experiment"]
    assert setup["given"] == {"learners": []}
    setup = setup["resolved"]
    assert reading.parse(setup) == described
    assert setup["learners"][2]["update"] == {"kind": "egu", "lr": 0.05, "w0": None}
    assert setup["run"].keys() == {"seed", "streams", "replicas", "dtype", "device", "path", "measures"}


def test_numbers_that_are_not_finite_become_null(measured):
    described, trace = measured
    trace = run(described)
    trace.curves[0].mean("loss")[3] = float("nan")
    trace.curves[0].mean("loss")[4] = float("inf")
    document = told(described, trace)
    assert document["pictures"][0]["curves"][0]["y"][3:5] == [None, None]


def test_lists_of_numbers_are_encoded_like_single_numbers():
    values = np.array(
        [0.0, -0.0, 3.0, -7.0, 0.1, 2.0**53 - 1, 2.0**53, -(2.0**60), 1e300, np.nan, np.inf, -np.inf]
    )
    numbers = reports.numbers(values)
    assert json.dumps(numbers) == json.dumps([reports.number(value) for value in values.tolist()])


def test_the_report_is_one_line(measured):
    text = encode({}, of_one(*measured), [])
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1


def test_a_report_of_many_records_takes_little_more_memory_than_its_text():
    learners = {f"{number}": gd(0.1) for number in range(6)}
    described, records = experiment("gaussian", d=4, learners=learners), 10_000
    x = np.arange(float(records))
    curves = []
    for number, name in enumerate(learners):
        curve = Curve(name, records, 1, Verdict(True, ""))
        curve.append({"k": x}, {"loss": np.random.default_rng(number).random((records, 1))})
        curves.append(curve)
    trace = Trace(curves, [], {"k": x}, "examples k", {}, "loss")
    results = of_one(described, trace)
    tracemalloc.start()
    try:
        size = len(encode({}, results, []))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * size


def test_the_report_contains_claims_about_diverged_curves():
    claim = {"text": "It stays above", "learner": "wild", "never_below": "ri-signed"}
    described = experiment(d=8, learners={"wild": gd(1e4)}, claims=[claim])
    (claim_in_json,) = told(described, run(described))["claims"]
    assert claim_in_json["holds"] is False
    assert claim_in_json["detail"].endswith("; it diverged at k = 1")


def test_the_report_of_an_epochs_run_has_epochs_on_x():
    described = experiment("gaussian", d=4, protocol={"kind": "epochs", "epochs": 3})
    picture = told(described, run(described))["pictures"][0]
    assert picture["x"] == "epoch"
    assert picture["curves"][0]["x"] == [0, 1, 2, 3]


def test_the_report_has_the_headline_of_the_run():
    described = experiment(learners={"GD": gd(1 / 16)}, claims=CLAIMS[:1], d=8)
    picture = told(described, run(described))["pictures"][0]
    assert picture["summary"].startswith("After 4 examples, average square loss is 0.5")


def test_the_report_has_a_picture_of_ranks_and_the_singular_values():
    described = experiment(target="all", learners={"LLS": LLS, "GD": gd(0.05)}, d=4, spectrum=True)
    trace = run(described)
    document = told(described, trace)
    (ranks,) = (picture for picture in document["pictures"] if picture["measure"] == "rank")
    (span,) = (line for line in ranks["theory"] if line["kind"] == "rank-span")
    assert (span["direction"], span["formula"]) == ("upper", "k")
    assert span["reasons"].keys() == {"problem", "LLS", "GD"}
    assert span["y"] == [0, 1, 2, 3, 4]
    for written, curve in zip(document["points"][0]["runs"], trace.curves, strict=True):
        expected = spectrum_of(curve)
        assert written["spectrum"]["values"] == [reports.numbers(number) for number in expected.values]
        assert written["spectrum"]["rank"] == expected.rank.tolist()
