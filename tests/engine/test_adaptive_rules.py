"""Facts about adaptive, mirror-descent and mistake-driven rules that their formulas promise."""

import math

import numpy as np
import pytest
import torch
from building import beginning, experiment, gd, losses, needed, predictions, weights
from crossing import crossed

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.runtime.run import run
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict
from engine.updates import Diagonal, refused_loss

INVARIANT = 1e-6
EXACT = 1e-12
DIAGONAL = [kind for kind, member in catalogue.members("updates").items() if issubclass(member, Diagonal)]
NETS = [{"kind": "linear"}, {"kind": "dense", "widths": [6, 5], "activation": "tanh"}]


@pytest.mark.parametrize("rule", ["adagrad-full", "online-newton"])
def test_a_diverging_rate_does_not_affect_another_rate(rule):
    net = {"kind": "dense", "widths": [4, 4], "activation": "relu"}
    words = {"loss": "exponential", "d": 8}
    update = {"kind": rule, "lr": [0.01, 1e30]}
    both = run(experiment(learners={"it": {"architecture": net, "update": update}}, **words)).curves
    alone = run(experiment(learners={"it": {"architecture": net, "update": {**update, "lr": 0.01}}}, **words))
    assert both[1].diverged_at is not None
    np.testing.assert_allclose(both[0].mean("loss"), alone.curves[0].mean("loss"), rtol=1e-12)


def judged(update, matrix, batch, architecture="linear"):
    """Verdict and certificate of one learner on Hadamard, ±1 or Gaussian rows, d = 16."""
    described = experiment(
        matrix,
        learners={"it": {"update": update, "architecture": architecture}},
        d=16,
        seed=5,
        protocol={"kind": "one-pass", "batch": batch},
    )
    (learner,) = described.learners
    return verdict(learner, described).invariant, certificate(described, learner)


def test_the_catalogue_has_seven_diagonal_rules():
    assert DIAGONAL == ["adafactor", "adagrad", "adagrad-momentum", "adam", "lamb", "rmsprop", "sign"]


@crossed(kind=DIAGONAL, matrix=["hadamard", "rademacher"], architecture=NETS)
@pytest.mark.slow
def test_diagonal_rules_are_invariant_on_single_sign_examples_but_not_on_mini_batches(
    kind, matrix, architecture
):
    invariant, measured = judged(kind, matrix, 1, architecture)
    assert invariant == "on this data"
    assert measured < INVARIANT
    invariant, measured = judged(kind, matrix, 4, architecture)
    assert invariant is False
    assert measured > 1e3 * INVARIANT


@crossed(kind=DIAGONAL, matrix=["hadamard", "rademacher", "gaussian"], batch=[1, 4], architecture=NETS)
@pytest.mark.slow
def test_diagonal_rules_with_one_rate_per_unit_are_invariant_on_any_data(kind, matrix, batch, architecture):
    invariant, measured = judged({"kind": kind, "shared": True}, matrix, batch, architecture)
    assert invariant is True
    assert measured < INVARIANT


@pytest.mark.parametrize("architecture", NETS, ids=lambda net: net["kind"])
@pytest.mark.parametrize("kind", DIAGONAL)
@pytest.mark.slow
def test_sharing_a_rate_changes_losses_on_gaussian_rows_but_not_on_sign_rows(kind, architecture):
    learners = {
        "own": {"update": {"kind": kind}, "architecture": architecture},
        "shared": {"update": {"kind": kind, "shared": True}, "architecture": architecture},
    }
    for matrix, equal in (("hadamard", True), ("rademacher", True), ("gaussian", False)):
        measured = losses(experiment(matrix, learners=learners, d=16, seed=2))
        gap = abs(measured["own"] - measured["shared"]).max()
        assert gap < EXACT if equal else gap > 1e-4


