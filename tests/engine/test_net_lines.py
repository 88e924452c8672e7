"""Theory lines on nets: the edge of stability, and the variance of layers at the start."""

import numpy as np
import pytest
import torch
from building import LLS, data_of, experiment, gd, planned
from msgspec import structs

from engine.core import catalogue
from engine.core.activations import transfer
from engine.core.streams import Streams
from engine.results.report import encode
from engine.results.results import of_one
from engine.runtime.run import run
from engine.theory import At, RunData
from engine.updates.gd import GD

EPOCHS = {"kind": "epochs", "epochs": 2}


def line_of_kind(kind):
    return catalogue.make("theory", kind)


def at(described, **index):
    (learner,) = described.learners
    ((_, rate),) = planned(learner, described).rates_by_curve.items()
    clocks = {"epoch": np.arange(3.0), "k": np.arange(3.0)}
    return At(described, RunData(lambda: data_of(described)), clocks, index, learner, rate)


@pytest.mark.parametrize(("update", "value"), [
    ({"kind": "gd", "lr": 0.05}, 40.0),
    ({"kind": "momentum", "lr": 0.05, "momentum": 0.5}, 60.0),
])  # fmt: skip
def test_the_edge_of_stability_is_where_steps_on_a_quadratic_diverge(update, value):
    described = experiment(learners={"it": {"update": update}}, d=8, protocol=EPOCHS)
    line = line_of_kind("two-over-eta")
    assert line.holds(described).holds
    assert line.binds(described.learners[0], described).holds
    assert line.value(at(described)) == pytest.approx(value)
    for curvature, diverges in ((0.99 * value, False), (1.01 * value, True)):
        w, velocity, momentum = 1.0, 0.0, update.get("momentum", 0.0)
        for _ in range(3000):
            velocity = momentum * velocity + curvature * w
            w -= 0.05 * velocity
        assert (abs(w) > 1) == diverges


@pytest.mark.parametrize(("learner", "reason"), [
    (LLS, "is a solver"),
    ({"update": "adam"}, "uses adam"),
    ({"update": "sgd"}, "uses sgd"),
    ({"update": {"kind": "gd", "lr": "best"}}, "is chosen after the run"),
    (gd(0.1, kind="dense", parametrisation="mup", widths=[4]), "one rate for all layers"),
    ({**gd(0.1, kind="dense", widths=[4]), "layer_rates": {"W1": 0.5}}, "one rate for all layers"),
])  # fmt: skip
def test_the_edge_of_stability_gives_a_reason_for_each_unbound_learner(learner, reason):
    described = experiment(learners={"it": learner}, d=8, protocol=EPOCHS)
    assert reason in line_of_kind("two-over-eta").binds(described.learners[0], described).reason


def test_the_edge_of_stability_requires_full_batches():
    assert "one-pass" in line_of_kind("two-over-eta").holds(experiment(d=8)).reason


def net(**words):
    return experiment("gaussian", learners={"it": gd(0.1, kind="dense", depth=3, **words)}, d=8, replicas=400)


@pytest.mark.parametrize("words", [
    {"width": 16, "activation": "relu", "cw": 2.0},
    {"width": 200, "activation": "tanh", "cw": 1.5, "cb": 0.2},
    {"width": 16, "activation": "identity", "cw": (1.0, 2.0, 0.5, 3.0), "parametrisation": "ntk"},
])  # fmt: skip
@pytest.mark.slow
def test_layer_variances_at_the_start_follow_the_recursion(words):
    described = net(**words)
    (learner,) = described.learners
    architecture, data = learner.architecture, data_of(described)
    start = architecture.start(Streams(range(400))("start"), 8)
    params = {
        tensor_name: torch.from_numpy(np.asarray(weights, float)) for tensor_name, weights in start.items()
    }
    signals = architecture.preactivations(params, data.instances)
    recursion = line_of_kind("layer-recursion").value(at(described, layer=np.arange(1.0, 4)))
    assert np.isnan(recursion[1:]).all()
    cw = architecture.structure().signals.cw[1:]
    for number, signal in enumerate(signals):
        sample = (cw[number] * transfer(architecture.activation, signal).square().mean((1, 2))).numpy()
        error = sample.std() / np.sqrt(len(sample))
        finite = 0.02 * recursion[0, number] if words["activation"] == "tanh" else 0
        assert abs(sample.mean() - recursion[0, number]) < 4 * error + finite, number


class Restarted(GD, frozen=True, tag="restarted"):
    """Gradient descent from weights of its own."""

    def start(self, params):
        return {tensor_name: torch.ones_like(w) for tensor_name, w in params.items()}, {}


@pytest.mark.parametrize("kind", ["layer-recursion", "layer-recursion-finite", "chi-perp", "zaslavsky"])
def test_lines_on_gaussian_starts_do_not_bind_rules_with_their_own_start(kind):
    biased = {} if kind == "layer-recursion-finite" else {"cb": 1}
    one_layer = gd(0.1, kind="dense", widths=[8], activation="relu", **biased)
    described = experiment(learners={"it": one_layer}, d=8)
    (learner,) = described.learners
    assert line_of_kind(kind).binds(learner, described).holds
    restarted = structs.replace(learner, update=Restarted())
    finding = line_of_kind(kind).binds(restarted, described)
    assert not finding.holds
    assert "Gaussian start" in finding.reason


