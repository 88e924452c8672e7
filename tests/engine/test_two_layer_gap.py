"""The two-layer net that goes below the conjectured line, step by step in other code."""

import numpy as np
import pytest
import torch
from building import begun, data_of, experiment, gd

from engine.architectures.two_layer_decoder import TwoLayerDecoder
from engine.core.streams import Streams
from engine.problems.matrices.ordered_hadamard import OrderedHadamard
from engine.runtime.run import run

SMALL = {"eps": 1e-2, "mu": 1e-2, "gain": 1e2}


def described(d, k, **fields):
    return experiment(
        {"kind": "ordered-hadamard", "d": d},
        "doubled",
        {"net": gd(0.5, kind="two-layer-decoder", **{**SMALL, **fields})},
        protocol={"kind": "one-pass", "examples": k},
    )


@pytest.mark.parametrize(
    ("d", "k", "expected"),
    [(8, 3, 0.500008), (8, 4, 0.250008), (8, 5, 0.000008), (16, 5, 0.500004), (16, 7, 0.250004)],
)
def test_the_constructed_net_has_the_predicted_loss(d, k, expected):
    trace = run(described(d, k))
    (curve,) = trace.curves
    assert curve.mean("loss")[-1] == pytest.approx(expected, abs=1e-6)
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "two-layer-gap")
    assert line.applies_to == ["net"]
    np.testing.assert_allclose(curve.mean("loss"), line.values, atol=1e-5)


def test_the_constructed_net_approaches_the_line_for_small_constants():
    off = []
    for size in (0.1, 0.01):
        trace = run(described(8, 5, eps=size, mu=size, gain=1 / size))
        (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "two-layer-gap")
        off.append(abs(trace.curves[0].mean("loss") - line.values).max())
    assert off[1] < off[0] / 50


def test_the_constructed_net_takes_the_documented_steps():
    d, h = 8, 5
    setup = described(d, h)
    net, data = begun(setup, 0, data_of(setup)), data_of(setup)
    phi = TwoLayerDecoder(**SMALL).features(d)
    w, W = np.zeros((2 * d, h)), np.tile(100 * np.eye(h, 2 * h), (2 * d, 1, 1))
    labels = data.labels.numpy()
    for t in range(h):
        z = W @ phi[t]
        r = (w * z).sum(1) - labels[:, t]
        w, W = w - r[:, None] * z, W - r[:, None, None] * w[:, :, None] * phi[t]
        net.learn(data.instances.at(slice(t, t + 1)), data.labels[:, t : t + 1])
        torch.testing.assert_close(net.params["W1"], torch.from_numpy(W), rtol=1e-9, atol=1e-9)
        expected = np.einsum("th,thp,np->tn", w, W, phi)
        np.testing.assert_allclose(net.predict(data.instances).numpy(), expected, atol=1e-6)


def test_rows_of_the_second_half_are_products_of_three_earlier_rows():
    rows = OrderedHadamard(d=16).rows(Streams([0]))[0]
    np.testing.assert_array_equal(rows[9:], rows[0] * rows[1] * rows[2:9])
    assert len({tuple(row) for row in rows}) == 16
