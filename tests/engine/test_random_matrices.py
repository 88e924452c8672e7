"""Monte Carlo against the bounds: every tolerance is a number of standard errors over replicas."""

import crossing
import numpy as np
import pytest
from building import LLS, experiment, gd, weights
from crossing import covering_names
from discovery import LEARNERS, asked, traits

from engine.core import catalogue
from engine.pictures.view import FROM_BELOW
from engine.runtime.run import run
from engine.theory import on_problem

pytestmark = pytest.mark.slow

ERRORS = 4
ROUNDING = 1e-11


def gap_in_errors(curve, bound) -> np.ndarray:
    """(mean loss − bound) / standard error at every k; rounding counts as nothing."""
    gap = curve.mean("loss") - np.interp(curve.x, bound.x, bound.values)
    gap[abs(gap) < ROUNDING] = 0
    return gap / np.maximum(curve.stderr_of("loss"), 1e-300)


def bound_of(trace, kind):
    return next(bound for bound in trace.lines if bound.kind == kind)


@pytest.mark.parametrize(("d", "n"), [(16, None), (12, 8), (8, 20)])
def test_gaussian_least_squares_stays_on_its_bound(d, n):
    matrix = {"kind": "gaussian", "d": d, **({"n": n} if n else {})}
    trace = run(experiment(matrix, learners={"LLS": LLS}, replicas=400, seed=100))
    off = gap_in_errors(trace.curves[0], bound_of(trace, "ri-gaussian"))
    assert abs(off).max() <= ERRORS
    k = trace.curves[0].x
    expected = (1 - k / (n or d)) * np.maximum(0, 1 - k / d)
    np.testing.assert_allclose(bound_of(trace, "ri-gaussian").values, expected, atol=1e-15)


def test_gaussian_least_squares_is_below_the_hadamard_line():
    trace = run(experiment({"kind": "gaussian", "d": 16}, learners={"LLS": LLS}, replicas=400))
    curve = trace.curves[0]
    off = ((curve.mean("loss") - (1 - curve.x / 16)) / np.maximum(curve.stderr_of("loss"), 1e-300))[4:13]
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
        assert curve.mean("loss")[-1] < 0.6 * curve.mean("loss")[0], f"{curve.name} learned something"
        assert gap_in_errors(curve, bound_of(trace, "ri-signed")).min() >= -ERRORS, curve.name


def test_a_small_identity_start_dips_below_ri_signed():
    net = gd(0.05, kind="dense", widths=[16], init="identity", scale=0.25)
    trace = run(experiment(learners={"identity": net}, d=16, replicas=200, seed=7))
    assert gap_in_errors(trace.curves[0], bound_of(trace, "ri-signed")).min() < -ERRORS
    assert bound_of(trace, "ri-signed").applies_to == []


DRAWN = {"kind": "one-pass", "replacement": True}

PROBLEMS = {
    "signed hadamard": {"matrix": {"kind": "hadamard", "permute": False}},
    "signed paley": {"matrix": {"kind": "hadamard"}, "d": 12},
    "constant": {"target": "constant"},
    "logistic": {"loss": "logistic"},
    "hinge, drawn": {"loss": "hinge", "protocol": DRAWN},
    "bernoulli": {"labels": "bernoulli", "target": {"kind": "sparse", "r": 1}},
    "noise": {"noise": 0.5, "target": {"kind": "sparse", "r": 3}},
    "permuted paley": {"matrix": {"kind": "hadamard", "row_signs": False}, "d": 12},
    "rotated products": {"matrix": {"kind": "xor", "features": "products", "rotate": True}},
    "all": {"target": "all"},
    "doubled": {"target": "doubled", "matrix": {"kind": "hadamard", "permute": False, "row_signs": False}},
    "duplicates": {"matrix": {"kind": "hadamard", "repeat": 2, "permute": False, "row_signs": False}},
    "duplicates, drawn": {"matrix": {"kind": "hadamard", "repeat": 1}, "protocol": DRAWN},
    "duplicates, noise": {"matrix": {"kind": "hadamard", "repeat": 1}, "target": "sparse", "noise": 0.5},
    "0 and 1": {"matrix": "hadamard01"},
    "0 and 1, paley": {"matrix": {"kind": "hadamard01", "permute": False}, "d": 12, "target": "constant"},
    "0 and 1, entropic": {"matrix": "hadamard01", "loss": "entropic"},
    "0 and 1, drawn": {"matrix": "hadamard01", "protocol": {**DRAWN, "average": True, "clip": 1.0}},
    "gaussian": {"matrix": "gaussian"},
    "gaussian, all": {"matrix": {"kind": "gaussian", "n": 12}, "target": "all"},
    "gaussian, noise": {"matrix": {"kind": "gaussian", "n": 24}, "target": "sparse", "noise": 0.7},
    "rademacher": {"matrix": "rademacher"},
    "sphere": {"matrix": "sphere"},
    "coins": {"matrix": "gaussian", "target": "coin"},
    "outer": {"matrix": {"kind": "outer", "factors": [4, 4]}, "d": None},
    "outer, three": {"matrix": {"kind": "outer", "factors": [2, 2, 2]}, "d": None},
}
"""Between them every bound of the catalogue holds somewhere."""

