"""The L2 penalty of nets in gradients, Hessians and verdicts, against identities and torch."""

import numpy as np
import pytest
import torch
from building import beginning, experiment, gd, raw, weights
from test_outputs import CLASSES, STEPS, described, net, objective

from engine.core.groups import UNCHANGED
from engine.hypotheses import curvature
from engine.protocols import erm
from engine.runtime.run import run
from engine.spec import reading
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict

LAMBDA = 0.3
EXACT = 1e-12


def penalised(tensors, x, labels, loss):
    return objective(tensors, x, labels, loss)[1] + LAMBDA / 2 * sum(
        tensor.square().sum() for tensor in tensors.values()
    )


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_training_includes_the_penalty_and_the_measured_loss_does_not(loss):
    setup = described(net(l2_penalty=LAMBDA, cb=0.2), ["gradient-norm"], loss=loss)
    curve = run(setup).curves[0]
    hypothesis, data = beginning(setup)
    for replica in range(2):
        labels, x = data.labels.view(2, 3, -1)[replica], data.instances.rows[replica]
        tensors = {tensor_name: tensor[replica].clone() for tensor_name, tensor in hypothesis.params.items()}
        for record in range(4):
            leaves = {tensor_name: tensor.requires_grad_() for tensor_name, tensor in tensors.items()}
            with torch.enable_grad():
                cost = penalised(leaves, x[:6], labels[:, :6], loss)
                gradients = torch.autograd.grad(cost, list(leaves.values()))
            unpenalised = objective(tensors, x, labels, loss)[1].item() / (3 if loss == "square" else 1)
            assert curve.values("loss")[record, replica] == pytest.approx(unpenalised, rel=EXACT)
            length = float(torch.cat([gradient.flatten() for gradient in gradients]).norm())
            assert curve.values("gradient-norm")[record, replica] == pytest.approx(length, rel=EXACT)
            tensors = {
                tensor_name: (leaf - 0.1 * gradient).detach()
                for (tensor_name, leaf), gradient in zip(leaves.items(), gradients, strict=True)
            }


@pytest.mark.parametrize("exact", [True, False])
def test_a_penalty_adds_itself_to_every_eigenvalue_of_the_hessian(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(curvature, "EXACT", 0)
        monkeypatch.setattr(curvature, "TOLERANCE", 1e-10)
    words = {"protocol": "at-init"}
    plain, more = (
        run(described(net(l2_penalty=penalty), ["sharpness"], **words)).curves[0].values("sharpness")
        for penalty in (0.0, LAMBDA)
    )
    np.testing.assert_allclose(more, plain + LAMBDA, rtol=1e-9)


def test_weights_without_loss_gradient_decay_by_one_minus_eta_lambda():
    """All inputs of the first layer are 0 on the only example, so its gradient is that of the penalty."""
    linear = {"kind": "dense", "widths": [3], "l2_penalty": LAMBDA}
    described = experiment("gaussian", learners={"it": gd(0.1, **linear)}, d=4, seed=2)
    hypothesis, data = beginning(described)
    nothing = data.instances.rows[:, :1] * 0
    before = hypothesis.params["W1"].clone()
    for _ in range(5):
        hypothesis.learn(type(data.instances)(nothing, False), data.labels[:, :1])
    torch.testing.assert_close(hypothesis.params["W1"], (1 - 0.1 * LAMBDA) ** 5 * before, rtol=EXACT, atol=0)


def test_a_penalty_of_zero_changes_nothing():
    plain, zero = (
        weights(experiment("gaussian", learners={"it": gd(0.05, kind="dense", widths=[3], **words)}, d=4))
        for words in ({}, {"l2_penalty": 0.0})
    )
    assert plain.tobytes() == zero.tobytes()


@pytest.mark.parametrize("protocol", ["one-pass", {"kind": "erm", "steps": 20}])
def test_weights_of_unseen_inputs_decay_on_every_backend(protocol, monkeypatch):
    """On axes in place of orthogonal rows, where training omits weights without a gradient."""
    monkeypatch.setattr(erm, "NUMBERS", 1)
    learner = gd(0.05, kind="dense", widths=[4], l2_penalty=LAMBDA)
    dense, structured = (
        run(experiment(d=8, learners={"it": learner}, protocol=protocol, path=path)).curves[0]
        for path in ("dense", "structured")
    )
    np.testing.assert_allclose(structured.mean("loss"), dense.mean("loss"), rtol=1e-9)


@pytest.mark.parametrize(
    ("update", "penalty", "invariant"),
    [
        ("gd", LAMBDA, True),
        ("agd", LAMBDA, True),
        ("adagrad", 0.0, "on this data"),
        ("adagrad", LAMBDA, False),
    ],
)
def test_the_certificate_agrees_with_the_verdict_on_a_penalised_net(update, penalty, invariant):
    words = {"kind": "dense", "widths": [4], "l2_penalty": penalty}
    learner = {"architecture": words, "update": {"kind": update}}
    setup = experiment(d=8, learners={"it": learner})
    assert verdict(setup.learners[0], setup).invariant == invariant
    assert (certificate(setup, setup.learners[0]) < UNCHANGED) is (invariant is not False)


def test_start_sharpness_units_include_the_penalty():
    words = raw(learners={"it": net(lr=1.0, l2_penalty=LAMBDA)}, **CLASSES, protocol=STEPS)
    words["learners"][0]["rate_unit"] = "start-sharpness"
    setup = reading.parse(words)
    with_penalty = run(described(net(l2_penalty=LAMBDA), ["sharpness"], protocol="at-init", replicas=1))
    hypothesis, _ = beginning(setup)
    sharpness = with_penalty.curves[0].values("sharpness")[0, 0]
    assert float(hypothesis.rates["W1"]) == pytest.approx(1 / sharpness, rel=1e-9)


def test_the_two_layer_bound_does_not_bind_penalised_nets():
    learners = {
        name: gd(0.05, kind="dense", widths=[4], l2_penalty=penalty)
        for name, penalty in (("with", LAMBDA), ("without", 0.0))
    }
    trace = run(experiment(target="doubled", d=8, learners=learners))
    (line,) = [line for line in trace.lines if line.kind == "svd-two-layer"]
    assert line.applies_to == ["without"]
