"""Batches of replicas and targets, dtypes and seeds, for every learner."""

from itertools import product

import crossing
import numpy as np
import pytest
import torch
from building import LLS, beginning, begun, data_of, experiment, gd, losses, predicted, weights
from discovery import EVERY, EVERY_GENTLE, GENTLE, crossed_groups, few, problem_for

from engine.core import catalogue
from engine.problems import instances
from engine.runtime.run import run
from engine.training import evaluators

pytestmark = pytest.mark.slow

EXACT = 1e-12
PROBLEMS = ("hadamard", "gaussian")
ALONE = list(product(range(2), range(4))) if crossing.all_combinations else [(1, 3)]
"""Pairs of replica and target that are also learned alone."""


@crossed_groups(few(EVERY_GENTLE), problem=PROBLEMS)
def test_a_batch_of_replicas_and_targets_equals_runs_one_by_one(learners, problem):
    words = {"learners": learners, "d": 4}
    together = experiment(problem, "all", replicas=2, seed=50, **words)
    alone = {
        (replica, index): experiment(problem, {"kind": "feature", "index": index}, seed=50 + replica, **words)
        for replica, index in ALONE
    }
    drawn = {id(setup): data_of(setup) for setup in (together, *alone.values())}
    measured, loss = losses(together), catalogue.make("losses", together.protocol.loss)
    labels = drawn[id(together)].labels

    def predictions_of(described, number):
        data = drawn[id(described)]
        return predicted(begun(described, number, data), data)

    for number, name in enumerate(learners):
        batch = predictions_of(together, number)
        targets = batch.reshape(5, 2, 4, 4)
        within = {"rtol": 0, "atol": EXACT * (1 + abs(batch).max()), "err_msg": name}
        for (replica, index), single in alone.items():
            np.testing.assert_allclose(
                predictions_of(single, number)[:, 0], targets[:, replica, index], **within
            )
        values = loss.value(torch.from_numpy(batch), labels).numpy()
        means = values.reshape(5, 2, -1).mean(-1)
        np.testing.assert_allclose(measured[name], means, rtol=EXACT, atol=EXACT, err_msg=name)


def is_continuous(learner):
    """Whether rounding changes the predictions of a learner little."""
    update, solver = (
        words if isinstance(words, str | None) else words["kind"]
        for words in (learner.get("update"), learner.get("solver"))
    )
    if solver is not None:
        return catalogue.make("solvers", solver).structure().continuous
    return update is None or catalogue.make("updates", update).structure().continuous


CONTINUOUS = {
    learner_name: learner for learner_name, learner in EVERY_GENTLE.items() if is_continuous(learner)
}


@crossed_groups(few(CONTINUOUS), problem=PROBLEMS)
def test_float32_is_near_float64(learners, problem):
    words = {"learners": learners, "d": 4, "replicas": 2, "seed": 60}
    single, double = (experiment(problem, dtype=dtype, **words) for dtype in ("float32", "float64"))
    measured, expected, data = losses(single), losses(double), data_of(single)
    for number, name in enumerate(learners):
        assert measured[name].dtype == np.float64
        within = 1e-4 * max(expected[name].max(), 1e-3)
        np.testing.assert_allclose(measured[name], expected[name], rtol=0, atol=within, err_msg=name)
        hypothesis = begun(single, number, data)
        hypothesis.learn(data.instances.at(slice(0, 1)), data.labels[:, :1])
        assert hypothesis.predict(data.instances).dtype == torch.float32, name


@crossed_groups(few(EVERY), dtype=["float32", "float64"])
def test_the_same_seed_gives_the_same_bits(learners, dtype):
    few_examples = {"kind": "one-pass", "examples": 4}
    words = {"learners": learners, "d": 8, "replicas": 2, "dtype": dtype, "protocol": few_examples}
    first, again, other = (
        losses(experiment("gaussian", seed=seed, noise=0.1, **words)) for seed in (7, 7, 8)
    )
    for learner_name in learners:
        assert first[learner_name].tobytes() == again[learner_name].tobytes(), learner_name
        if learner_name != "path-rule":  # to which no label follows from others here, whatever the seed
            assert first[learner_name].tobytes() != other[learner_name].tobytes(), learner_name