MANY = {"all": 8, "doubled": 16}
"""Targets at once, for d = 8: fewer replicas do then."""


NEAREST = ["lls", "gd linear"]
"""They come nearest to the bounds, and so tell of one that is too high."""

TURNS = 1 if crossing.all_combinations else 5


def those_for(problem: int) -> list[str]:
    """On every problem a fifth of all rules, architectures and shapes; and every learner on some problem."""
    everywhere = covering_names(traits(LEARNERS))
    learners_in_turns = [learner_name for learner_name in LEARNERS if learner_name not in everywhere]
    learners = [*NEAREST, *everywhere[problem % TURNS :: TURNS], *learners_in_turns[problem :: len(PROBLEMS)]]
    return list(dict.fromkeys(learners))


@pytest.fixture(scope="module", params=PROBLEMS)
def measured(request):
    words = {"d": 8, **PROBLEMS[request.param]}
    learners = {
        learner_name: LEARNERS[learner_name]
        for learner_name in those_for(list(PROBLEMS).index(request.param))
    }
    bare = experiment(learners=learners, **words)
    replicas = 200 // MANY.get(str(words.get("target")), 1)
    return run(experiment(learners=bound_somewhere(bare), replicas=replicas, seed=1000, **words))


def bound_somewhere(described) -> dict:
    """The learners that some lower bound binds on the problem."""
    kinds = [catalogue.make("theory", kind) for kind in catalogue.members("theory")]
    holding = [
        bound
        for bound in kinds
        if bound.structure().direction != "upper" and on_problem(bound, described).holds
    ]
    return {
        learner.name: LEARNERS[learner.name]
        for learner in described.learners
        if any(bound.binds(learner, described).holds for bound in holding)
    }


def test_no_learner_is_below_a_bound_that_applies_to_it(measured):
    seen = 0
    for bound in measured.lines:
        direction = bound.statement.direction
        if direction in ("upper", "asymptotic", "shape", "reference") or not len(bound.values):
            continue
        for name in bound.applies_to:
            off = gap_in_errors(measured.curve(name), bound)
            assert off.min() >= -ERRORS, f"{name} against {bound.kind}"
            seen += 1
    assert seen > 0


def test_every_bound_holds_on_some_problem():
    holding = set()
    for words in PROBLEMS.values():
        described = experiment(**{"d": 8, **words})
        for kind in catalogue.members("theory"):
            if on_problem(catalogue.make("theory", kind), described).holds:
                holding.add(kind)
    lines = {kind: catalogue.make("theory", kind) for kind in asked("theory")}
    bounds = {
        kind for kind, line in lines.items() if line.structure().direction in ("lower", "upper", "conjecture")
    }
    assert {kind for kind in bounds if lines[kind].measure == "loss"} <= holding


SPINDLY = gd(0.05, kind="spindly")
EGU = {"update": {"kind": "egu", "lr": 0.2}}
EGU_PM = {"update": {"kind": "egu-pm", "lr": 0.1}}
EGU_PM_FAST = {"update": {"kind": "egu-pm", "lr": 0.25}}

PAST_D = {
    "d": 32,
    "matrix": {"kind": "gaussian", "n": 960},
    "noise": 0.3,
    "protocol": {"kind": "epochs", "train": 48, "epochs": 1},
}
"""More examples than features, and many more rows to measure the loss on."""

