"""Fast passes against passes that step every weight at every example."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch
from building import experiment, planned, refusal, spectrum_of
from discovery import GENTLE
from numba import typeof
from twins import assert_twins, twins

from engine.backends import backends
from engine.backends.passes import compiled_pass
from engine.core import catalogue
from engine.core.cost import DIVERGED
from engine.core.parts import BadInput
from engine.losses.square import Square
from engine.planning.run_plan import plan_run
from engine.runtime.run import prepare, run
from engine.training import evaluators
from engine.updates import refused_loss

pytestmark = pytest.mark.slow

LINEAR = {
    learner_name: words
    for learner_name, words in GENTLE.items()
    if words.get("architecture") == {"kind": "linear"}
}
TARGETS = {"one": "feature", "all": "all", "sparse": {"kind": "sparse", "r": 3}}


def compiles(words):
    """Whether a learner as these tests know it has a compiled loop, for square loss."""
    if "solver" in words:
        return False
    rule = catalogue.make("updates", **words["update"])
    architecture = catalogue.make("architectures", **words["architecture"])
    return rule.multiplicative_step(architecture) is not None and refused_loss(rule, Square()) is None


COMPILES = {learner_name: words for learner_name, words in GENTLE.items() if compiles(words)}
SCALAR = {rule: {"update": {"kind": rule, "lr": 0.02}} for rule in ("gd", "sgd", "adagrad")}


def test_the_compiled_backend_serves_multiplicative_rules_and_spindly_nets():
    multiply = {"egu linear", "egu-pm linear", "hypentropy linear", "private-rates linear"}
    spindly = {f"{rule} {net}" for rule in ("gd", "sgd") for net in ("spindly", "identity-spindly")}
    assert {" ".join(learner_name.split()[:2]) for learner_name in COMPILES} == multiply | spindly


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("learner_name", COMPILES)
def test_compiled_curves_equal_dense_curves_for_every_learner_and_target(learner_name, target):
    words = {"learners": {learner_name: COMPILES[learner_name]}, "target": target, "d": 16, "replicas": 2}
    [(curve, twin)] = twins("compiled", **words)
    assert_twins(curve, twin)
    [(curve, twin)] = twins("compiled", "float32", **words)
    assert_twins(curve, twin, 1e-4)


PASSES = {
    "in order": {"matrix": {"kind": "hadamard", "permute": False, "row_signs": False}},
    "repeated": {"matrix": {"kind": "hadamard", "repeat": 3}},
    "replacement": {"protocol": {"kind": "one-pass", "replacement": True}},
    "average": {"protocol": {"kind": "one-pass", "average": True}},
    "few": {"protocol": {"kind": "one-pass", "examples": 5}},
    "several blocks": {"d": 4096, "protocol": {"kind": "one-pass", "examples": 40}},
    "two features": {"d": 2},
    "four features": {"d": 4},
    "all targets": {"d": 128, "target": "all"},
    "shorter than a transposed transform": {"d": 256, "target": {"kind": "sparse", "r": 3}, "replicas": 3},
    "spectrum": {"target": "all", "spectrum": True},
}


@pytest.mark.parametrize("words", PASSES.values(), ids=PASSES)
@pytest.mark.parametrize("learner_name", ["egu-pm linear", "gd spindly"])
def test_compiled_curves_equal_dense_curves_for_every_kind_of_pass(learner_name, words):
    learner = {**COMPILES[learner_name], "update": {**COMPILES[learner_name]["update"], "lr": [0.003, 0.02]}}
    target = {"kind": "feature", "index": 0}
    words = {"learners": {learner_name: learner}, "d": 16, "replicas": 2, "target": target} | words
    for curve, twin in twins("compiled", **words):
        assert_twins(curve, twin)
        if words.get("spectrum"):
            np.testing.assert_allclose(spectrum_of(curve).values, spectrum_of(twin).values, atol=1e-9)


@pytest.mark.parametrize("learner_name", ["egu-pm linear", "gd spindly"])
def test_compiled_loops_have_one_type_for_any_rates_targets_and_replicas(learner_name):
    update = COMPILES[learner_name]["update"]
    loop_types = set()
    for rates, target, replicas in itertools.product((0.01, [0.003, 0.02]), TARGETS.values(), (1, 2)):
        learner = {**COMPILES[learner_name], "update": {**update, "lr": rates}}
        words = {"learners": {learner_name: learner}, "target": target, "d": 16, "replicas": replicas}
        _, learner_runs = prepare(plan_run(experiment(path="compiled", **words)))
        loop_types |= {
            typeof(learner_run.training_run.started.hypothesis._members) for learner_run in learner_runs
        }
    assert len(loop_types) == 1


def test_threads_and_pauses_do_not_change_a_compiled_pass(monkeypatch):
    described = experiment(
        learners={"E": COMPILES["egu-pm linear"]}, d=64, target="all", path="compiled", replicas=3
    )
    expected = run(described).curves[0]
    monkeypatch.setattr(compiled_pass, "WORTH_THREADS", 0)
    for threads in (1, 2, 5):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        for step in (1, 7, 1000):
            curve = run(described, gate=lambda step=step: step).curves[0]
            for measure_name in ("loss", "error"):
                assert np.array_equal(
                    curve.values(measure_name), expected.values(measure_name), equal_nan=True
                )
            assert np.array_equal(curve.weights, expected.weights, equal_nan=True)


@pytest.mark.parametrize("learner_name", ["egu linear", "egu-pm linear"])
def test_a_long_compiled_pass_ignores_the_thread_count_and_equals_structured(learner_name, monkeypatch):
    words = {"d": 1 << 17, "protocol": {"kind": "one-pass", "examples": 14}}
    target = {"kind": "feature", "index": 70_000}
    curves = {}
    for path, threads in (("structured", 1), ("compiled", 1), ("compiled", 2), ("compiled", 3)):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        described = experiment(learners={"E": COMPILES[learner_name]}, target=target, path=path, **words)
        curves[path, threads] = run(described).curves[0]
    chunks = curves["compiled", 1]
    for threads in (2, 3):
        assert np.array_equal(curves["compiled", threads].values("loss"), chunks.values("loss"))
        assert np.array_equal(curves["compiled", threads].weights, chunks.weights, equal_nan=True)
    for measure in ("loss", "error"):
        expected = curves["structured", 1].values(measure)
        np.testing.assert_allclose(chunks.values(measure), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["CHANGES", "KEPT_AHEAD"])
def test_smaller_limits_reduce_the_examples_learnt_ahead_without_changing_losses(name, monkeypatch):
    described = experiment(learners={"E": COMPILES["egu-pm linear"]}, d=64, target="all", path="compiled")
    counts, learn_ahead = [], compiled_pass.CompiledPass.learn_ahead

    def counted(self, keep, count):
        counts.append(len(keep))
        learn_ahead(self, keep, count)

    monkeypatch.setattr(compiled_pass.CompiledPass, "learn_ahead", counted)
    monkeypatch.setattr(evaluators, "MOST_CELLS", 0)  # no counts of mistakes in between
    expected = run(described).curves[0]
    largest_count = max(counts)
    counts.clear()
    monkeypatch.setattr(compiled_pass, name, 1)
    curve = run(described).curves[0]
    assert max(counts) == 1 < largest_count
    np.testing.assert_allclose(curve.mean("loss"), expected.mean("loss"), rtol=0, atol=1e-12)


WILD = {
    "gd spindly": {"update": {"kind": "gd", "lr": 3.0}, "architecture": {"kind": "spindly", "w0": 0.3}},
    "egu": {"update": {"kind": "egu", "lr": 50.0}},
    "egu-pm": {"update": {"kind": "egu-pm", "lr": 50.0}},
    "hypentropy": {"update": {"kind": "hypentropy", "lr": 1000.0}},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("learner_name", WILD)
def test_a_compiled_learner_diverges_at_the_same_point_as_on_dense(learner_name, dtype):
    [(curve, twin)] = twins("compiled", dtype, learners={learner_name: WILD[learner_name]}, d=16)
    assert curve.diverged_at == twin.diverged_at is not None
    assert curve.mean("loss").max() < DIVERGED


ROTATED, AXES = {"kind": "hadamard", "rotate": True}, {"kind": "orthogonal"}
ORTHOGONAL = [
    *((rule, "hadamard", loss) for rule in SCALAR for loss in ("square", "logistic", "hinge", "exponential")),
    *((rule, matrix, "square") for rule in ("gd", "sgd") for matrix in (ROTATED, AXES)),
]
"""AdaGrad is invariant on ±1 only, and only there labels are two classes."""


@pytest.mark.parametrize(("rule", "matrix", "loss"), ORTHOGONAL)
def test_one_by_one_curves_equal_dense_curves(rule, matrix, loss):
    learner = {"update": {"kind": rule, "lr": [0.004, 0.02]}}
    words = {"matrix": matrix, "learners": {rule: learner}, "d": 16, "replicas": 2, "loss": loss}
    for target in ("feature", "all") if matrix == "hadamard" else ("feature",):
        for protocol in ({}, {"replacement": True}, {"examples": 5}, {"average": True}):
            settings = words | {"protocol": {"kind": "one-pass", **protocol}, "target": target}
            for curve, twin in twins("one-by-one", **settings):
                assert_twins(curve, twin)


def test_one_by_one_ends_at_zero_loss_on_all_rotated_rows():
    learner = {"GD": {"update": {"kind": "gd", "lr": 1 / 256}}}
    words = {"matrix": ROTATED, "d": 128, "replicas": 3, "dtype": "float32"}  # √128 is rounded
    losses = run(experiment(learners=learner, path="one-by-one", **words)).curves[0].mean("loss")
    assert losses.min() >= 0, "a square loss"
    assert losses[-1] < 1e-13, "labels are rounded by 6e-8 of their size"


def test_one_by_one_curves_equal_dense_curves_with_clipped_predictions():
    words = {"noise": 1.0, "d": 16, "replicas": 2, "protocol": {"kind": "one-pass", "clip": 0.5}}
    [(curve, twin)] = twins("one-by-one", learners={"GD": {"update": {"kind": "gd", "lr": 0.02}}}, **words)
    assert_twins(curve, twin)


def test_one_by_one_serves_only_gd_sgd_adagrad_and_sign():
    described = experiment(learners=LINEAR, d=16)
    one_by_one = backends()["one-by-one"]
    served = {
        learner.update.kind
        for learner in described.learners
        if refusal(one_by_one, learner, described) is None
    }
    assert served == {"gd", "sgd", "adagrad", "sign"}


def test_errors_counted_by_a_compiled_pass_equal_dense_errors(monkeypatch):
    words = {"learners": {"E": COMPILES["egu linear"]}, "d": 64, "target": "all", "replicas": 2}
    monkeypatch.setattr(evaluators, "MOST_CELLS", 0)
    [(curve, twin)] = twins("compiled", **words)
    assert np.array_equal(np.isnan(curve.mean("error")), np.isnan(twin.mean("error")))
    np.testing.assert_allclose(curve.mean("error"), twin.mean("error"), rtol=0, atol=1e-12)
    assert np.nanmin(curve.mean("error")) < 0.01 < np.nanmax(curve.mean("error"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"learners": {"GD": {"update": "gd"}}}, "step does not multiply every weight"),
        ({"learners": {"LLS": {"solver": "lls"}}}, "step does not multiply every weight"),
        ({"matrix": "rademacher"}, "not ±1 rows of a Sylvester matrix"),
        ({"matrix": "hadamard01"}, "not ±1 rows of a Sylvester matrix"),
        ({"noise": 0.1}, "not linear in the instances"),
        ({"labels": "sign"}, "not linear in the instances"),
        ({"loss": "logistic"}, "requires square loss"),
        ({"train_loss": True}, "does not measure train"),
        (
            {"target": {"kind": "sparse", "r": 3}, "protocol": {"kind": "one-pass", "clip": 1.0}},
            "not clipped",
        ),
        ({"protocol": {"kind": "one-pass", "batch": 2}}, "single examples"),
        ({"protocol": {"kind": "epochs", "epochs": 2}}, "single examples"),
    ],
)
def test_an_inapplicable_compiled_pass_is_refused_with_the_reason(words, reason):
    words = {"learners": {"E": COMPILES["egu linear"]}, "d": 16} | words
    with pytest.raises(BadInput) as caught:
        run(experiment(path="compiled", **words))
    assert caught.value.where == "run.path"
    assert reason in caught.value.fault


@pytest.mark.parametrize(
    ("d", "target", "examples", "backend"),
    [
        (1024, "all", 153, "compiled"),
        (1024, "all", 152, "structured"),
        (1 << 20, "feature", 63, "compiled"),
        (1 << 20, "feature", 62, "structured"),
        (1 << 15, "feature", None, "compiled"),
        (1024, "feature", None, "structured"),
    ],
)
def test_compiled_is_chosen_only_for_large_enough_passes(d, target, examples, backend):
    protocol = {"kind": "one-pass", "examples": examples}
    described = experiment(learners={"E": COMPILES["egu linear"]}, d=d, target=target, protocol=protocol)
    assert planned(described.learners[0], described).backend.name == backend


def test_compiled_loops_can_be_kept_in_the_user_cache_folder(own_folders, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserWideCacheLocator")  # what numba takes last
    program = "from engine.backends.passes import kernels; print(kernels.learn._cache.cache_path)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith(str(own_folders)), done.stderr


def test_compiled_loops_load_without_a_writable_cache(monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "ZipCacheLocator")  # no place for what is in no archive
    program = "from engine.backends.passes import kernels; print(type(kernels.learn._cache).__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("NullCache", 0), done.stderr