@pytest.mark.parametrize("kind", catalogue.members("losses"))
def test_every_loss_gives_equal_results_for_batched_and_single_replicas(kind):
    learners = {
        learner_name: GENTLE[learner_name]
        for learner_name in ("gd linear", "gd dense activation=relu", "lls")
    }
    words = {**problem_for(kind), "learners": learners, "loss": kind, "d": 8}
    measured = losses(experiment(**words, replicas=2, seed=3))
    for number in range(2):
        alone = losses(experiment(**words, seed=3 + number))
        for learner_name in learners:
            np.testing.assert_allclose(
                alone[learner_name][:, 0], measured[learner_name][:, number], atol=EXACT
            )


EACH = few(GENTLE)


def test_learners_side_by_side_equal_learners_alone():
    trace = run(experiment(learners=EACH, d=4, seed=9))
    for learner_name in EACH:
        alone = run(experiment(learners={learner_name: EACH[learner_name]}, d=4, seed=9)).curves[0]
        assert np.array_equal(trace.curve(learner_name).mean("loss"), alone.mean("loss"))


@pytest.mark.parametrize("cache", [instances.CACHE, 0])
def test_curves_do_not_depend_on_block_or_piece_size(cache, monkeypatch):
    described = experiment("gaussian", learners=EACH, d=4, replicas=2, seed=9)
    monkeypatch.setattr(instances, "CACHE", cache)
    monkeypatch.setattr(evaluators, "SHARE", 1)
    in_one_piece = run(described)
    for records in (1, 3) if cache else (3,):
        in_blocks = run(described, gate=lambda records=records: records)
        for curve, other in zip(in_one_piece.curves, in_blocks.curves, strict=True):
            assert np.array_equal(other.mean("loss"), curve.mean("loss"))
            if curve.weights is not None:
                assert np.array_equal(other.weights, curve.weights)
    monkeypatch.setattr(evaluators, "CELLS", 1)
    for curve, other in zip(in_one_piece.curves, run(described).curves, strict=True):
        np.testing.assert_allclose(other.mean("loss"), curve.mean("loss"), rtol=EXACT, atol=EXACT)


ONE_BY_ONE = {
    "path": "one-by-one",
    "learners": {"GD": GENTLE["gd linear"]},
    "train_loss": False,
    "d": 128,
}
BY_ROWS = {**ONE_BY_ONE, "path": "by-rows", "matrix": "rademacher"}
ODD = {
    **{kind: {**problem_for(kind), "loss": kind} for kind in catalogue.members("losses")},
    "hypotheses so far": {"protocol": {"kind": "one-pass", "average": True}},
    "clipped": {"matrix": "hadamard01", "protocol": {"kind": "one-pass", "clip": 1.0}},
    "all targets": {"target": "all"},
    "one by one": {**ONE_BY_ONE, "noise": 0.7, "dtype": "float64"},
    "one by one, signs": {**ONE_BY_ONE, "loss": "logistic"},
    "by rows": {**BY_ROWS, "noise": 0.7},
    "by rows, signs": {**BY_ROWS, "loss": "logistic", "labels": "sign"},
    "epochs": {"protocol": {"kind": "epochs", "epochs": 7}},
    "steps": {"protocol": {"kind": "steps", "steps": 30, "records": 9, "batch": 3}},
}


LARGE = {
    "predictions": {"matrix": "gaussian", "noise": 0.3},
    "predictions of several targets": {"matrix": "gaussian", "noise": 0.3, "target": "all"},
    "a moment and w*": {"matrix": {"kind": "gaussian", "n": 60}},
    "a moment": {"matrix": {"kind": "gaussian", "n": 60}, "noise": 0.3},
    "a moment, replicas and rates": {
        "matrix": {"kind": "gaussian", "n": 60},
        "noise": 0.3,
        "replicas": 2,
        "learners": {"GD": gd([0.001, 0.002]), "lls": GENTLE["lls"]},
    },
    "logistic": {"labels": "sign", "loss": "logistic"},
}


