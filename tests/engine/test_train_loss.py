"""The loss over the rows seen and over those unseen, against a naive sum."""

import numpy as np
import pytest
from building import curve, data_of, experiment, gd, predictions

from engine.core.streams import Streams
from engine.runtime.run import run

D = 8


def naive(losses, seen):
    """Means of losses [n] over the rows in the list `seen`, repeated ones counted, and over the others."""
    unseen_losses = [losses[row] for row in range(len(losses)) if row not in seen]
    train = np.mean([losses[row] for row in seen]) if len(seen) else np.nan
    return train, np.mean(unseen_losses) if unseen_losses else np.nan


def row_losses(described):
    """Square losses of every row after k = 0 … n examples, [n + 1, n]."""
    return (predictions(described)[:, 0] - data_of(described).labels[0].numpy()) ** 2


@pytest.mark.parametrize("matrix", ["hadamard", "gaussian"])
def test_train_and_unseen_losses_of_one_pass_match_the_naive_twin(matrix):
    described = experiment(matrix, d=D, learners={"GD": gd(0.03)}, train_loss=True)
    measured = run(described).curves[0]
    expected = [naive(losses, list(range(k))) for k, losses in enumerate(row_losses(described))]
    both = np.transpose([measured.mean("train"), measured.mean("unseen")])
    np.testing.assert_allclose(both, expected, rtol=1e-12, atol=1e-15)


def test_gradient_descent_on_hadamard_fits_seen_rows_and_no_unseen_rows():
    gd_curve = curve(d=D, learners={"GD": gd(1 / (2 * D))}, train_loss=True)
    np.testing.assert_allclose(gd_curve.mean("train")[1:], 0, atol=1e-15)
    np.testing.assert_allclose(gd_curve.mean("unseen")[:-1], 1, rtol=1e-15)
    assert np.isnan(gd_curve.mean("train")[0])
    assert np.isnan(gd_curve.mean("unseen")[-1])


def test_rows_drawn_twice_count_twice_in_the_train_loss():
    protocol = {"kind": "one-pass", "replacement": True}
    described = experiment(d=D, learners={"GD": gd(0.03)}, protocol=protocol, train_loss=True)
    draws = Streams([described.run.seed])("draws").integers(D, D)[0]
    assert len(set(draws)) < D, "some row must come twice"
    measured = run(described).curves[0]
    x, y = data_of(described).instances.rows[0].numpy(), data_of(described).labels[0].numpy()
    w = np.zeros(D)
    for k in range(D + 1):
        train, unseen = naive((x @ w - y) ** 2, list(draws[:k]))
        both = [measured.mean("train")[k], measured.mean("unseen")[k]]
        np.testing.assert_allclose(both, [train, unseen], rtol=1e-12)
        if k < D:
            w -= 0.03 * 2 * (x[draws[k]] @ w - y[draws[k]]) * x[draws[k]]


def test_replicas_targets_and_rates_have_separate_train_losses():
    learners = {"GD": {"update": {"kind": "gd", "lr": [0.01, 0.03]}}}
    words = {"target": "all", "d": D, "train_loss": True, "replicas": 2}
    both = run(experiment("gaussian", learners=learners, **words)).curves
    for rate, together in zip((0.01, 0.03), both, strict=True):
        alone = curve("gaussian", learners={"GD": gd(rate)}, **words)
        np.testing.assert_allclose(together.mean("train"), alone.mean("train"), rtol=1e-12)
        np.testing.assert_allclose(together.mean("unseen"), alone.mean("unseen"), rtol=1e-12)


@pytest.mark.parametrize(
    "protocol",
    [
        {"kind": "to-consistency", "passes": 3},
        {"kind": "erm", "every": 1, "steps": 20},
        {"kind": "one-pass", "batch": 2},
    ],
)
@pytest.mark.parametrize("learner", [gd(0.02), {"solver": "lls"}])
def test_train_and_unseen_losses_average_to_the_loss_on_all_rows(protocol, learner):
    measured = curve("gaussian", d=D, learners={"it": learner}, protocol=protocol, train_loss=True)
    k = measured.x
    all_rows = (
        k * np.nan_to_num(measured.mean("train")) + (D - k) * np.nan_to_num(measured.mean("unseen"))
    ) / D
    np.testing.assert_allclose(all_rows, measured.mean("loss"), rtol=1e-12)
    assert np.isnan(measured.mean("train")).tolist() == (k == 0).tolist()
    assert np.isnan(measured.mean("unseen")).tolist() == (k == D).tolist()


def test_epochs_train_on_the_first_rows():
    protocol = {"kind": "epochs", "train": 3, "epochs": 5}
    measured = curve("gaussian", d=D, learners={"GD": gd(0.02)}, protocol=protocol, train_loss=True)
    all_rows = (3 * measured.mean("train") + (D - 3) * measured.mean("unseen")) / D
    np.testing.assert_allclose(all_rows, measured.mean("loss"), rtol=1e-12)
    assert (np.diff(measured.mean("train")) < 0).all()


def test_train_and_unseen_losses_are_measured_only_on_request():
    plain_curve = curve(d=D)
    assert plain_curve.mean("train") is None
    assert plain_curve.mean("unseen") is None
