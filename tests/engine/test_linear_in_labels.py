"""Learners that are linear in the labels, their bound on random signs, and the tanh that is below it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.integrate
import torch
from building import LLS, begun, data_of, experiment, gd
from discovery import EVERY, GENTLE, in_turns

from engine.core import catalogue
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.experiment import of_run
from engine.symmetry.verdict import linear_in_labels
from engine.theory.tanh_lls_limit import unseen

ERRORS = 4
TANH = {"solver": "tanh-lls"}
SOLVERS = {learner_name: words for learner_name, words in EVERY.items() if "solver" in words}


def predicted(described, number, data, labels):
    """Predictions after four examples with these labels in place of the drawn ones."""
    hypothesis = begun(described, number, replace(data, labels=labels, w_star=None))
    for k in range(4):
        hypothesis.learn(data.instances.at(slice(k, k + 1)), labels[:, k : k + 1])
    return hypothesis.predict(data.instances)


def test_predictions_are_affine_in_the_labels_where_that_is_declared():
    declared = set()
    for learners in in_turns(GENTLE):
        described = experiment("gaussian", learners=learners, d=6)
        data = data_of(described)
        generator = torch.Generator().manual_seed(1)
        first, other = (torch.randn(data.labels.shape, generator=generator).double() for _ in range(2))
        for number, learner in enumerate(described.learners):
            if linear_in_labels(learner, described).holds:
                declared.add((learner.solver or learner.update).kind)
                predictions = [
                    predicted(described, number, data, y) for y in (first, other, 2 * first - other)
                ]
                torch.testing.assert_close(
                    predictions[2], 2 * predictions[0] - predictions[1], atol=1e-9, rtol=1e-9
                )
    solvers = {"lls", "ridge", "kernel", "random-features", "vaw", "hebb", "deep-linear-bayes"}
    assert declared >= solvers | {"gd", "momentum", "sgd"}


def test_solvers_declared_linear_in_the_instance_have_weights():
    told = {True: set(), False: set()}
    for learners in in_turns(SOLVERS):
        described = experiment("rademacher", learners=learners, d=8)
        data = data_of(described)
        for number, learner in enumerate(described.learners):
            hypothesis = begun(described, number, data)
            hypothesis.learn(data.instances.at(slice(0, 4)), data.labels[:, :4])
            weights, predicted = hypothesis.weights(), hypothesis.predict(data.instances)
            told[learner.solver.structure().linear_in_instance].add(learner.solver.kind)
            if learner.solver.structure().linear_in_instance:
                rows = data.instances.rows.repeat_interleave(len(weights) // len(data.instances.rows), 0)
                torch.testing.assert_close((rows @ weights[..., None])[..., 0], predicted)
            else:
                assert weights is None or learner.solver.kind == "kernel"
    assert told[True] | told[False] == set(catalogue.members("solvers"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, True),
        ({"loss": "logistic", "labels": "sign"}, False),
        ({"protocol": "to-consistency"}, False),
        ({"protocol": "erm"}, False),
        ({"protocol": {"kind": "erm", "tolerance": 0}}, True),
        ({"protocol": {"kind": "steps", "until": {"clock": "step", "above": 3}}}, True),
        ({"protocol": {"kind": "steps", "until": {"measure": "loss", "below": 0.1}}}, False),
        ({"protocol": {"kind": "flow", "time": 1}}, True),
        ({"protocol": "epochs"}, True),
    ],
)
def test_linearity_in_labels_depends_on_loss_and_stopping(words, expected):
    described = experiment("rademacher", learners={"GD": gd(0.01), "LLS": LLS}, d=8, **words)
    trained, solved = described.learners
    assert linear_in_labels(trained, described).holds is expected
    assert linear_in_labels(solved, described).holds


def test_tanh_least_squares_follows_its_formula():
    for replicas in (1, 2):
        described = experiment("rademacher", learners={"it": TANH}, d=8, replicas=replicas, seed=3)
        data = data_of(described)
        hypothesis = begun(described, 0, data)
        for k in range(9):
            X, Y = data.instances.rows.numpy(), data.labels.numpy()
            predicted_rows = hypothesis.predict(data.instances).numpy()
            for rows, y, predictions in zip(X, Y, predicted_rows, strict=True):
                fitted = rows @ np.linalg.pinv(rows[:k]) @ y[:k] if k else np.zeros(8)
                rank = np.linalg.matrix_rank(rows[:k]) if k else 0
                for x, value, prediction in zip(rows, fitted, predictions, strict=True):
                    spanned = k > 0 and np.linalg.matrix_rank(np.vstack((rows[:k], x))) == rank
                    expected = value if spanned or k == 8 else np.tanh(value / (1 - k / 8))
                    assert prediction == pytest.approx(expected, abs=1e-9)
            if k < 8:
                hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])


def test_tanh_least_squares_predicts_signs_from_k_equals_d_on():
    described = experiment({"kind": "rademacher", "n": 24}, learners={"it": TANH}, d=12)
    hypothesis, data = begun(described, 0, data_of(described)), data_of(described)
    repeated = data.instances.pick(torch.zeros(1, 12, dtype=torch.int64))
    hypothesis.learn(repeated, data.labels[:, :1].expand(-1, 12))
    predictions = hypothesis.predict(data.instances)
    first = data.instances.rows[0, 0]
    expected = torch.sign(data.instances.rows[0] @ first) * data.labels[0, 0]
    torch.testing.assert_close(predictions[0], expected)


def test_the_tanh_limit_matches_draws_of_a_sign_in_gaussian_noise():
    """Against draws of the channel ρ y + N(0, ρ(1 − ρ)), and least squares' own 1 − ρ above it."""
    rng = np.random.default_rng(0)
    rhos = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    for rho, cost in zip(rhos, unseen(rhos), strict=True):
        seen = rho + np.sqrt(rho * (1 - rho)) * rng.standard_normal(400_000)
        costs = (1 - np.tanh(seen / (1 - rho))) ** 2
        assert abs(costs.mean() - cost) <= ERRORS * costs.std() / np.sqrt(len(costs))
        assert 0 < cost < 1 - rho
    assert unseen(np.array([0.0, 1, 2])) == pytest.approx([1, 0, 0], abs=1e-12)


