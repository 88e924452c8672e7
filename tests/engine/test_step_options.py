"""Step options of learners against naive loops, and their effect on symmetry."""

import math

import numpy as np
import pytest
import torch
from building import LLS, beginning, change_under, data_of, experiment, gd, raw
from looping import looped

from engine.backends import backends
from engine.core import catalogue
from engine.core.groups import UNCHANGED
from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.learners.learner import STEP_OPTIONS
from engine.runtime.run import run
from engine.spec import reading
from engine.symmetry.certificate import certificate
from engine.symmetry.verdict import verdict

D = 6
NET = {"architecture": {"kind": "dense", "widths": [5], "activation": "tanh"}, "update": gd(0.1)["update"]}
MADE = {"kind": "steps", "steps": 12, "records": 12}

SCHEDULES = {
    "constant": ({"kind": "constant"}, lambda t: 1.0),
    "linear": ({"kind": "linear", "steps": 8}, lambda t: 1 - t / 8 if t < 8 else 0.0),
    "cosine": ({"kind": "cosine", "steps": 8}, lambda t: (1 + math.cos(math.pi * t / 8)) / 2 if t < 8 else 0),
    "exponential": ({"kind": "exponential", "factor_per_step": 0.9}, lambda t: 0.9**t),
    "step": ({"kind": "step", "factor_per_stage": 0.5, "every": 3}, lambda t: 0.5 ** (t // 3)),
    "warm-up": (
        {"kind": "linear", "steps": 10, "warm_up": 4},
        lambda t: max(0, 1 - t / 10) * ((t + 1) / 4 if t < 4 else 1),
    ),
}


def described(learner, **words):
    words = {"matrix": "gaussian", "d": D, "seed": 3, "protocol": MADE, **words}
    return experiment(learners={"it": learner}, **words)


def curve(learner, **words):
    return run(described(learner, **words)).curves[0]


def by_hand(setup, step, replica=0):
    """The weights of a linear neuron along its steps; `step` makes new ones of w, the gradient and t."""
    data = data_of(setup)
    x, y = data.instances.rows[replica].numpy(), data.labels[replica].numpy()
    w = np.zeros(x.shape[1])
    weights = [w]
    for t in range(12):
        w = step(w, 2 * x.T @ (x @ w - y) / len(x), t)
        weights.append(w)
    return np.stack(weights)


@pytest.mark.parametrize("schedule_name", SCHEDULES)
def test_a_schedule_multiplies_the_rate(schedule_name):
    schedule, factor = SCHEDULES[schedule_name]
    learner = {**gd([0.02, 0.1]), "schedule": schedule}
    setup = described(learner)
    for curve_at_rate, lr in zip(run(setup).curves, (0.02, 0.1), strict=True):
        expected = by_hand(setup, lambda w, g, t, lr=lr: w - lr * factor(t) * g)
        np.testing.assert_allclose(curve_at_rate.weights, expected, rtol=0, atol=1e-12)
        times = [lr * math.fsum(factor(t) for t in range(step)) for step in range(13)]
        np.testing.assert_allclose(curve_at_rate.clocks["time"], times, rtol=1e-12)


def test_step_options_may_be_expressions_of_axes_and_sizes():
    options = {"clip": {"norm": "1/d"}, "noise": {"sigma": "T/d"}, "decay": {"rate": "T"}}
    written = {**gd(0.1), "schedule": {"kind": "linear", "steps": "2d + T"}, **options}
    (learner,) = reading.parse(raw("gaussian", learners={"it": written}, d=D), {"T": 3.0}).learners
    assert (learner.schedule.steps, learner.clip.norm) == (15, 1 / D)
    assert (learner.noise.sigma, learner.decay.rate) == (0.5, 3)
    assert learner.schedule == type(learner.schedule)(steps=15.0)


def test_gradients_are_clipped_by_value_or_norm():
    clipped_curve = curve({**gd(0.1), "clip": {"value": 0.3}})
    expected = by_hand(described(gd(0.1)), lambda w, g, t: w - 0.1 * np.clip(g, -0.3, 0.3))
    np.testing.assert_allclose(clipped_curve.weights, expected, rtol=0, atol=1e-12)
    clipped_curve = curve({**gd(0.1), "clip": {"norm": 0.5}})
    lengths = []

    def shortened(w, g, t):
        lengths.append(np.linalg.norm(g))
        return w - 0.1 * g * min(1, 0.5 / lengths[-1])

    np.testing.assert_allclose(
        clipped_curve.weights, by_hand(described(gd(0.1)), shortened), rtol=0, atol=1e-12
    )
    assert max(lengths) > 0.5


def test_the_clipped_norm_covers_all_layers_of_each_net():
    words = {"replicas": 2, "target": "all", "protocol": {"kind": "one-pass", "batch": 3}}
    plain, data = beginning(described({**NET, "update": gd(1.0)["update"]}, **words))
    clipped, _ = beginning(described({**NET, "update": gd(1.0)["update"], "clip": {"norm": 3.0}}, **words))
    start = {tensor_name: w.clone() for tensor_name, w in plain.params.items()}
    for hypothesis in (plain, clipped):
        hypothesis.learn(data.instances, data.labels)
    gradient, moved = (
        {tensor_name: start[tensor_name] - w for tensor_name, w in hypothesis.params.items()}
        for hypothesis in (plain, clipped)
    )
    lengths = sum(g.flatten(1).square().sum(1) for g in gradient.values()).sqrt()
    assert lengths.min() < 3.0 < lengths.max()
    for tensor_name, g in gradient.items():
        expected = g / lengths.clamp(min=3.0).view(-1, 1, 1) * 3.0
        np.testing.assert_allclose(moved[tensor_name], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", ["1", "2"])
def test_weight_decay_is_multiplied_by_the_step_rate(p):
    decayed_curve = curve(
        {**gd(0.1), "decay": {"rate": 0.3, "p": p}, "schedule": {"kind": "linear", "steps": 9}}
    )

    def step(w, g, t):
        rate = 0.1 * max(0, 1 - t / 9)
        return w - rate * 0.3 * (w if p == "2" else np.sign(w)) - rate * g

    np.testing.assert_allclose(decayed_curve.weights, by_hand(described(gd(0.1)), step), rtol=0, atol=1e-12)


@pytest.mark.parametrize("on", ["gradient", "weights"])
def test_noise_is_drawn_per_replica_and_only_gradient_noise_scales_with_the_rate(on):
    setup = described({**gd([0.02, 0.1]), "noise": {"sigma": 0.05, "on": on}}, replicas=2)
    data, curves = data_of(setup), run(setup).curves
    for replica in range(2):
        draws = Streams([3 + replica])("steps").normal
        noise = [draws(D)[0] for _ in range(12)]
        x, y = data.instances.rows[replica].numpy(), data.labels[replica].numpy()
        for curve_at_rate, lr in zip(curves, (0.02, 0.1), strict=True):
            size = 0.05 * (lr if on == "gradient" else -1)
            weights = by_hand(
                setup, lambda w, g, t, lr=lr, size=size, noise=noise: w - lr * g - size * noise[t], replica
            )
            losses = np.mean((weights @ x.T - y) ** 2, 1)
            np.testing.assert_allclose(curve_at_rate.values("loss")[:, replica], losses, rtol=1e-10)


def test_weight_noise_has_mean_0_and_standard_deviation_sigma():
    """Without a gradient its mean is 0 and its standard deviation σ, within 4.5 standard errors."""
    words = {"noise": {"sigma": 0.2, "on": "weights"}, "layer_rates": {"W1": 0.0}}
    setup = described({**NET, **words, "architecture": {"kind": "dense", "widths": [400]}},
                     protocol={**MADE, "steps": 1, "records": 1})  # fmt: skip
    hypothesis, data = beginning(setup)
    before = hypothesis.params["W1"].clone()
    hypothesis.learn(data.instances, data.labels)
    sample = (hypothesis.params["W1"] - before).numpy().flatten() / 0.2
    assert abs(sample.mean()) < 4.5 / math.sqrt(len(sample))
    assert abs(sample.std() - 1) < 4.5 / math.sqrt(2 * len(sample))


ALL = {"schedule": {"kind": "cosine", "steps": 20}, "clip": {"norm": 2.0}, "noise": {"sigma": 0.05},
       "decay": {"rate": 0.1}}  # fmt: skip


@pytest.mark.parametrize("learner", [NET, {"update": "adam"}, {"update": "hypentropy"}])
def test_results_do_not_depend_on_chunks_or_other_replicas_and_targets(learner):
    options = {name: ALL[name] for name in ALL if learner["update"] != "hypentropy" or name != "decay"}
    words = {"replicas": 2, "target": "all", "d": 3}
    setup = described({**learner, **options}, **words)
    undivided = run(setup).curves[0]
    for at_once in (1, 5):
        divided = run(setup, gate=lambda at_once=at_once: at_once).curves[0]
        assert np.array_equal(divided.values("loss"), undivided.values("loss"))
    for replica in range(2):
        target_curves = [
            curve({**learner, **options}, target={"kind": "feature", "index": index}, d=3, seed=3 + replica)
            for index in range(3)
        ]
        expected = np.mean([target_curve.mean("loss") for target_curve in target_curves], 0)
        np.testing.assert_allclose(undivided.values("loss")[:, replica], expected, rtol=1e-10)


@looped("rule", catalogue.members("updates"))
def test_rules_declare_whether_their_weights_depend_only_on_their_state(rule):
    update_rule = catalogue.make("updates", rule)
    draw = torch.Generator().manual_seed(0)
    params, gradients, moves = (
        {"w": torch.rand(1, D, generator=draw, dtype=torch.float64) + 0.5} for _ in range(3)
    )
    params, state = update_rule.start(params)
    rates = {"w": 0.01}
    stepped, _ = update_rule.step(params, gradients, rates, state)
    stepped_elsewhere, _ = update_rule.step({"w": params["w"] + moves["w"]}, gradients, rates, state)
    assert torch.equal(stepped["w"], stepped_elsewhere["w"]) == update_rule.structure().weights_of_state


KEEPING = [
    *({"schedule": schedule} for schedule, _ in SCHEDULES.values()),
    {"layer_rates": {"W1": 0.1}},
    {"decay": {"rate": 0.5}},
    {"clip": {"norm": 0.1}},
    {"noise": {"sigma": 0.05}},
    {"noise": {"sigma": 0.05, "on": "weights"}},
]
BREAKING = [{"clip": {"value": 0.02}}, {"decay": {"rate": 0.5, "p": "1"}}]


@pytest.mark.parametrize("options", [*KEEPING, *BREAKING])
@pytest.mark.parametrize("rule", ["gd", "adam"])
@pytest.mark.slow
def test_the_certificate_agrees_with_the_verdict_about_step_options(rule, options):
    setup = described({**NET, "update": {"kind": rule, "lr": 0.1}, **options})
    (learner,) = setup.learners
    judged = verdict(learner, setup)
    is_invariant = rule == "gd" and options in KEEPING
    assert (judged.invariant is not False) == is_invariant
    change = certificate(setup, learner)
    assert change < UNCHANGED if is_invariant else change > 1e-3
    swap, flip = np.eye(D)[[1, 0, *range(2, D)]], np.diag([-1.0, *[1.0] * (D - 1)])
    for transformation, inside in ((swap, judged.group.permutations), (flip, judged.group.signs)):
        assert inside or is_invariant
        assert change_under(setup, learner, transformation) < UNCHANGED


def test_noise_breaks_the_invariance_of_adagrad_on_signs():
    learner = {"architecture": NET["architecture"], "update": "adagrad"}
    for options, is_invariant in (
        ({}, True),
        ({"noise": {"sigma": 0.1}}, False),
        ({"clip": {"norm": 0.1}}, True),
    ):
        setup = described({**learner, **options}, matrix="rademacher", protocol="one-pass")
        assert (verdict(setup.learners[0], setup).invariant is not False) == is_invariant
        change = certificate(setup, setup.learners[0])
        assert change < UNCHANGED if is_invariant else change > 1e-3


@pytest.mark.parametrize("option", STEP_OPTIONS)
def test_fast_backends_refuse_learners_with_step_options(option):
    words = {"matrix": "hadamard", "d": 64, "protocol": "one-pass"}
    learner = {**gd(1 / 128), option: ALL[option]}
    for path in [backend_name for backend_name, backend in backends().items() if not backend.needs.matrix]:
        with pytest.raises(BadInput) as caught:
            run(described(learner, **words, path=path))
        assert caught.value.where == "run.path"
    plain, with_option = curve(gd(1 / 128), **words), curve(learner, **words)
    assert abs(plain.mean("loss") - with_option.mean("loss")).max() > 1e-4
    egu = {"update": {"kind": "egu", "lr": 0.05}}
    with pytest.raises(BadInput):
        run(described({**egu, option: ALL[option]}, **words, path="compiled"))


def test_lines_do_not_bind_learners_with_step_options_that_break_them():
    def bound(kind, learner, **words):
        setup = described(learner, **words)
        return catalogue.make("theory", kind).binds(setup.learners[0], setup).holds

    schedule = {"schedule": ALL["schedule"]}
    assert bound("two-over-eta", NET)
    assert not bound("two-over-eta", {**NET, **schedule})
    words = {"matrix": "hadamard", "target": "all", "d": 8, "protocol": "one-pass"}
    assert bound("svd", gd(0.1), **words)
    assert bound("svd", {**gd(0.1), **schedule}, **words)
    assert not bound("svd", {**gd(0.1), "noise": {"sigma": 0.1}}, **words)
    assert bound("ri-signed", {**gd(0.1), "noise": {"sigma": 0.1}}, **words)
    assert not bound("ri-signed", {**gd(0.1), "clip": {"value": 0.1}}, **words)


@pytest.mark.parametrize(
    ("learner", "where", "words"),
    [
        ({**LLS, "noise": {"sigma": 0.1}}, "learners[0].noise", "update rule"),
        ({"update": "eg", "architecture": "linear", "decay": {"rate": 0.1}}, "learners[0].decay", "state"),
        ({"update": "hypentropy", "noise": {"sigma": 0.1, "on": "weights"}}, "learners[0].noise", "state"),
        ({**gd(0.1), "clip": {}}, "learners[0].clip", "one of `norm` and `value`"),
        ({**gd(0.1), "clip": {"norm": 1, "value": 1}}, "learners[0].clip", "one of `norm` and `value`"),
        ({**gd(0.1), "clip": {"norm": 0}}, "learners[0].clip.norm", "0"),
        ({**gd(0.1), "schedule": {"kind": "linear"}}, "learners[0].schedule.steps", "missing"),
        ({**gd(0.1), "schedule": {"kind": "linea"}}, "learners[0].schedule.kind", "linear"),
        ({**gd(0.1), "schedule": "cosine"}, "learners[0].schedule.steps", "missing"),
        ({**gd(0.1), "schedule": {"kind": "exponential", "factor_per_step": 2}},
         "learners[0].schedule.factor_per_step", "1"),
        ({**gd(0.1), "noise": {"sigma": -1}}, "learners[0].noise.sigma", "0"),
    ],
)  # fmt: skip
def test_invalid_options_are_refused_with_place_and_remedy(learner, where, words):
    with pytest.raises(BadInput) as caught:
        reading.parse(raw("gaussian", learners={"it": learner}, d=D))
    assert caught.value.where.startswith(where)
    assert words in caught.value.fault
