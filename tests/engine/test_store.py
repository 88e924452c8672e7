"""A store holds all values of a sweep that its pictures and claims read."""

import numpy as np
import pytest
from building import gd

from engine.core.parts import BadInput
from engine.planning.run_plan import plan_run
from engine.results.outcomes import judge
from engine.results.report import encode
from engine.results.views import view
from engine.runtime import curve_keys
from engine.runtime import store as stores
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.sweep_run import run_sweep
from engine.spec import presets
from engine.spec.documents import sweep_of
from engine.spec.experiment import drawn

REPLICAS = 3

OF_LOSS = {"x": "size", "measure": "loss", "read": {"first_below": 0.5}}
OF_ERROR = {"x": "size", "measure": "error", "read": {"first_below": 0.2}}
MAP_OF_ERROR = {"x": "k", "y": "size", "measure": "error"}
UNTIL_ERROR = {
    "x": "size",
    "measure": "loss",
    "read": {"take": "last", "until": {"measure": "error", "below": 0.2}},
}
CLAIM_OF_ERROR = {
    "kind": "share",
    "text": "it learns",
    "curve": "GD",
    "at": 16,
    "below": 9,
    "measure": "error",
}


def document(picture=OF_LOSS, claims=()):
    return {
        "axes": [{"name": "size", "from": 4, "to": 16, "log": True}],
        "problem": {"matrix": {"kind": "rademacher", "n": "2d", "d": "size"}, "target": "feature"},
        "protocol": "one-pass",
        "learners": [{"name": "GD", **gd("1/(2d)")}],
        "pictures": [picture],
        "claims": list(claims),
        "run": {"replicas": REPLICAS, "device": "cpu"},
    }


def swept(folder, raw):
    """Results of a sweep with a store, and the number of learners trained for it."""
    results = run_sweep(sweep_of(raw), writer=None if folder is None else RunWriter(Store(folder)))
    return results, sum(not curve.is_restored for trace in results.traces.values() for curve in trace.curves)


def answers(results):
    """Views of all pictures for every replica, and outcomes of claims."""
    return encode({}, results, judge(results), by_replica=True)


def test_a_measure_not_read_by_replica_is_stored_as_a_summary(tmp_path):
    computed, _ = swept(tmp_path, document())
    restored, trained = swept(tmp_path, document())
    assert trained == 0
    for number, trace in computed.traces.items():
        (curve,), (again,) = trace.curves, restored.traces[number].curves
        np.testing.assert_array_equal(again.values("loss"), curve.values("loss"))
        np.testing.assert_array_equal(again.values("error"), curve.values("error")[:, :1])
        np.testing.assert_array_equal(again.mean("error"), curve.mean("error"))
        np.testing.assert_array_equal(again.stderr_of("error"), curve.stderr_of("error"))


@pytest.mark.parametrize(
    ("picture", "claims"),
    [(OF_ERROR, ()), (MAP_OF_ERROR, ()), (UNTIL_ERROR, ()), (OF_LOSS, (CLAIM_OF_ERROR,))],
    ids=["picture", "map", "until", "claim"],
)
def test_a_set_up_that_reads_unstored_replicas_is_recomputed(picture, claims, tmp_path):
    swept(tmp_path, document())
    raw = document(picture, claims)
    anew, trained = swept(tmp_path, raw)
    assert trained == 3
    again, trained = swept(tmp_path, raw)
    assert trained == 0
    without, _ = swept(None, raw)
    assert answers(anew) == answers(again) == answers(without)


@pytest.mark.parametrize("picture", [OF_ERROR, MAP_OF_ERROR, UNTIL_ERROR], ids=["curve", "map", "until"])
def test_a_picture_of_unstored_replicas_is_refused(picture, tmp_path):
    swept(tmp_path, document())
    restored, _ = swept(tmp_path, document())
    (wanted,) = drawn(sweep_of(document(picture)).experiment)
    with pytest.raises(BadInput, match="error was stored for the first of 3 replicas only"):
        view(wanted, restored)


def test_curves_from_the_cache_name_the_backends_that_computed_them(tmp_path):
    computed, _ = swept(tmp_path, document())
    for trace in computed.traces.values():
        trace.curves[0].backends.append("compiled")
    writer = RunWriter(Store(tmp_path))
    writer.begin(computed.sweep)
    for number, trace in computed.traces.items():
        writer.at(number)
        writer.begun(trace)
        writer.keep(plan_run(computed.sweep.points[number].experiment).learners[0], trace.curves)
    writer.end(computed, "finished")
    restored, _ = swept(tmp_path, document())
    for number, trace in computed.traces.items():
        assert restored.traces[number].curves[0].backend == trace.curves[0].backend
        assert restored.traces[number].curves[0].backend.endswith(" then compiled")


def test_large_weights_are_not_stored_and_the_curve_reports_their_size(tmp_path, monkeypatch):
    monkeypatch.setattr(curve_keys, "MOST_WEIGHT_BYTES", 33 * 16 * 4 - 1)
    computed, _ = swept(tmp_path, document())
    restored, _ = swept(tmp_path, document())
    *small, large = (restored.traces[number].curves[0] for number in range(3))
    for number, curve in enumerate(small):
        np.testing.assert_array_equal(curve.weights, computed.traces[number].curves[0].weights)
        assert curve.uncached_weight_bytes == 0
    assert large.weights is None
    assert large.uncached_weight_bytes == computed.traces[2].curves[0].weights.nbytes == 33 * 16 * 4


@pytest.mark.parametrize(
    ("sizes", "megabytes"),
    [([16, 128, 4096, 16384], 1), pytest.param([2**k for k in range(4, 21)], 50, marks=pytest.mark.slow)],
    ids=["four sizes", "all of hadamard-d"],
)
@pytest.mark.slow
def test_a_sweep_with_many_features_is_stored_in_few_megabytes(sizes, megabytes, tmp_path):
    raw = presets.document("hadamard-d", ["run.device=cpu"])
    raw["axes"] = [{"name": "size", "values": sizes}]
    raw["claims"] = [claim for claim in raw["claims"] if claim.get("at") in (None, *sizes)]
    computed, trained = swept(tmp_path, raw)
    assert trained == 3 * len(sizes) + sum(size <= 128 for size in sizes)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.run")) < megabytes * stores.MB
    restored, trained = swept(tmp_path, raw)
    assert trained == 0
    assert answers(restored) == answers(computed)