def test_the_tanh_limit_matches_numerical_integration():
    rhos = np.array([0.001, 0.1, 0.6, 0.9, 0.99, 0.999])
    for rho, cost in zip(rhos, unseen(rhos), strict=True):
        s = rho / (1 - rho)

        def at(z, s=s):
            return (1 - np.tanh(s + np.sqrt(s) * z)) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

        expected, _ = scipy.integrate.quad(at, -12, 12, points=[-np.sqrt(s)], epsabs=1e-13, limit=500)
        assert cost == pytest.approx(expected, rel=1e-10, abs=1e-13)


def test_the_tanh_limit_is_drawn_only_beside_tanh_least_squares():
    for learners, is_there in (({"LLS": LLS}, False), ({"tanh": TANH, "LLS": LLS}, True)):
        described = experiment("rademacher", "all", learners, d=16, loss="square")
        seen = view(of_run(described), of_one(described, run(described)))
        assert ("tanh-lls-limit" in {line.kind for line in seen.lines}) is is_there
        assert ("tanh-lls-limit" in seen.absences.lines) is not is_there
        assert "ri-rademacher" in {line.kind for line in seen.lines}


def test_tanh_least_squares_follows_its_limit_and_beats_an_inapplicable_bound():
    protocol, learners = {"kind": "erm", "every": 16}, {"tanh": TANH, "LLS": LLS}
    described = experiment("rademacher", "all", learners, d=64, replicas=20, protocol=protocol, loss="square")
    trace = run(described)
    tanh, least = trace.curve("tanh"), trace.curve("LLS")
    lines = {line.kind: line for line in trace.lines}
    limit, bound = lines["tanh-lls-limit"], lines["ri-rademacher"]
    assert (limit.applies_to, bound.applies_to) == (["tanh"], ["LLS"])
    assert lines["svd"].applies_to == ["LLS"], "the tanh of predictions of rank k has a larger rank"
    gaps = (tanh.values("loss") - least.values("loss"))[1:4]
    assert (gaps.mean(1) < -ERRORS * gaps.std(1) / np.sqrt(20)).all()
    assert (tanh.mean("loss")[1:4] < bound.values[1:4]).all()
    np.testing.assert_allclose(tanh.mean("loss"), limit.values, atol=0.01)
    assert catalogue.make("solvers", "tanh-lls").invariance().invariant is True