TORCH = {
    "adagrad": (lambda w: torch.optim.Adagrad([w], lr=0.03, eps=0), {}),
    "rmsprop": (lambda w: torch.optim.RMSprop([w], lr=0.03, alpha=0.9, eps=0), {"memory": 0.9}),
    "adam": (
        lambda w: torch.optim.Adam([w], lr=0.03, betas=(0.7, 0.95), eps=0),
        {"beta1": 0.7, "beta2": 0.95},
    ),
}
"""Where the conventions coincide: ε = 0, since torch adds it to the root and we add it inside."""


@pytest.mark.parametrize("kind", TORCH)
@pytest.mark.slow
def test_diagonal_rules_equal_the_torch_optimizers_at_negligible_epsilon(kind):
    make, settings = TORCH[kind]
    rule = catalogue.make("updates", kind, lr=0.03, eps=1e-300, **settings)
    gradients = torch.from_numpy(np.random.default_rng(1).standard_normal((20, 2, 3, 5)))
    theirs = torch.ones(2, 3, 5, dtype=torch.float64, requires_grad=True)
    optimizer = make(theirs)
    ours, state = rule.start({"W1": torch.ones(2, 3, 5, dtype=torch.float64)})
    for g in gradients:
        theirs.grad = g.clone()
        optimizer.step()
        ours, state = rule.step(ours, {"W1": g}, {"W1": 0.03}, state)
        torch.testing.assert_close(ours["W1"], theirs.detach(), rtol=1e-12, atol=1e-12)


def test_adagrad_with_full_memory_and_no_momentum_is_adagrad():
    nested = {"kind": "adagrad-momentum", "lr": 0.03, "memory": 1.0, "momentum": 0.0}
    pair = experiment(
        "gaussian",
        learners={"plain": {"update": {"kind": "adagrad", "lr": 0.03}}, "nested": {"update": nested}},
        d=16,
    )
    measured = losses(pair)
    np.testing.assert_allclose(measured["nested"], measured["plain"], rtol=EXACT)


STEPS = {
    "online-newton": lambda lr, eps, d: lr * 2 * d / (eps + 4 * d),
    "adagrad-full": lambda lr, eps, d: lr * 2 * d / math.sqrt(eps + 4 * d),
}
"""Share a of the label of ±1 that a row predicts after one step from w = 0, where the gradient is −2 y x."""


@pytest.mark.parametrize("eps", [0.01, 5.0])
@pytest.mark.parametrize("kind", STEPS)
def test_second_order_rules_have_their_exact_loss_on_hadamard(kind, eps):
    """Orthogonal rows never mix: a seen row costs (1 − a)² and an unseen one 1."""
    d, lr = 16, 0.1
    learned_share = STEPS[kind](lr, eps, d)
    measured = losses(experiment(learners={"it": {"update": {"kind": kind, "lr": lr, "eps": eps}}}, d=d))
    k = np.arange(d + 1)
    np.testing.assert_allclose(measured["it"][:, 0], (k * (1 - learned_share) ** 2 + d - k) / d, rtol=1e-10)


def test_p_norm_with_p_2_is_gradient_descent():
    for net in NETS:
        pair = experiment(
            "gaussian",
            learners={
                "GD": {"update": {"kind": "gd", "lr": 0.01}, "architecture": net},
                "p": {"update": {"kind": "p-norm", "lr": 0.01, "p": 2.0}, "architecture": net},
            },
            d=16,
        )
        np.testing.assert_allclose(predictions(pair, 1), predictions(pair, 0), rtol=0, atol=EXACT)
        assert verdict(pair.learners[1], pair).invariant is True
        assert certificate(pair, pair.learners[1]) < INVARIANT


def test_the_two_p_norm_links_are_inverses():
    rule = catalogue.make("updates", "p-norm", p=7.0)
    w = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 2, 5)))
    for scale in (1e-6, 1.0, 1e6):
        back, _ = rule.step({"W": w}, {"W": 0 * w}, {"W": 1.0}, rule.start({"W": scale * w})[1])
        torch.testing.assert_close(back["W"], scale * w, rtol=1e-10, atol=0)