@pytest.mark.parametrize("words", [
    {"width": 2, "activation": "relu"},
    {"width": 4, "activation": "tanh", "cw": 2.0},
])  # fmt: skip
@pytest.mark.slow
def test_the_susceptibility_recursion_is_exact_only_at_layer_1(words):
    learners = {"it": gd(0.1, kind="dense", depth=4, **words)}
    settings = {"protocol": "at-init", "measures": [{"kind": "susceptibility"}], "replicas": 4000}
    described = experiment({"kind": "sphere", "n": 4}, "coin", learners, d=8, **settings)
    trace = run(described)
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "chi-perp")
    assert line.statement.direction == "asymptotic"
    assert line.applies_to == ["it"]
    measured = trace.curves[0].array("susceptibility").values[0]
    errors = measured.std(0, ddof=1) / np.sqrt(len(measured))
    away = np.abs(measured.mean(0) - line.of_curves["it"].values[0, 0]) / errors
    assert away[0] < 4
    assert (away[1:] > 5).all()


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_layer_correlation_matches_loops_over_layers(activation):
    words = {"widths": [5, 3], "activation": activation, "cw": 1.5, "cb": 0.3}
    learners = {"it": gd(0.1, kind="dense", **words)}
    settings = {"protocol": "at-init", "measures": [{"kind": "layer-correlation"}], "replicas": 2}
    described = experiment({"kind": "gaussian", "n": 4}, "coin", learners, d=6, **settings)
    measured = run(described).curves[0].array("layer-correlation").values
    assert measured.shape == (1, 2, 2)
    rows, streams = data_of(described).instances.rows, Streams([0, 1])
    start = described.learners[0].architecture.start(streams("init"), 6)
    for replica in range(2):
        sent = rows[replica, :2].double().numpy()
        for number in (1, 2):
            weights, biases = (start[f"{name}{number}"][replica] for name in ("W", "b"))
            signals = sent @ weights.T + biases.reshape(-1)
            sent = np.maximum(signals, 0) if activation == "relu" else np.tanh(signals)
            kernel = 0.3 + 1.5 * sent @ sent.T / sent.shape[1]
            correlation = kernel[0, 1] / np.sqrt(kernel[0, 0] * kernel[1, 1])
            assert measured[0, replica, number - 1] == pytest.approx(correlation, rel=1e-6)


@pytest.mark.parametrize(("matrix", "architecture", "reason"), [
    ({"kind": "sphere", "n": 1}, {"kind": "dense", "widths": [4]}, "there is one row"),
    ({"kind": "pair"}, {"kind": "layer-by-layer"}, "draws signals for each separately"),
    ({"kind": "pair"}, {"kind": "neuron"}, "requires a fully connected net"),
])  # fmt: skip
def test_the_correlation_recursion_refuses_unsupported_nets_with_a_reason(matrix, architecture, reason):
    described = experiment(matrix, "coin", {"it": gd(0.1, **architecture)}, d=4, protocol="at-init")
    line = line_of_kind("correlation-recursion")
    findings = line.holds(described), line.binds(described.learners[0], described)
    assert reason in " ".join(finding.reason for finding in findings)
    assert not all(finding.holds for finding in findings)


@pytest.mark.slow
def test_the_finite_width_correction_binds_only_homogeneous_nets():
    described = net(width=16, activation="relu", cw=2.0)
    infinite = line_of_kind("layer-recursion").value(at(described))[0]
    finite = line_of_kind("layer-recursion-finite").value(at(described))[0]
    np.testing.assert_allclose(np.log(finite / infinite), -5 * np.arange(1, 4) / 32, rtol=1e-9)
    for words in ({"activation": "tanh"}, {"activation": "relu", "cb": 0.1}):
        other = net(width=16, **words)
        assert (
            "the line requires relu"
            in line_of_kind("layer-recursion-finite").binds(other.learners[0], other).reason
        )
    other = net(width=16, init="orthogonal")
    assert "Gaussian start" in line_of_kind("layer-recursion").binds(other.learners[0], other).reason


def test_a_line_with_a_value_only_at_the_start_is_reported():
    net = gd(0.1, kind="dense", widths=[4], activation="relu", cb=1.0)
    steps = {"kind": "steps", "steps": 2, "records": 2}
    described = experiment(
        learners={"net": net}, d=4, protocol=steps, replicas=2, measures=[{"kind": "regions"}]
    )
    trace = run(described)
    (line,) = (line for line in trace.lines if line.kind == "zaslavsky")
    assert np.isfinite(line.of_curves["net"].values).tolist() == [[True, False, False]]
    assert b"zaslavsky" in encode({}, of_one(described, trace), [])