BELOW = [
    ("ri-signed", EGU, {"d": 32}),
    ("ri-signed", EGU, {"d": 28}),
    ("ri-permuted", EGU, {"d": 32, "matrix": {"kind": "hadamard", "row_signs": False}}),
    ("ri-gaussian", {"solver": "basis-pursuit"}, {"d": 16, "matrix": "gaussian"}),
    ("ri-rademacher", {"solver": "basis-pursuit"}, {"d": 16, "matrix": "rademacher"}),
    ("ri-01", {"update": {"kind": "egu", "lr": 0.3}}, {"d": 64, "matrix": "hadamard01"}),
    ("duplicates", EGU, {"d": 32, "matrix": {"kind": "hadamard", "repeat": 1}}),
    ("duplicates", EGU, {"d": 32, "protocol": DRAWN}),
    ("ri-drawn", EGU, {"d": 32, "protocol": DRAWN}),
    ("noise", {"solver": {"kind": "lasso", "lam": 0.06}}, PAST_D),
    ("percolation", EGU_PM_FAST, {"matrix": {"kind": "outer", "factors": [8, 8]}}),
    ("ladder", EGU_PM_FAST, {"matrix": {"kind": "outer", "factors": [64]}}),
    ("outer-linear", EGU_PM_FAST, {"matrix": {"kind": "outer", "factors": [8, 8]}}),
    ("outer-rotations", EGU_PM_FAST, {"matrix": {"kind": "outer", "factors": [8, 8]}}),
    ("svd", EGU, {"d": 64, "target": "all"}),
    ("svd-doubled", EGU_PM, {"d": 64, "target": "doubled"}),
    ("svd-two-layer", SPINDLY, {"d": 64, "target": "all"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "learner", "words"), BELOW)
def test_unbound_learners_go_below_a_bound(kind, learner, words):
    replicas = 3 if "target" in words else 20 if "solver" in learner else 100
    trace = run(experiment(learners={"it": learner}, replicas=replicas, seed=9, **words))
    bound = bound_of(trace, kind)
    assert bound.applies_to == []
    assert gap_in_errors(trace.curves[0], bound)[1:].min() < -ERRORS


def test_every_lower_bound_has_a_learner_that_goes_below_it():
    lines = {kind: catalogue.make("theory", kind) for kind in asked("theory")}
    lower = {
        kind
        for kind, line in lines.items()
        if line.structure().direction in FROM_BELOW and line.measure == "loss"
    }
    assert lower - {"coin-labels"} <= {kind for kind, _, _ in BELOW}, "no learner is below that"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("ri-signed", {}),
        ("ri-signed", {"d": 20}),
        ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 1}}),
        ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 3, "row_signs": False}, "target": "all"}),
        ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 2}, "loss": "hinge"}),
        ("svd", {"target": "doubled"}),
    ],
)
def test_least_squares_attains_a_bound_exactly(kind, words):
    trace = run(experiment(learners={"LLS": LLS}, **{"d": 16, **words}))
    np.testing.assert_allclose(trace.curves[0].mean("loss"), bound_of(trace, kind).values, rtol=0, atol=1e-9)


def test_least_squares_attains_the_bound_for_independent_draws_on_average():
    trace = run(experiment(learners={"LLS": LLS}, d=16, protocol=DRAWN, replicas=400))
    bound = bound_of(trace, "duplicates")
    np.testing.assert_allclose(bound.values, (1 - 1 / 16) ** bound.x, rtol=1e-12)
    assert abs(gap_in_errors(trace.curves[0], bound)).max() <= ERRORS


@pytest.mark.parametrize("d", [12, 16])
def test_least_squares_exceeds_ri_01_by_a_known_factor(d):
    trace = run(experiment("hadamard01", learners={"LLS": LLS}, d=d, replicas=400, seed=5))
    bound, k = bound_of(trace, "ri-01"), np.arange(d)
    expected = bound.values * (k + 2) / (k + 1)
    assert (
        abs((trace.curves[0].mean("loss") - expected)[:-1] / trace.curves[0].stderr_of("loss")[:-1]).max()
        <= ERRORS
    )


def test_ri_01_does_not_hold_without_random_row_signs():
    matrix = {"kind": "hadamard01", "row_signs": False, "permute": False}
    trace = run(experiment(matrix, {"kind": "feature", "index": 0}, {"LLS": LLS}, d=16))
    assert not bound_of(trace, "ri-01").on_problem.holds
    assert trace.curves[0].mean("loss")[8] < 0.02, "all labels are 1, and least squares finds out"


