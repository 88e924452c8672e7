"""The JSON of a run: schema 1 of design.md, and nothing that is not JSON."""

import json
import tracemalloc

import msgspec
import numpy as np
import pytest
from building import LLS, experiment, gd

from engine.core.parts import Verdict
from engine.results import report as reports
from engine.results.report import encode, report
from engine.results.trace import Curve, Trace
from engine.runtime.run import run
from engine.spec import reading

CLAIMS = [
    {"text": "It halves", "learner": "GD", "k": 4, "loss": 0.5, "within": 1e-9},
    {"text": "It diverges", "learner": "wild", "diverges": True},
    {"text": "It does not", "learner": "GD", "diverges": True},
]
LEARNERS = {"GD": gd(1 / 16), "LLS": LLS, "EGU": {"update": "egu"}, "wild": gd(1e4)}


def strict(text):
    """JSON and nothing else: no NaN, no Infinity."""

    def never(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=never)


@pytest.fixture(scope="module", params=[1, 3])
def measured(request):
    described = experiment("hadamard", learners=LEARNERS, claims=CLAIMS, d=8, replicas=request.param)
    return described, run(described)


def test_the_keys_are_those_of_schema_1(measured):
    found = strict(encode(*measured))
    assert found["schema"] == 1
    assert found.keys() == {
        *("schema", "experiment", "environment", "clock", "curves", "bounds", "theory", "claims", "summary")
    }
    assert found["environment"].keys() >= {"version", "torch", "device", "dtype"}
    for curve in found["curves"]:
        assert curve.keys() >= {"learner", "x", "k", "loss", "stderr", "diverged_at", "verdict", "path"}
        assert curve["verdict"].keys() == {"invariant", "reason"}
        assert curve["verdict"]["invariant"] in (True, False, "on this data")
    for bound in found["bounds"]:
        assert bound.keys() >= {"id", "kind", "k", "loss", "applies_to", "source"}
        assert bound["kind"] in ("lower", "upper", "asymptotic")
    for claim in found["claims"]:
        assert claim.keys() == {"text", "holds", "measured", "stderr", "detail"}


def test_the_numbers_are_those_that_were_computed(measured):
    described, trace = measured
    found = strict(encode(described, trace))
    assert [curve["learner"] for curve in found["curves"]] == list(LEARNERS)
    for written, curve in zip(found["curves"], trace.curves, strict=True):
        assert written["k"] == curve.x.tolist()
        assert written["loss"] == curve.mean("loss").tolist()
        stderr = curve.stderr_of("loss")
        assert written["stderr"] == (None if stderr is None else stderr.tolist())
        assert written["diverged_at"] == curve.diverged_at
    for written, bound in zip(found["bounds"], reports.bounds_of(trace), strict=True):
        assert written["id"] == bound.kind
        assert written["loss"] == bound.values.tolist()
        assert written["applies_to"] == bound.applies_to
        assert written["source"] == bound.source


def test_bounds_name_the_learners_they_apply_to_and_the_reasons(measured):
    found = {bound["id"]: bound for bound in strict(encode(*measured))["bounds"]}
    assert found["ri-signed"]["applies_to"] == ["GD", "LLS", "wild"]
    assert found["ri-gaussian"]["applies_to"] == []
    assert found["ri-gaussian"]["k"] == []
    assert found["ri-signed"]["reasons"].keys() == {"problem", *LEARNERS}


def test_claims_are_judged(measured):
    found = strict(encode(*measured))["claims"]
    assert [claim["holds"] for claim in found] == [True, True, False]
    assert found[0]["measured"] == pytest.approx(0.5)
    assert found[1]["measured"] == strict(encode(*measured))["curves"][3]["diverged_at"]
    assert found[2]["measured"] is None


def test_the_experiment_is_fully_resolved_and_can_be_read_again(measured):
    described, trace = measured
    found = strict(encode(described, trace))["experiment"]
    assert reading.parse(found) == described
    assert found["learners"][2]["update"] == {"kind": "egu", "lr": 0.05, "w0": None}
    assert found["run"].keys() == {"seed", "streams", "replicas", "dtype", "device", "path", "measures"}


def test_numbers_that_are_not_finite_become_null(measured):
    described, trace = measured
    trace = run(described)
    trace.curves[0].mean("loss")[3] = float("nan")
    trace.curves[0].mean("loss")[4] = float("inf")
    found = strict(encode(described, trace))
    assert found["curves"][0]["loss"][3:5] == [None, None]
    assert report(described, trace)["curves"][0]["loss"][3:5] == [None, None]


def test_every_number_is_what_json_has_for_it_alone():
    values = np.array(
        [0.0, -0.0, 3.0, -7.0, 0.1, 2.0**53 - 1, 2.0**53, -(2.0**60), 1e300, np.nan, np.inf, -np.inf]
    )
    numbers = reports.numbers(values)
    assert json.dumps(numbers) == json.dumps([reports.number(value) for value in values.tolist()])


def test_it_is_one_line(measured):
    text = encode(*measured)
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1


def test_the_text_is_that_of_the_report(measured):
    assert encode(*measured) == msgspec.json.encode(report(*measured)) + b"\n"


def test_a_report_of_many_records_takes_little_more_memory_than_its_text():
    described, records = experiment("gaussian", d=4), 10_000
    x = np.arange(float(records))
    curves = []
    for number in range(6):
        curve = Curve(f"{number}", records, 1, Verdict(True, ""))
        curve.append({"k": x}, {"loss": np.random.default_rng(number).random((records, 1))})
        curves.append(curve)
    trace = Trace(curves, [], {"k": x}, "examples k", {}, "loss")
    tracemalloc.start()
    try:
        size = len(encode(described, trace))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * size


def test_a_claim_about_a_curve_that_diverged_is_told_in_json():
    claim = {"text": "It stays above", "learner": "wild", "never_below": "ri-signed"}
    described = experiment(d=8, learners={"wild": gd(1e4)}, claims=[claim])
    (told,) = strict(encode(described, run(described)))["claims"]
    assert told["holds"] is False
    assert told["detail"].endswith("; it diverged at k = 1")


def test_epochs_are_called_epochs_and_k_has_them_too():
    described = experiment("gaussian", d=4, protocol={"kind": "epochs", "epochs": 3})
    found = report(described, run(described))
    (curve, *_), (bound, *_) = found["curves"], found["bounds"]
    assert found["clock"] == "epoch"
    assert curve["x"] == curve["k"] == [0, 1, 2, 3]
    assert bound["x"] == bound["k"]


def test_it_has_the_caption_of_the_run():
    described = experiment(learners={"GD": gd(1 / 16)}, claims=CLAIMS[:1], d=8)
    found = report(described, run(described))
    assert found["summary"].endswith("GD follows that line exactly; its claim holds.")


def test_lines_of_other_measures_are_among_the_theory():
    described = experiment(target="all", learners={"LLS": LLS, "GD": gd(0.05)}, d=4, spectrum=True)
    found = {line["id"]: line for line in report(described, run(described))["theory"]}
    span = found["rank-span"]
    assert (span["measure"], span["kind"], span["formula"]) == ("rank", "upper", "k")
    assert span["reasons"].keys() == {"problem", "LLS", "GD"}
    values = span["values"] or span["of_curves"]["GD"]["values"]
    assert values == [0, 1, 2, 3, 4]