@pytest.mark.parametrize("words", LARGE.values(), ids=LARGE)
def test_losses_have_the_same_bits_in_chunks_of_any_size_with_shared_products(words, monkeypatch):
    monkeypatch.setattr(instances, "CACHE", 0)
    monkeypatch.setattr(evaluators, "SHARE", 1)
    learners = {learner_name: GENTLE[learner_name] for learner_name in ("gd linear", "egu-pm linear")}
    described = experiment(
        **{"d": 20, "learners": learners, "dtype": "float32", "matrix": "rademacher", **words}
    )
    in_one_round = run(described)
    for records in (1, 3, 7):
        in_rounds = run(described, gate=lambda records=records: records)
        for curve, other in zip(in_one_round.curves, in_rounds.curves, strict=True):
            assert np.array_equal(other.values("loss"), curve.values("loss"))


@pytest.mark.parametrize("noise", [1.0, 1e-4])
def test_losses_from_moments_equal_losses_from_double_precision_predictions(noise, monkeypatch):
    chosen, choose = [], evaluators.AroundZero
    monkeypatch.setattr(
        evaluators, "AroundZero", lambda *arguments: chosen.append(arguments) or choose(*arguments)
    )
    learners = {"GD": gd(0.005), "lls": LLS}
    matrix = {"kind": "gaussian", "n": 300}
    words = {"noise": noise, "d": 20, "replicas": 2, "dtype": "float32", "path": "dense"}
    described = experiment(matrix, "all", learners, **words)
    trace, data = run(described), data_of(described)
    assert len(chosen) == len(learners)
    X, y = data.instances.rows.double().numpy(), data.labels.double().numpy().reshape(2, 20, 300)
    for number, curve in enumerate(trace.curves):
        w = weights(described, number).astype(float).reshape(301, 2, 20, 20)
        expected = np.square(w @ X.swapaxes(1, 2) - y).mean((2, 3))
        np.testing.assert_allclose(curve.values("loss"), expected, rtol=1e-12, atol=2e-15)


@pytest.mark.parametrize("words", ODD.values(), ids=ODD)
def test_measures_have_the_same_bits_in_chunks_of_any_size(words):
    """Odd numbers of records and rows leave remainders of SIMD blocks, which round otherwise."""
    learners = {
        learner_name: GENTLE[learner_name]
        for learner_name in ("gd linear", "egu-pm linear", "gd dense activation=relu")
    }
    described = experiment(**{"d": 20, "learners": learners, "dtype": "float32", "train_loss": True, **words})
    in_one_round = run(described)
    for records in (1, 3, 7):
        in_rounds = run(described, gate=lambda records=records: records)
        for curve, other in zip(in_one_round.curves, in_rounds.curves, strict=True):
            for measure in ("loss", "error", "train", "unseen"):
                expected, actual = curve.mean(measure), other.mean(measure)
                assert (
                    np.array_equal(actual, expected, equal_nan=True)
                    if expected is not None
                    else actual is None
                )


@pytest.mark.parametrize("targets", ["feature", "all"])
@pytest.mark.parametrize("replicas", [1, 3])
def test_a_matrix_larger_than_the_cache_gives_the_same_losses_and_errors(replicas, targets, monkeypatch):
    learners = {
        learner_name: GENTLE[learner_name]
        for learner_name in ("gd linear", "gd dense activation=relu", "egu-pm linear", "lls")
    }
    described = experiment("rademacher", targets, learners, d=8, replicas=replicas, seed=9, train_loss=True)
    by_default = run(described)
    monkeypatch.setattr(instances, "CACHE", 0)
    for share in (4, 2, 1):
        monkeypatch.setattr(evaluators, "SHARE", share)
        for curve, other in zip(by_default.curves, run(described).curves, strict=True):
            for measure in ("loss", "error", "train", "unseen"):
                expected, actual = curve.mean(measure), other.mean(measure)
                np.testing.assert_allclose(actual, expected, rtol=EXACT, atol=EXACT)


def test_a_curve_stores_the_weights_of_the_first_replica_and_target():
    described = experiment("gaussian", "all", {"lls": {"solver": "lls"}}, d=8, replicas=2, seed=9)
    hypothesis, data = beginning(described)
    for k in range(5):
        hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
    curve = run(described).curves[0]
    assert np.array_equal(curve.weights[5], hypothesis.weights()[0].numpy())
