"""The line of lazy training: gradient flow with the kernel that a learner starts with."""

import numpy as np
import pytest
import torch
from building import beginning, data_of, experiment

from engine.core import catalogue
from engine.runtime.run import run

FLOW = {"kind": "flow", "time": 3, "first": 0.1, "records": 9}


def described(learner, protocol=FLOW, noise=0.1, **words):
    return experiment(
        {"kind": "gaussian", "n": 6}, "sparse", {"it": learner}, d=10, protocol=protocol, noise=noise, **words
    )


def lines(setup):
    trace = run(setup)
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "lazy-flow")
    (curve,) = trace.curves
    return curve, line


def stepped(setup, scale, steps=20000):
    """The loss of the first replica at the end of many small steps with the kernel c XXᵀ."""
    data = data_of(setup)
    rows, residual = data.instances.rows[0].numpy(), -data.labels[0].numpy()
    kernel = scale * rows @ rows.T
    for _ in range(steps):
        residual = residual - FLOW["time"] / steps * 2 / len(rows) * kernel @ residual
    return np.square(residual).mean()


def test_a_linear_neuron_follows_the_lazy_flow_exactly():
    setup = described({"update": "gd"}, replicas=3)
    curve, line = lines(setup)
    values = line.of_curves["it"].values
    np.testing.assert_allclose(curve.values("loss").T, values, rtol=1e-5, atol=1e-9)
    assert values[0, -1] == pytest.approx(stepped(setup, 1.0), rel=1e-2)


@pytest.mark.parametrize(("depth", "scale"), [(2, 8 * 0.25 / 2 * 1.5), (3, 9 * 0.25**2 * 1.5)])
def test_the_lazy_flow_of_a_diagonal_net_depends_on_start_and_rates(depth, scale):
    # α = ½: D²α^(2D − 2) for each of u and v, with rates ½ and 1 here
    architecture = {"kind": "spindly", "signed": True, "depth": depth, "w0": 0.5**depth}
    setup = described({"update": "gd", "architecture": architecture, "layer_rates": {"u": 0.5, "v": 1.0}})
    _, line = lines(setup)
    assert line.of_curves["it"].values[0, -1] == pytest.approx(stepped(setup, scale), rel=1e-2)


@pytest.mark.parametrize("depth", [2, 3])
def test_diagonal_nets_with_large_starts_follow_the_lazy_flow(depth):
    gaps = []
    for alpha in (1.0, 4.0):
        kernel = 2 * depth**2 * alpha ** (2 * depth - 2)
        architecture = {"kind": "spindly", "signed": True, "depth": depth, "w0": alpha**depth}
        rates = dict.fromkeys("uv", 1 / kernel)
        curve, line = lines(described({"update": "gd", "architecture": architecture, "layer_rates": rates}))
        gaps.append(abs(curve.mean("loss") - line.of_curves["it"].values[0]).max() / curve.mean("loss")[0])
    assert gaps[1] < gaps[0] / 4
    assert gaps[1] < 1e-3


@pytest.mark.parametrize(("learner", "reason"), [
    ({"update": "egu"}, "gradient flow, unlike"),
    ({"update": "gd", "architecture": "spindly"}, "proportional to xᵀx̃"),
    ({"update": "gd", "architecture": {"kind": "dense", "widths": [4]}}, "proportional to xᵀx̃"),
])  # fmt: skip
def test_the_lazy_flow_gives_a_reason_for_each_unbound_learner(learner, reason):
    setup = described(learner)
    assert reason in catalogue.make("theory", "lazy-flow").binds(setup.learners[0], setup).reason


def test_the_lazy_flow_requires_gradient_flow_on_square_loss_of_all_rows():
    line = catalogue.make("theory", "lazy-flow")
    assert "requires gradient flow" in line.holds(described({"update": "gd"}, "one-pass")).reason
    assert "all rows" in line.holds(described({"update": "gd"}, {**FLOW, "train": 3})).reason
    assert (
        "square loss"
        in line.holds(described({"update": "gd"}, loss="logistic", labels="sign", noise=0)).reason
    )


@pytest.mark.parametrize("learner", [
    {"kind": "linear"},
    {"kind": "spindly", "signed": True},
    {"kind": "spindly", "signed": True, "depth": 3, "w0": 0.2},
    {"kind": "spindly", "signed": True, "depth": 4, "w0": 0.3},
])  # fmt: skip
def test_kernel_at_start_is_the_inner_product_of_gradients(learner):
    setup = experiment("gaussian", learners={"it": {"update": "gd", "architecture": learner}}, d=5)
    hypothesis, data = beginning(setup)
    first, second = (data.instances.at(slice(row, row + 1)) for row in (0, 1))
    assert not hypothesis.predict(data.instances).any()
    slopes = [
        hypothesis.architecture.gradient(hypothesis.tensors, instance, torch.ones_like)
        for instance in (first, second)
    ]
    inner = float((first.rows * second.rows).sum())
    parts = hypothesis.architecture.structure_at(5).kernel_at_start
    assert set(parts) == set(slopes[0])
    for tensor_name, part in parts.items():
        assert float((slopes[0][tensor_name] * slopes[1][tensor_name]).sum()) == pytest.approx(
            part * inner, rel=1e-12
        )
