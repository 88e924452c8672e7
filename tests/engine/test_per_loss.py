"""Rates over the loss, and the clocks that are another one in every replica."""

import math

import numpy as np
import pytest
import torch
from building import data_of, raw

from engine.core.catalogue import members
from engine.core.parts import BadInput
from engine.pictures import reductions
from engine.pictures.view import index_at
from engine.results.results import of_one
from engine.results.trace import Curve
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import reading

RATES = [0.05, 0.2]


def document(steps=6, loss="exponential", matrix=None, **learner):
    words = {
        "architecture": "linear",
        "update": {"kind": "gd", "lr": RATES},
        "schedule": "per-loss",
    } | learner
    return raw(
        matrix or {"kind": "gaussian", "n": 8, "d": 3},
        {"kind": "feature", "index": 0},
        {"GD": words},
        loss=loss,
        labels="sign",
        replicas=3,
        protocol={"kind": "steps", "steps": steps, "records": steps},
    )


def measured(words):
    it = reading.parse(words)
    return it, run(it)


def naive(rows, labels, rate, steps):
    """Losses and times of w ← w − η ∇L/L on mean exp(−y xᵀw), from 0."""
    w, time, losses, times = np.zeros(rows.shape[1]), 0.0, [], []
    for step in range(steps + 1):
        row_losses = np.exp(-labels * (rows @ w))
        losses.append(row_losses.mean())
        times.append(time)
        if step < steps:
            gradient = -(row_losses * labels) @ rows / len(rows)
            w = w - rate / row_losses.mean() * gradient
            time += rate / row_losses.mean()
    return np.array(losses), np.array(times)


def test_losses_and_times_match_a_loop_over_replicas_and_rates():
    it, trace = measured(document())
    data = data_of(it)
    for rate, curve in zip(RATES, trace.curves, strict=True):
        for replica in range(3):
            rows, labels = data.instances.rows[replica].numpy(), data.labels[replica].numpy()
            losses, times = naive(rows, labels, rate, 6)
            np.testing.assert_allclose(curve.values("loss")[:, replica], losses, rtol=1e-12)
            np.testing.assert_allclose(curve.own_clocks["time"][:, replica], times, rtol=1e-12)
        assert np.ptp(curve.own_clocks["time"][-1]) > 0
        np.testing.assert_array_equal(curve.clocks["time"], curve.own_clocks["time"].min(1))


def test_the_time_on_one_example_is_a_geometric_series():
    """Margins are 2ηs after s steps for x of two signs, L = e^(−2ηs), and times Σ_{j<s} η e^(2ηj)."""
    single_row = {"kind": "rademacher", "n": 1, "d": 2}
    words = document(steps=40, matrix=single_row, update={"kind": "gd", "lr": 0.25})
    _, trace = measured(words)
    steps = np.arange(41)
    times = 0.25 * np.expm1(0.5 * steps) / math.expm1(0.5)
    np.testing.assert_allclose(trace.curves[0].mean("loss"), np.exp(-0.5 * steps), rtol=1e-12)
    np.testing.assert_allclose(trace.curves[0].own_clocks["time"], times[:, None].repeat(3, 1), rtol=1e-12)


def test_outputs_of_one_net_share_its_loss():
    words = raw(
        {"kind": "clusters", "classes": 3, "n": 9, "d": 4},
        "classes",
        {
            "net": {
                "architecture": {"kind": "dense", "widths": [5], "outputs": "m"},
                "update": {"kind": "gd", "lr": 0.1},
                "schedule": "per-loss",
            }
        },
        loss="cross-entropy",
        replicas=2,
        protocol={"kind": "steps", "steps": 3, "records": 3},
    )
    _, trace = measured(words)
    curve = trace.curves[0]
    rates = 0.1 / curve.values("loss")
    np.testing.assert_allclose(np.diff(curve.own_clocks["time"], axis=0), rates[:-1], rtol=1e-9)


def test_a_warm_up_multiplies_the_per_loss_rates():
    schedule = {"kind": "per-loss", "warm_up": 4}
    _, trace = measured(document(schedule=schedule, update={"kind": "gd", "lr": 0.1}))
    curve = trace.curves[0]
    factors = np.minimum(1, np.arange(1, 7) / 4)[:, None]
    expected = 0.1 * factors / curve.values("loss")[:-1]
    np.testing.assert_allclose(np.diff(curve.own_clocks["time"], axis=0), expected, rtol=1e-12)


