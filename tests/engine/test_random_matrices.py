"""Monte Carlo against the bounds: every tolerance is a number of standard errors over replicas."""

import numpy as np
import pytest
from building import LLS, experiment, gd
from discovery import LEARNERS

from engine import catalogue
from engine.run import run

ERRORS = 4
ROUNDING = 1e-11


def gap_in_errors(curve, bound) -> np.ndarray:
    """(mean loss − bound) / standard error at every k; rounding counts as nothing."""
    gap = curve.loss - np.interp(curve.x, bound.x, bound.loss)
    gap[abs(gap) < ROUNDING] = 0
    return gap / np.maximum(curve.stderr, 1e-300)


def bound_of(trace, kind):
    return next(bound for bound in trace.bounds if bound.kind == kind)


@pytest.mark.parametrize(("d", "n"), [(16, None), (12, 8), (8, 20)])
def test_gaussian_least_squares_stays_on_its_bound(d, n):
    matrix = {"kind": "gaussian", "d": d, **({"n": n} if n else {})}
    trace = run(experiment(matrix, learners={"LLS": LLS}, replicas=400, seed=100))
    off = gap_in_errors(trace.curves[0], bound_of(trace, "ri-gaussian"))
    assert abs(off).max() <= ERRORS
    k = trace.curves[0].x
    expected = (1 - k / (n or d)) * np.maximum(0, 1 - k / d)
    np.testing.assert_allclose(bound_of(trace, "ri-gaussian").loss, expected, atol=1e-15)


def test_gaussian_least_squares_is_not_on_the_hadamard_line():
    trace = run(experiment({"kind": "gaussian", "d": 16}, learners={"LLS": LLS}, replicas=400))
    curve = trace.curves[0]
    off = ((curve.loss - (1 - curve.x / 16)) / np.maximum(curve.stderr, 1e-300))[4:13]
    assert (off < -ERRORS).all(), "the same measurement tells the two curves apart"


FULLY_CONNECTED = {
    "one layer": {"widths": [16], "activation": "identity", "scale": 0.5},
    "two layers": {"widths": [12, 8], "activation": "identity", "scale": 0.8},
    "relu": {"widths": [32], "activation": "relu", "scale": 0.7},
    "deep relu": {"widths": [16, 16], "activation": "relu", "scale": 1.0},
    "zero": {"widths": [16], "init": "zero"},
}


def test_fully_connected_nets_with_invariant_starts_are_never_below_ri_signed():
    learners = {name: gd(0.02, kind="dense", **words) for name, words in FULLY_CONNECTED.items()}
    trace = run(experiment(learners=learners, d=16, replicas=200, seed=7))
    for curve in trace.curves:
        assert curve.complete
        assert curve.loss[-1] < 0.6 * curve.loss[0], f"{curve.name} learned something"
        assert gap_in_errors(curve, bound_of(trace, "ri-signed")).min() >= -ERRORS, curve.name


def test_a_small_identity_start_dips_below_ri_signed():
    net = gd(0.05, kind="dense", widths=[16], init="identity", scale=0.25)
    trace = run(experiment(learners={"identity": net}, d=16, replicas=200, seed=7))
    assert gap_in_errors(trace.curves[0], bound_of(trace, "ri-signed")).min() < -ERRORS
    assert bound_of(trace, "ri-signed").applies_to == []


PROBLEMS = {
    "signed hadamard": {"matrix": {"kind": "hadamard", "permute": False}},
    "constant": {"target": "constant"},
    "logistic": {"loss": "logistic"},
    "permuted hadamard": {"matrix": {"kind": "hadamard", "row_signs": False}},
    "all": {"target": "all"},
    "gaussian": {"matrix": "gaussian"},
    "gaussian, all": {"matrix": {"kind": "gaussian", "n": 12}, "target": "all"},
    "rademacher": {"matrix": "rademacher"},
    "noise": {"noise": 0.5},
}
"""Between them every bound of the catalogue holds somewhere."""


@pytest.fixture(scope="module", params=PROBLEMS)
def measured(request):
    words = PROBLEMS[request.param]
    replicas = 50 if words.get("target") == "all" else 400
    bare = experiment(learners=LEARNERS, d=8, **words)
    return run(experiment(learners=bound_somewhere(bare), d=8, replicas=replicas, seed=1000, **words))


def bound_somewhere(described) -> dict:
    """The learners that some bound binds on the problem."""
    kinds = [catalogue.make("bounds", kind) for kind in catalogue.members("bounds")]
    holding = [bound for bound in kinds if bound.on(described).holds]
    return {
        learner.name: LEARNERS[learner.name]
        for learner in described.learners
        if any(bound.binds(learner, described).holds for bound in holding)
    }


def test_no_learner_is_below_a_bound_that_applies_to_it(measured):
    seen = 0
    for bound in measured.bounds:
        if bound.sense == "upper":
            continue
        for name in bound.applies_to:
            off = gap_in_errors(measured.curve(name), bound)
            assert off.min() >= -ERRORS, f"{name} against {bound.kind}"
            seen += 1
    assert seen > 0


def test_every_bound_holds_on_some_problem():
    holding = set()
    for words in PROBLEMS.values():
        described = experiment(d=8, **words)
        for kind in catalogue.members("bounds"):
            if catalogue.make("bounds", kind).on(described).holds:
                holding.add(kind)
    assert holding == set(catalogue.members("bounds"))
