"""Judgements: the certificate of every protocol, and bounds respected, broken or not decided."""

import msgspec
import numpy as np
import pytest
from building import LLS, experiment, gd

from engine.core.groups import ROTATIONS, TRIVIAL, UNCHANGED
from engine.core.parts import BadInput, Finding, Verdict
from engine.judging.judgement import LearnerJudgement, judgement
from engine.pictures.bounds import ENOUGH, respect
from engine.pictures.view import line_of
from engine.results.results import of_one
from engine.results.trace import Curve, Statement, TheoryLine, Trace
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.experiment import of_run
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict
from engine.updates.gd import GD

D = 8
LINE = 1 - np.arange(D + 1) / D
SPINDLY = gd(0.05, kind="spindly")
PROTOCOLS = [
    {"kind": "one-pass"},
    {"kind": "one-pass", "batch": 3},
    {"kind": "one-pass", "replacement": True},
    {"kind": "to-consistency", "passes": 2},
    {"kind": "erm", "every": 3, "steps": 10},
    {"kind": "epochs", "epochs": 5},
    {"kind": "steps", "steps": 5},
    {"kind": "steps", "steps": 5, "batch": 2, "replacement": True},
]


def measured(learner, **words):
    described = experiment(learners={"it": learner}, d=D, **words)
    return certificate(described, described.learners[0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_certificate_compares_predictions_in_every_protocol(protocol):
    for learner in (gd(0.02), LLS):
        assert 0 < measured(learner, matrix="gaussian", protocol=protocol) < 1e-12, "rounding, not nothing"
    assert measured(SPINDLY, matrix="gaussian", protocol=protocol) > 1e-3


@pytest.mark.parametrize("lr", [[0.01, 0.02], "best"])
def test_the_certificate_accepts_several_rates(lr):
    assert measured({"update": {"kind": "gd", "lr": lr}}, matrix="gaussian") < UNCHANGED
    assert measured({"update": {"kind": "egu-pm", "lr": lr}}, matrix="gaussian") > 1e-3


def test_the_certificate_compares_a_learner_until_it_diverges():
    net = gd(50.0, kind="dense", widths=[4], activation="relu")
    assert np.isfinite(measured(net, matrix="gaussian", protocol={"kind": "epochs", "epochs": 50}))


def test_rounding_amplified_by_divergence_makes_the_judgement_undecided():
    described = experiment(learners={"it": gd(1e9)}, d=32)
    judged = judgement(described, run(described), described.learners[0])
    assert judged.change is not None
    assert judged.change > UNCHANGED
    assert judged.sound
    assert not judged.conflict
    assert judged.answer == "undecided"
    assert (
        "predictions are changed, perhaps only by amplified rounding errors, by rotations"
        in judged.measurement
    )


FLOW = {"kind": "flow", "time": 30, "first": 0.01, "records": 40, "evaluations": 250}


@pytest.mark.parametrize("rates", [0.1, [0.1, 0.2]])
def test_the_certificate_compares_a_learner_until_its_early_end(rates):
    steps = {"kind": "steps", "steps": 1000, "until": {"measure": "train-error", "below": 0.01}}
    words = {"matrix": "gaussian", "target": "feature", "labels": "sign", "protocol": steps}
    shares = []
    described = experiment(learners={"it": gd(rates)}, d=D, **words)
    assert certificate(described, described.learners[0], shares.append) < 1e-12
    assert max(shares) < 0.5


def test_a_flow_that_ends_before_its_last_evaluation_has_a_certificate():
    with pytest.raises(BadInput, match="with this number"):
        measured(SPINDLY, matrix="gaussian", protocol=FLOW)
    early = FLOW | {"until": {"measure": "loss", "below": 0.5}}
    assert measured(SPINDLY, matrix="gaussian", protocol=early) > 1e-3


@pytest.mark.parametrize("rule", ["adam", "adagrad", "hypentropy", "p-norm"])
def test_a_frozen_gaussian_input_layer_keeps_a_learner_invariant(rule):
    net = {"kind": "dense", "widths": [4], "activation": "tanh"}
    learner = {"architecture": net, "update": {"kind": rule}, "layer_rates": {"W1": 0.0}}
    described = experiment("gaussian", learners={"it": {key: learner[key] for key in learner}}, d=D)
    (it,) = described.learners
    assert verdict(it, described).invariant is True
    assert certificate(described, it) < UNCHANGED


def bound(sense="lower", in_expectation=True):
    finding = Finding(True, "made by hand")
    x = np.arange(D + 1.0)
    return TheoryLine(
        Statement("line", sense, in_expectation, "", "", "loss"), finding, {"it": finding}, x, LINE
    )


def curve(gap, spread=0.0, replicas=1):
    """Curve at distance `gap` above the line; its replicas are alternately ± `spread` from it."""
    flat_curve = Curve("it", D + 1, replicas, Verdict(True, "made by hand"))
    turns = spread * np.where(np.arange(replicas) % 2, 1.0, -1.0)
    losses = (LINE + gap)[:, None] + (turns if replicas > 1 else 0.0)
    flat_curve.append({"k": np.arange(D + 1.0)}, {"loss": losses})
    return flat_curve


def judged(curve_to_judge, line, replicas=1):
    described = experiment(d=D, learners={"it": gd(0.1)}, replicas=replicas)
    trace = Trace([curve_to_judge], [line], {"k": line.x}, "k", {}, "loss")
    seen = view(of_run(described), of_one(described, trace))
    return respect(seen.curve("it"), line_of(seen, "line", "it"), seen.quantity.rounding)


def test_a_curve_that_never_crosses_a_bound_respects_it():
    gap = np.array([0, 0.3, 0.2, 0.1, 0.2, 0.3, 0.3, 0.3, 0.3])
    respected = judged(curve(gap), bound())
    assert respected.holds is True
    assert respected.word == "✓ respected"
    assert respected.detail == "closest: loss − line = +0.1 at 3", "not at 0, where every curve starts"


def test_one_run_can_break_a_per_run_bound_but_not_an_expectation_bound():
    gap = np.where(np.arange(D + 1) == 4, -0.01, 0.01)
    of_every_run = judged(curve(gap), bound(in_expectation=False))
    assert (of_every_run.holds, of_every_run.word) == (False, "✗ broken")
    assert "-0.01 at 4" in of_every_run.detail
    expected = judged(curve(gap), bound())
    assert (expected.holds, expected.word) == (None, "? not decided")
    assert f"needs {ENOUGH} replicas, and this run has 1" in expected.detail


@pytest.mark.parametrize(("replicas", "errors", "holds"), [
    (ENOUGH - 2, 100.0, None),
    (ENOUGH, 6.5, True), (ENOUGH, 7.5, False),
    (1000, 3.9, True), (1000, 4.2, False),
])  # fmt: skip
def test_a_bound_is_broken_only_beyond_the_standard_errors_of_the_replicas(replicas, errors, holds):
    spread = 0.001
    stderr = spread * np.sqrt(replicas / (replicas - 1)) / np.sqrt(replicas)
    gap = np.where(np.arange(D + 1) == 4, -errors * stderr, 0.5)
    assert judged(curve(gap, spread, replicas), bound(), replicas).holds is holds


@pytest.mark.parametrize(("share", "holds"), [(0.001, None), (0.2, False)])
def test_possible_rare_large_losses_leave_a_bound_undecided(share, holds):
    """At 4 every replica has 0; at 3 a few have 1, as would a share of all replicas at 4."""
    replicas = 200
    curve_of_replicas = Curve("it", D + 1, replicas, Verdict(True, "made by hand"))
    losses = np.full((D + 1, replicas), 2.0)
    losses[3] = np.where(np.arange(replicas) < 60, 3.0, 2.0)
    losses[4] = LINE[4] - share
    curve_of_replicas.append({"k": np.arange(D + 1.0)}, {"loss": losses})
    respected = judged(curve_of_replicas, bound(), replicas)
    assert respected.holds is holds
    assert ("rare values" in respected.detail) == (holds is None)


@pytest.mark.slow
def test_least_squares_on_few_gaussian_features_does_not_break_its_bound():
    """Its loss is skewed: of 300 replicas the mean is often five estimated standard errors too low."""
    words = {"learners": {"LLS": {"solver": "lls"}}, "d": 8, "replicas": 300}
    low = 0
    for seed in range(0, 18_000, 300):
        described = experiment("gaussian", {"kind": "feature", "index": 1}, seed=seed, **words)
        seen = view(of_run(described), of_one(described, run(described)))
        line, curve = line_of(seen, "ri-gaussian", "LLS"), seen.curve("LLS")
        gap = (curve.y - line.y)[1:8] / curve.stderr[1:8]
        low += bool((gap < -4.1).any())
        assert respect(curve, line, seen.quantity.rounding).holds is not False
    assert low, "standard errors alone are not enough here"


def test_differences_of_rounding_size_are_reported_as_zero():
    told = judged(curve(1e-4 + 0 * LINE, spread=1e-14, replicas=5), bound(), replicas=5).detail
    assert "loss − line = +0.0001 at" in told
    assert "standard errors" not in told
    assert "loss − line = 0 at" in judged(curve(1e-15 + 0 * LINE), bound()).detail


def test_rounding_breaks_no_bound():
    assert judged(curve(np.full(D + 1, -1e-13)), bound(in_expectation=False)).holds is True


def test_an_upper_bound_is_broken_from_above():
    assert judged(curve(np.full(D + 1, -0.1)), bound("upper", False)).holds is True
    assert judged(curve(np.full(D + 1, 0.1)), bound("upper", False)).holds is False


@pytest.mark.parametrize(("direction", "judged"), [
    ("lower", True), ("upper", True), ("exact", True), ("conjecture", True),
    ("asymptotic", False), ("shape", False), ("reference", False),
])  # fmt: skip
def test_limits_shapes_and_references_are_never_broken(direction, judged):
    described = experiment(d=D, learners={"it": gd(0.1)})
    line = bound(direction, in_expectation=False)
    trace = Trace([curve(-0.1 if direction != "upper" else 0.1)], [line], {"k": line.x}, "k", {}, "loss")
    judged_gd = judgement(described, trace, described.learners[0])
    assert [respect_of_line.holds for respect_of_line in judged_gd.bounds] == [False] * judged
    assert judged_gd.sound is not judged


def test_divergence_breaks_no_bound():
    described = experiment("rademacher", d=16, learners={"GD": gd(1.0)}, replicas=12)
    trace = run(described)
    judged = judgement(described, trace, described.learners[0])
    assert [respect_of_line.holds for respect_of_line in judged.bounds] == [True]
    assert "(the curve diverged at" in judged.bounds[0].detail
    assert judged.agrees


def test_the_judgement_of_a_tuned_learner_uses_its_best_rate():
    described = experiment(d=D, learners={"GD": {"update": {"kind": "gd", "lr": "best"}}})
    judged = judgement(described, run(described), described.learners[0])
    assert judged.sound
    assert judged.change < 1e-12
    assert {respect_of_line.bound for respect_of_line in judged.bounds} == {"ri-signed", "ri-permuted"}


@pytest.mark.slow
def test_unchanged_predictions_of_an_interpolating_learner_contradict_no_verdict():
    words = {"matrix": {"kind": "gaussian", "d": 12, "n": 4}, "target": {"kind": "weights", "w": [1.0, 1.0]}}
    solver = {"solver": {"kind": "min-q", "alpha": 0.1}}
    described = experiment(**words, learners={"it": solver}, protocol={"kind": "at-init"})
    judged = judgement(described, run(described), described.learners[0])
    assert (judged.verdict.invariant, judged.effect(ROTATIONS)) == (False, "unchanged")
    assert judged.agrees
    assert "the learner fits all rows, so" in judged.measurement
    apart = {**words, "matrix": {"kind": "gaussian", "d": 12, "n": 24}}
    described = experiment(**apart, learners={"it": solver}, protocol={"kind": "one-pass"})
    assert not judgement(described, run(described), described.learners[0]).fits


def test_a_verdict_that_contradicts_the_certificate_makes_the_judgement_unsound():
    described = experiment(d=D, learners={"GD": gd(0.01)})
    trace = run(described)
    right = judgement(described, trace, described.learners[0])
    assert (right.conflict, right.sound) == ("", True)
    trace.curves[0].verdict = Verdict(False, "made by hand")
    wrong = judgement(described, trace, described.learners[0])
    assert "the learner is not rotation invariant, yet rotations did not change" in wrong.conflict
    assert not wrong.sound


YES, NO, HERE = (
    Verdict(True, "it is said"),
    Verdict(False, "it is said"),
    Verdict("on this data", "it is said"),
)
UNKNOWN = Verdict(False, "nothing is said", undecided=True)


@pytest.mark.parametrize(("structure", "change", "by_rounding", "answer", "agrees"), [
    (YES, 1e-9, None, "yes", True), (HERE, 1e-9, None, "yes", True), (NO, 0.1, 1e-14, "no", True),
    (YES, 0.1, 0.02, "undecided", True), (NO, 0.1, 0.02, "undecided", True),
    (HERE, 0.1, 0.02, "undecided", True), (YES, 0.1, 1e-9, "undecided", False),
    (NO, 1e-9, None, "undecided", False),
    (UNKNOWN, 1e-9, None, "undecided", True), (UNKNOWN, 0.1, 1e-14, "no", True),
    (UNKNOWN, 0.1, 0.02, "undecided", True), (YES, None, None, "yes", True), (NO, None, None, "no", True),
])  # fmt: skip
def test_structure_and_measurement_together_give_the_answer(structure, change, by_rounding, answer, agrees):
    judged = LearnerJudgement("it", structure, {ROTATIONS: change}, [], by_rounding=by_rounding)
    assert (judged.answer, judged.agrees) == (answer, agrees)
    told = "perturbations as small as rounding change predictions by 0.02" in judged.measurement
    assert told == (judged.effect(ROTATIONS) == "unstable") == (by_rounding == 0.02)


def test_a_part_without_declared_invariance_is_undecided_and_unbound():
    assert (UNKNOWN.answer, UNKNOWN.word) == ("undecided", "not known to be rotation invariant")

    class Silent(GD, frozen=True, tag="silent"):
        """A rule that does not declare its behaviour under rotations."""

        def step(self, params, gradients, rates, state):
            return {
                tensor_name: w - rates[tensor_name] * gradients[tensor_name]
                for tensor_name, w in params.items()
            }, state

    described = experiment(learners={"it": gd(0.1)}, d=D)
    (it,) = described.learners
    judged = verdict(msgspec.structs.replace(it, update=Silent()), described)
    assert judged.undecided
    assert judged.group == TRIVIAL


def test_upper_bounds_are_judged():
    protocol = {"kind": "one-pass", "replacement": True, "average": True, "clip": 1.0}
    learner = {"update": {"kind": "egu", "lr": 0.5}}
    described = experiment("hadamard01", d=16, learners={"EGU": learner}, protocol=protocol, replicas=20)
    judged = judgement(described, run(described), described.learners[0])
    assert [(respect_of_line.bound, respect_of_line.holds) for respect_of_line in judged.bounds] == [
        ("multiplicative", True)
    ]


REFUSED = [
    ({"protocol": {"kind": "one-pass", "batch": 9}}, "protocol.batch"),
    ({"protocol": {"kind": "one-pass", "batch": 5, "examples": 4}}, "protocol.batch"),
    ({"protocol": {"kind": "one-pass", "clip": 1.0}}, "protocol.clip"),
    ({"protocol": {"kind": "epochs", "train": 9}}, "protocol.train"),
    ({"learners": {"it": {"update": {"kind": "gd", "lr": [0.1, 0.100001]}}}}, "learners[0].update.lr"),
    ({"learners": {"it": {"update": {"kind": "gd", "lr": [0.1, float("inf")]}}}}, "learners[0].update.lr"),
]


@pytest.mark.parametrize(("words", "where"), REFUSED)
def test_impossible_settings_are_refused(words, where):
    with pytest.raises(BadInput) as caught:
        run(experiment(d=D, loss="square", **words))
    assert caught.value.where == where