def test_a_picture_interpolates_replicas_at_the_times_of_the_slowest():
    words = document(update={"kind": "gd", "lr": 0.2})
    words["pictures"] = [{"x": "2*time", "measure": "loss", "times": "sqrt(time)"}]
    it, trace = measured(words)
    times, losses = trace.curves[0].own_clocks["time"], trace.curves[0].values("loss")
    curve = view(it.pictures[0], of_one(it, trace)).curve("GD")
    least = times.min(1)
    np.testing.assert_allclose(curve.x, 2 * least)
    losses_of_replicas = [
        np.interp(least, times[:, r], losses[:, r] * np.sqrt(times[:, r])) for r in range(3)
    ]
    np.testing.assert_allclose(curve.y, np.mean(losses_of_replicas, 0), rtol=1e-12)
    np.testing.assert_allclose(curve.stderr, np.std(losses_of_replicas, 0, ddof=1) / math.sqrt(3), rtol=1e-9)
    assert not np.isnan(curve.y).any()
    assert index_at(curve, 2 * least[3] + 1e-6) == 4


def test_resampling_gives_nan_after_a_replica_diverges():
    values = np.array([[1, 2, 3, 4.0], [1, 2, np.nan, np.nan]])
    clocks = np.array([[0, 1, 2, 3], [0, 2, 4, 6.0]])
    resampled = reductions.resampled(values, clocks, clocks[0])
    np.testing.assert_allclose(resampled, [[1, 2, 3, 4], [1, 1.5, 2, np.nan]])


def test_a_run_ends_once_every_replica_has_passed_a_time():
    words = document(steps=200, update={"kind": "gd", "lr": 0.2})
    words["protocol"]["until"] = {"clock": "time", "above": 100}
    _, trace = measured(words)
    times = trace.curves[0].own_clocks["time"]
    assert trace.curves[0].complete
    assert len(times) < 200
    assert times[-1].min() > 100 >= times[-2].min()


def test_clocks_of_replicas_are_stored_and_restored():
    _, trace = measured(document(update={"kind": "gd", "lr": 0.2}))
    curve = trace.curves[0]
    again = Curve("GD", curve.capacity, 3, curve.verdict)
    again.restore(curve.as_arrays())
    np.testing.assert_array_equal(again.own_clocks["time"], curve.own_clocks["time"])
    assert again.clocks.keys() == curve.clocks.keys() == {"step", "k", "time"}


@pytest.mark.parametrize("kind", ["square", "hinge"])
def test_the_per_loss_schedule_refuses_losses_that_can_reach_zero(kind):
    with pytest.raises(BadInput, match="take `exponential` or `logistic` loss") as caught:
        reading.parse(document(loss=kind))
    assert caught.value.where == "learners[0].schedule"


def test_losses_declared_positive_are_positive():
    predictions = torch.linspace(-30, 30, 241, dtype=torch.float64)
    for loss in members("losses").values():
        if loss.positive:
            part = loss()
            values = predictions.expand(3, -1) if part.joint else predictions
            labels = torch.ones_like(values)
            if part.joint:
                labels[1:] = 0
                values = values * torch.tensor([1, 0.5, -1])[:, None]
            assert (part.value(values, labels) > 0).all()


def test_the_distance_to_a_margin_compares_directions():
    words = document(
        steps=4,
        update={"kind": "gd", "lr": 0.2},
        tends_to="max-margin",
        matrix={"kind": "gaussian", "n": 6, "d": 9},
    )
    words["pictures"] = [{"x": "step", "measure": "distance"}]
    _, trace = measured(words)
    weights = trace.curves[0].weights[-1]
    again = {"solver": "max-margin"}
    solved = run(reading.parse({**words, "learners": [{"name": "m", **again}], "pictures": []})).curves[0]
    best = solved.weights[-1]
    away = weights / np.linalg.norm(weights) - best / np.linalg.norm(best)
    assert trace.curves[0].values("distance")[-1, 0] == pytest.approx(np.linalg.norm(away), rel=1e-9)