@pytest.mark.parametrize("kind", ["p-norm", "eg-pm", "private-rates"])
def test_multiplicative_rules_fall_below_the_rotation_invariant_bound_by_default(kind):
    measured = losses(experiment(learners={"it": {"update": kind}}, d=128, replicas=3, seed=4))["it"].mean(1)
    assert measured[32] < 0.05 < 1 - 32 / 128
    assert measured[64] < 0.05
    assert measured[128] < 0.05


def test_p_norm_goes_from_gd_to_eg_as_p_grows():
    settings = [(2.0, 1 / 256), (4.0, 1 / 128), (2 * math.log(128), 1 / 32)]
    learners = {f"{p:.1f}": {"update": {"kind": "p-norm", "p": p, "lr": lr}} for p, lr in settings}
    half = [curve[64, 0] for curve in losses(experiment(learners=learners, d=128)).values()]
    assert half[0] == pytest.approx(0.5)
    assert half[0] > half[1] > half[2]
    assert half[2] < 1e-3


def test_eg_pm_keeps_the_one_norm_below_the_total():
    for total in (0.5, 3.0):
        described = experiment(
            learners={"it": {"update": {"kind": "eg-pm", "lr": 0.3, "total": total}}}, d=16
        )
        norms = abs(weights(described)).sum(-1)
        assert norms[0, 0] == 0
        assert norms.max() <= total * (1 + EXACT)
        assert norms.max() > 0.4 * total


def test_private_rates_follow_egu_to_first_order():
    gaps, rates = [], [0.004, 0.002, 0.001]
    for lr in rates:
        pair = experiment(
            learners={
                "private": {"update": {"kind": "private-rates", "lr": lr}},
                "EGU": {"update": {"kind": "egu", "lr": lr}},
            },
            d=16,
        )
        gaps.append(abs(weights(pair, 0) - weights(pair, 1)).max())
        assert abs(weights(pair, 1)[-1] - 1 / 16).max() > 20 * gaps[-1], "they moved"
    np.testing.assert_allclose(np.diff(np.log(gaps)) / np.diff(np.log(rates)), 2, atol=0.1)


def test_agd_on_the_linear_neuron_starts_with_a_step_of_ln_2():
    """G = d^(−1/2) · 2 d^(1/2) = 2, so η = ln((1 + 3)/2), along y x/√d, times d^(−1/2)."""
    for kind in ("agd", "agd-layerwise"):
        described = experiment(learners={"it": {"update": kind}}, d=16)
        hypothesis, data = beginning(described)
        hypothesis.learn(data.instances.at(slice(0, 1)), data.labels[:, :1])
        x, y = data.instances.rows[0, 0], data.labels[0, 0]
        torch.testing.assert_close(hypothesis.weights()[0], math.log(2) * y * x / 16)


def test_agd_variants_coincide_on_one_layer_and_layerwise_differs_on_two():
    learners = {
        "agd": {"update": "agd"},
        "layerwise": {"update": "agd-layerwise"},
        "no momentum": {"update": {"kind": "agd-momentum", "momentum": 0.0}},
    }
    one_layer = losses(experiment("gaussian", learners=learners, d=16))
    for name in ("layerwise", "no momentum"):
        np.testing.assert_allclose(one_layer[name], one_layer["agd"], rtol=1e-10)
    for learner in learners.values():
        learner["architecture"] = {"kind": "dense", "widths": [6], "init": "orthogonal"}
    two_layers = losses(experiment("gaussian", learners=learners, d=16))
    np.testing.assert_allclose(two_layers["no momentum"], two_layers["agd"], rtol=1e-10)
    assert abs(two_layers["layerwise"] - two_layers["agd"]).max() > 1e-3


@crossed(
    kind=["agd", "agd-layerwise", "agd-momentum"],
    init=["gaussian", "zero", "orthogonal"],
    batch=[1, 4],
    matrix=["hadamard", "gaussian"],
)
def test_agd_is_rotation_invariant_on_fully_connected_nets(kind, init, batch, matrix):
    invariant, measured = judged(kind, matrix, batch, {"kind": "dense", "widths": [6, 5], "init": init})
    assert invariant is True
    assert measured < INVARIANT


