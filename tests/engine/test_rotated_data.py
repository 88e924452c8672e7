"""On data that are rotated at random, bounds for rotation-invariant learners bind all learners."""

import numpy as np
import pytest
from building import data_of, experiment, gd
from test_declared_properties import FAMILIES, D, Stretched, assert_mean, instances, of_family

from engine.core import catalogue
from engine.judging.judgement import judgement
from engine.runtime.run import run
from engine.symmetry.verdict import verdict
from engine.theory import on_learner, on_problem

pytestmark = pytest.mark.slow

EGU = {"update": {"kind": "egu-pm", "lr": 0.05}}
TRAINED = {
    "EGU±": EGU,
    "Adam": {"update": {"kind": "adam", "lr": 0.02}, "architecture": {"kind": "dense", "widths": [8]}},
    "spindly±": gd(0.0125, kind="spindly", signed=True),
}
WITH_AXES = {**TRAINED, "basis pursuit": {"solver": "basis-pursuit"}}
"""Learners that are not rotation invariant on data other than signs."""

DRAWN = {"kind": "one-pass", "replacement": True}
NOISY = {"kind": "gaussian", "n": 16}
BINDING = {
    "ri-signed": {"matrix": {"kind": "hadamard"}},
    "ri-permuted": {"matrix": {"kind": "hadamard", "row_signs": False}},
    "ri-gaussian": {"matrix": NOISY},
    "ri-01": {"matrix": {"kind": "hadamard01"}},
    "ri-drawn": {"matrix": {"kind": "hadamard"}, "protocol": DRAWN},
    "duplicates": {"matrix": {"kind": "hadamard", "repeat": 1}},
    "noise": {"matrix": NOISY, "noise": 0.3},
    "percolation": {"matrix": {"kind": "outer", "factors": [2, 4]}},
    "outer-rotations": {"matrix": {"kind": "outer", "factors": [2, 4]}},
    "ladder": {"matrix": {"kind": "outer", "factors": [2, 2, 2]}},
}
"""Problems on which lines for rotation-invariant learners hold, by line."""


def described(words, learners, rotate=True, replicas=1):
    matrix = {**words["matrix"], "rotate": rotate}
    size = {} if "factors" in matrix else {"d": 8}
    return experiment(**{**words, "matrix": matrix}, learners=learners, replicas=replicas, **size)


@pytest.mark.parametrize("kind", BINDING)
def test_a_bound_for_rotation_invariant_learners_binds_all_learners_of_rotated_data(kind):
    line = catalogue.make("theory", kind)
    for rotate in (True, False):
        setup = described(BINDING[kind], WITH_AXES, rotate)
        assert on_problem(line, setup).holds, on_problem(line, setup).reason
        for learner in setup.learners:
            judged = verdict(learner, setup)
            finding = on_learner(line, learner, setup, judged)
            invariant = judged.invariant is not False
            assert finding.holds == (rotate or invariant), learner.name
            if rotate and not invariant:
                assert finding.reason.endswith(
                    "yet the bound applies, because the data are rotated at random"
                )


@pytest.mark.parametrize("kind", BINDING)
def test_no_learner_of_rotated_data_is_below_a_rotation_invariance_bound(kind):
    trace = run(described(BINDING[kind], TRAINED, replicas=100))
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == kind)
    assert line.applies_to == [*TRAINED]
    for curve in trace.curves:
        gaps = curve.values("loss") - (line.values[:, None] if line.by_replica is None else line.by_replica.T)
        errors = gaps.std(1, ddof=1) / np.sqrt(gaps.shape[1])
        assert (gaps.mean(1) > -4 * errors - 1e-6).all(), curve.name


def test_axis_aware_learners_beat_the_bound_without_rotation():
    learners = {
        "EGU±": {"update": {"kind": "egu-pm", "lr": 0.2}},
        "basis pursuit": {"solver": "basis-pursuit"},
    }
    trace = run(described(BINDING["ri-signed"], learners, rotate=False, replicas=20))
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "ri-signed")
    below = {curve.name for curve in trace.curves if (curve.mean("loss") < line.values - 0.05).any()}
    assert below == {*learners}


def test_ri_rademacher_requires_linearity_in_labels_on_rotated_data():
    line = catalogue.make("theory", "ri-rademacher")
    fixed = {**gd(0.05, kind="neuron", activation="identity", init="gaussian"), "start_seed": [0]}
    setup = described({"matrix": {"kind": "rademacher"}}, {"fixed": fixed, "EGU±": EGU})
    neuron, egu = setup.learners
    assert verdict(neuron, setup).invariant is False
    assert line.binds(neuron, setup).holds
    as_drawn = described({"matrix": {"kind": "rademacher"}}, {"fixed": fixed}, rotate=False)
    assert "may treat features or signs differently" in line.binds(neuron, as_drawn).reason
    assert "not linear in the gradients" in line.binds(egu, setup).reason


@pytest.mark.parametrize("kind", ["ri-signed", "percolation"])
def test_bounds_do_not_bind_nets_with_shared_layers_on_rotated_data(kind):
    net = gd(0.1, kind="dense", widths=[4], outputs="m")
    words = {**BINDING[kind], "target": "all"}
    setup = described(words, {"net": net})
    finding = catalogue.make("theory", kind).binds(setup.learners[0], setup)
    assert "share hidden layers" in finding.reason


def test_span_bounds_do_not_bind_axis_dependent_learners_on_rotated_data():
    setup = described({"matrix": {"kind": "hadamard"}, "target": "all"}, {"EGU±": EGU})
    for kind in ("svd", "rank-span"):
        assert "leave the span" in catalogue.make("theory", kind).binds(setup.learners[0], setup).reason


def test_the_judgement_explains_why_a_bound_binds_a_learner_without_invariance():
    setup = described(BINDING["ri-signed"], {"EGU±": EGU}, replicas=4)
    judged = judgement(setup, run(setup), setup.learners[0])
    assert judged.verdict.invariant is False
    assert [bound.bound for bound in judged.bounds] == ["ri-permuted", "ri-signed"]
    assert judged.reasons == [
        "EGU± is not rotation invariant, yet the bound applies, because the data are rotated at random"
    ]


@pytest.mark.parametrize("kind", FAMILIES)
def test_families_declared_turned_have_isotropic_rows(kind):
    for matrix in of_family(kind):
        assert matrix.structure().is_turned == matrix.rotate
        if matrix.structure().is_turned:
            x = instances(matrix)
            assert_mean(x, 0, f"mean of {matrix}")
            for second in (x[:, 0], x[:, 1]):
                products = x[:, 0, :, None] * second[:, None]
                even = np.trace(products, axis1=1, axis2=2)[:, None, None] * np.eye(x.shape[-1]) / x.shape[-1]
                assert_mean(products - even, 0, f"products of {matrix}")


def test_a_family_that_transforms_its_rotated_rows_is_not_declared_turned():
    assert not Stretched(d=D, rotate=True).structure().is_turned
    assert data_of(described(BINDING["ri-signed"], {"EGU±": EGU})).w_star is None
