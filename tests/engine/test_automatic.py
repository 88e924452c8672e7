"""Automatic gradient descent against its derivation: measures, guarantees and penalties."""

import math

import numpy as np
import pytest
import torch
from building import beginning, data_of, experiment
from msgspec import structs

from engine.core import catalogue
from engine.pictures.picture import Picture
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.theory.agd_majoriser import lowered

TARGET = {"kind": "tanh-layer", "outputs": 3, "normalised": True}
ALONG = {"layer-norms": "layer", "gradient-rank": "layer"}
MEASURES = "gradient-summary", "layer-norms", "gradient-rank", "objective"
AGD = {"kind": "agd", "loss_scale": 1 / 6}


def described(steps=4, **architecture):
    net = {"kind": "dense", "widths": [5], "activation": "relu", "init": "orthogonal", "outputs": "m"}
    plain = experiment(
        {"kind": "sphere", "n": 6, "d": 4},
        TARGET,
        learners={"it": {"architecture": {**net, **architecture}, "update": AGD}},
        protocol={"kind": "steps", "steps": steps, "records": steps},
        replicas=2,
    )
    pictures = [
        Picture(x=ALONG.get(kind, "step"), measure=catalogue.make("measures", kind)) for kind in MEASURES
    ]
    return structs.replace(plain, pictures=tuple(pictures))


def gradients_of_the_mean(setup, replica, penalty=0.0):
    """Mean square over rows and outputs with its penalty, the layers and their gradients, by numpy."""
    hypothesis, data = beginning(setup)
    w1, w2 = (hypothesis.params[tensor_name][replica].numpy() for tensor_name in ("W1", "W2"))
    x, y = data.instances.rows[replica].numpy(), data.labels.view(2, 3, -1)[replica].numpy()
    hidden = np.maximum(0, w1 @ x.T)
    off = w2 @ hidden - y
    slopes = 2 * off / off.size
    first = ((w2.T @ slopes) * (hidden > 0)) @ x + penalty / 3 * w1
    squares = (w1**2).sum() + (w2**2).sum()
    cost = (off**2).mean() + penalty / 6 * squares
    return cost, {"W1": (w1, first), "W2": (w2, slopes @ hidden.T + penalty / 3 * w2)}


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_agd_measures_use_the_gradient_of_the_mean_over_rows_and_outputs(penalty):
    setup = described(l2_penalty=penalty)
    curve = run(setup).curves[0]
    for replica in range(2):
        cost, layers = gradients_of_the_mean(setup, replica, penalty)
        sizes, norms, ranks = [], [], []
        for w, g in layers.values():
            shape = math.sqrt(len(w) / w.shape[1])
            sizes.append(shape * np.linalg.norm(g))
            norms.append(np.linalg.svd(w)[1][0] / shape)
            ranks.append(np.linalg.norm(g) / np.linalg.svd(g)[1][0])
        assert curve.values("gradient-summary")[0, replica] == pytest.approx(np.mean(sizes) ** 2, rel=1e-9)
        assert curve.values("objective")[0, replica] == pytest.approx(cost, rel=1e-9)
        for measure_name, expected in (("layer-norms", norms), ("gradient-rank", ranks)):
            np.testing.assert_allclose(curve.array(measure_name).values[0, replica], expected, rtol=1e-9)


def test_the_agd_rate_line_does_not_bind_one_net_per_target():
    setup = described(outputs=1)
    (line,) = (line for line in run(setup).lines if line.kind == "agd-rate")
    assert line.applies_to == []
    assert "has one for each target" in line.on_learners["it"].reason


def test_agd_lines_equal_the_minimised_majoriser_and_a_rate_of_1_over_t():
    trace = run(described())
    (curve,), lines = trace.curves, {line.kind: line for line in trace.lines}
    losses, squares = curve.values("loss"), curve.values("gradient-summary")
    promised = lines["agd-majoriser"].by_curve(trace.curves)["it"].values
    rate = lines["agd-rate"].by_curve(trace.curves)["it"].values
    np.testing.assert_allclose(promised[:, 0], losses[0], rtol=1e-12)
    for step in range(4):
        for replica in range(2):
            loss, G = losses[step, replica] / 2, math.sqrt(squares[step, replica]) / 2
            eta = math.log((1 + math.sqrt(1 + 4 * G)) / 2)
            after = loss - eta * G + (math.exp(eta) - 1) ** 2 / 2
            assert promised[replica, step + 1] == pytest.approx(2 * after, rel=1e-12)
            rates = np.linspace(0, 1, 2001)
            best = (loss - rates * G + np.expm1(rates) ** 2 / 2).min()
            assert after == pytest.approx(best, abs=1e-6)
            assert rate[replica, step] == pytest.approx(22 * losses[0, replica] / (step + 1), rel=1e-12)


def test_the_agd_rate_line_appears_only_in_pictures_of_the_running_minimum():
    setup = described()
    results = of_one(setup, run(setup))
    picture = setup.pictures[0]
    plain, least = (view(structs.replace(picture, running=how), results) for how in (None, "min"))
    assert [line.kind for line in plain.lines] == []
    assert plain.absences.lines["agd-rate"].startswith(
        "this line is about the min over all evaluation points so far"
    )
    assert [line.kind for line in least.lines] == ["agd-rate"]


def test_the_majoriser_falls_by_at_least_g_squared_over_4_51_up_to_g_2():
    G = np.linspace(1e-3, 2, 4000)
    factors = G**2 / lowered(G)
    assert factors.max() == pytest.approx(4.51, abs=0.005)
    assert (np.diff(factors) > 0).all()


def test_normalised_labels_of_a_tanh_layer_have_norm_sqrt_outputs():
    normalised = experiment({"kind": "gaussian", "n": 5, "d": 3}, TARGET, replicas=2)
    plain = experiment({"kind": "gaussian", "n": 5, "d": 3}, {**TARGET, "normalised": False}, replicas=2)
    labels, raw = (data_of(setup).labels.view(2, 3, 5) for setup in (normalised, plain))
    torch.testing.assert_close(labels.norm(dim=1), torch.full((2, 5), math.sqrt(3), dtype=labels.dtype))
    torch.testing.assert_close(labels * raw.norm(dim=1, keepdim=True), raw * math.sqrt(3))
    rows = data_of(plain).instances.rows
    for replica in range(2):
        layer = torch.linalg.lstsq(rows[replica], torch.atanh(raw[replica]).T).solution
        torch.testing.assert_close(torch.tanh(rows[replica] @ layer).T, raw[replica])
        assert layer.std() > 0.3