def test_two_linear_layers_attain_their_bound_at_the_start():
    """Weights 1/d everywhere are the best that one vector can be for all d features: rank one."""
    net = gd(0.001, kind="dense", widths=[16], init="identity", scale=0.25)
    trace = run(experiment(target="all", learners={"net": net}, d=16))
    bound = bound_of(trace, "svd-two-layer")
    assert bound.applies_to == ["net"]
    assert trace.curves[0].mean("loss")[0] == pytest.approx(1 - 1 / 16, abs=1e-12)
    assert bound.values[0] == pytest.approx(1 - 1 / 16, abs=1e-12)


def test_two_layer_bounds_bind_a_fully_connected_sparse_input_net():
    def learners(connectivity):
        net = {"kind": "sparse-input", "connectivity": connectivity, "width": 16}
        return {"net": gd(0.02, **net)}

    measured = {"measures": [{"kind": "rank"}], "d": 16, "replicas": 3, "target": "all"}
    trace = run(experiment(learners=learners(16), **measured))
    for kind, measure in (("svd-two-layer", "loss"), ("rank-two-layer", "rank")):
        bound = bound_of(trace, kind)
        assert bound.applies_to == ["net"]
        gap = trace.curves[0].mean(measure) - bound.values
        assert ((gap if measure == "loss" else -gap) > -1e-9).all()
    fewer = run(experiment(learners=learners(2), **measured))
    assert bound_of(fewer, "rank-two-layer").applies_to == []


def test_gradient_descent_is_one_example_above_svd_doubled():
    trace = run(experiment(target="doubled", learners={"GD": gd(1 / 32)}, d=16))
    gap = trace.curves[0].mean("loss") - bound_of(trace, "svd-doubled").values
    np.testing.assert_allclose(gap[:-1], 1 / 16, atol=1e-12)


@pytest.mark.parametrize("start", ["gaussian", "zero"])
def test_svd_binds_a_neuron_only_from_zero_and_svd_doubled_from_any_start(start):
    neuron = gd(1 / 32, kind="neuron", activation="identity", init=start)
    trace = run(experiment(target="doubled", learners={"it": neuron}, d=16, seed=2))
    assert bound_of(trace, "svd-doubled").applies_to == ["it"]
    assert bound_of(trace, "svd").applies_to == (["it"] if start == "zero" else [])
    assert (trace.curves[0].mean("loss") >= bound_of(trace, "svd-doubled").values - 1e-12).all()


def test_ridge_is_above_the_noise_bound_past_d_and_lasso_below():
    solvers = {
        "ridge": {"solver": {"kind": "ridge", "lam": 32 * 0.3**2}},
        "lasso": {"solver": {"kind": "lasso", "lam": 0.06}},
    }
    trace = run(experiment(learners=solvers, replicas=30, **PAST_D))
    bound = bound_of(trace, "noise")
    assert bound.applies_to == ["ridge"]
    assert bound.values[1] > 2 * bound_of(trace, "ri-gaussian").values[1] == 0, "k = 48 is past d = 32"
    ridge, lasso = (gap_in_errors(curve, bound)[1] for curve in trace.curves)
    assert ridge > ERRORS
    assert lasso < -ERRORS
    assert trace.curves[0].mean("loss")[1] < 1.7 * bound.values[1]


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_bayes_ridge_is_within_a_factor_of_two_of_the_noise_bound(sigma):
    """Ridge with λ = dσ² is Bayes' rule for Gaussian w*; ‖w − w*‖² is the cost of an unseen row beyond σ²."""
    d, n, replicas = 8, 40, 200
    described = experiment(
        {"kind": "gaussian", "d": d, "n": n},
        learners={"ridge": {"solver": {"kind": "ridge", "lam": d * sigma**2}}},
        noise=sigma,
        replicas=replicas,
    )
    k = np.arange(n + 1)
    hidden = (d - 1) * sigma**2 / (k + (d - 1) * sigma**2)
    missed = np.square(weights(described) - np.eye(d)[3]).sum(2)  # [n + 1, replicas]
    error = missed.std(1) / np.sqrt(replicas)
    assert ((missed.mean(1) - hidden)[1:] >= -ERRORS * error[1:]).all()
    assert (missed.mean(1)[3 * d :] <= 2 * hidden[3 * d :]).all()
    bound = bound_of(run(described), "noise")
    np.testing.assert_allclose(
        bound.values, (1 - k / n) * (sigma**2 + np.maximum(1 - k / d, hidden)), rtol=0, atol=1e-12
    )