def test_agd_does_not_move_without_a_gradient():
    rule, w = catalogue.make("updates", "agd"), torch.ones(2, 3, 4)
    for g in (torch.zeros_like(w), torch.stack([torch.zeros(3, 4), torch.ones(3, 4)])):
        new, _ = rule.step({"W1": w}, {"W1": g}, {"W1": 1.0}, {})
        assert torch.equal(new["W1"][0], w[0])
        assert torch.isfinite(new["W1"]).all()


def test_the_memory_estimate_counts_the_matrices_of_second_order_rules():
    def need(kind, architecture):
        learner = {"update": kind, "architecture": architecture}
        return needed(experiment(target="all", learners={"it": learner}, d=64))

    for kind in ("online-newton", "adagrad-full"):
        for net, squares in (("linear", 64**2), ({"kind": "dense", "widths": [100]}, 64**2 + 100**2)):
            assert need(kind, net) - need("gd", net) >= 3 * 8 * 64 * squares


MISTAKE_DRIVEN = ["perceptron", "winnow"]


@pytest.mark.parametrize("kind", MISTAKE_DRIVEN)
@pytest.mark.parametrize("loss", [loss for loss in catalogue.members("losses") if loss != "mistake"])
def test_mistake_driven_rules_accept_only_mistake_loss(kind, loss):
    reason = refused_loss(catalogue.make("updates", kind), catalogue.make("losses", loss))
    assert kind in reason
    assert loss in reason
    assert "mistake loss" in reason
    if loss == "square":
        with pytest.raises(BadInput, match=kind) as error:
            experiment(learners={"it": {"update": kind}}, loss=loss)
        assert error.value.where == "learners[0].update"


@pytest.mark.parametrize("matrix", ["hadamard", "rademacher", "gaussian"])
@pytest.mark.parametrize("kind", MISTAKE_DRIVEN)
def test_mistake_driven_rules_update_only_after_mistakes(kind, matrix):
    hypothesis, data = beginning(experiment(matrix, learners={"it": {"update": kind}}, d=32, seed=1))
    mistakes = 0
    for k in range(data.instances.n):
        before, now = hypothesis.weights(), slice(k, k + 1)
        margin = data.labels[0, k] * hypothesis.predict(data.instances)[0, k]
        hypothesis.learn(data.instances.at(now), data.labels[:, now])
        assert torch.equal(hypothesis.weights(), before) == bool(margin > 1e-7)
        mistakes += int(margin <= 1e-7)
    assert mistakes > 0


def mistakes_of(kind, d):
    hypothesis, data = beginning(experiment(learners={"it": {"update": kind}}, d=d, seed=3))
    count = 0
    for k in range(d):
        now = slice(k, k + 1)
        count += int(data.labels[0, k] * hypothesis.predict(data.instances)[0, k] <= 1e-7)
        hypothesis.learn(data.instances.at(now), data.labels[:, now])
    return count


def test_the_perceptron_makes_d_mistakes_on_hadamard_and_winnow_at_most_3_log_d():
    for d in (64, 128, 256):
        assert mistakes_of("perceptron", d) == d
        assert mistakes_of("winnow", d) <= 3 * math.log2(d)


def test_the_perceptron_rate_does_not_change_prediction_signs():
    learners = {f"{lr:g}": {"update": {"kind": "perceptron", "lr": lr}} for lr in (0.01, 1.0, 7.0)}
    described = experiment("gaussian", learners=learners, d=16, seed=8)
    signs = [np.sign(predictions(described, number)[1:]) for number in range(3)]
    np.testing.assert_array_equal(signs[0], signs[1])
    np.testing.assert_array_equal(signs[2], signs[1])


def test_gd_on_mistake_loss_is_the_perceptron():
    pair = experiment(
        "rademacher",
        learners={"GD": gd(1.0), "Perceptron": {"update": "perceptron"}},
        d=16,
        seed=8,
    )
    assert pair.protocol.loss == "mistake"
    np.testing.assert_array_equal(predictions(pair, 0), predictions(pair, 1))
