"""Every update rule on every architecture against its naive twin in naive.py, over a whole pass."""

from inspect import signature

import crossing
import naive
import numpy as np
import pytest
import torch
from building import beginning, begun, data_of, experiment, losses, part
from crossing import covering, crossed
from discovery import (
    EVERY,
    EVERY_GENTLE,
    asked,
    crossed_groups,
    loss_of,
    name_of,
    problem_for,
    refusal,
    shape_traits,
    variants,
)

from engine.core import catalogue
from engine.core.activations import KINKED
from engine.core.streams import Streams
from engine.problems.instances import DenseInstances

NEAR = 1e-9

ELEMENTWISE = [kind for kind in asked("losses") if not catalogue.make("losses", kind).joint]
"""Losses of one target; test_outputs.py has the others."""

SETTINGS = {
    "gd": [{"lr": 0.01}],
    "momentum": [{"lr": 0.004}, {"lr": 0.004, "momentum": 0.5}, {"lr": 0.01, "momentum": 0.0}],
    "egu": [{"lr": 0.02}, {"lr": 0.02, "w0": 0.3}],
    "eg": [{"lr": 0.02}, {"lr": 0.02, "total": 1.5}],
    "hedge": [{"beta": 0.97}, {"beta": 0.9}],
    "adaboost": [{"vote": 0.02}, {}],
    "egu-pm": [{"lr": 0.01}, {"lr": 0.01, "w0": 0.2}],
    "hypentropy": [{"lr": 0.01}, {"lr": 0.01, "beta": 0.7}],
    "eg-pm": [{"lr": 0.02}, {"lr": 0.02, "total": 1.5}],
    "sgd": [{"lr": 0.01, "batch": 4}],
    "p-norm": [{"lr": 0.001}, {"lr": 0.01, "p": 2.0}, {"lr": 0.003, "p": 3.5}],
    "private-rates": [{"lr": 0.02}, {"lr": 0.02, "w0": 0.3}],
    "winnow": [{"lr": 0.5}, {"lr": 0.1, "w0": 0.3}],
    "perceptron": [{"lr": 1.0}, {"lr": 0.1}],
    "adagrad": [{"lr": 0.01}, {"lr": 0.01, "eps": 0.5}],
    "adagrad-full": [{"lr": 0.01}, {"lr": 0.01, "eps": 0.5}],
    "adagrad-momentum": [{"lr": 0.003}, {"lr": 0.003, "momentum": 0.5, "memory": 0.7, "eps": 0.1}],
    "rmsprop": [{"lr": 0.003}, {"lr": 0.003, "memory": 0.7, "eps": 0.1}],
    "adam": [{"lr": 0.003}, {"lr": 0.003, "beta1": 0.6, "beta2": 0.8, "eps": 0.1}],
    "online-newton": [{"lr": 0.1}, {"lr": 0.1, "eps": 0.01}],
    "agd": [
        {},
        {"loss_scale": 0.25},
        {"loss_scale": 0.5, "l2_penalty": 3.0},
        {"loss_scale": 0.5, "l2_penalty": 3.0, "exact": True},
    ],
    "agd-layerwise": [{}, {"loss_scale": 0.25}],
    "agd-momentum": [{}, {"momentum": 0.5, "loss_scale": 0.25}, {"plain_size": True}],
    "torch": [{"lr": 0.003}],
    "lion": [{"lr": 0.003}, {"lr": 0.003, "beta1": 0.5, "beta2": 0.8}],
    "lars": [{"lr": 0.003}, {"lr": 0.003, "momentum": 0.5}],
    "lamb": [{"lr": 0.003}, {"lr": 0.003, "beta1": 0.6, "beta2": 0.8, "eps": 0.1}],
    "adam-mini": [{"lr": 0.003}, {"lr": 0.003, "per": "tensor", "beta1": 0.6, "beta2": 0.8}],
    "adafactor": [{"lr": 0.003}, {"lr": 0.003, "memory": 0.5, "eps": 0.1}],
    "muon": [{"lr": 0.01}, {"lr": 0.01, "hidden": True}, {"lr": 0.01, "momentum": 0.5}],
    "shampoo": [
        {"lr": 0.01},
        {"lr": 0.01, "factors": "left"},
        {"lr": 0.01, "grafting": "sgd"},
        {"lr": 0.003, "grafting": "adam", "block": 3},
        {"lr": 0.003, "block": 2},
    ],
    "soap": [{"lr": 0.003}, {"lr": 0.003, "beta1": 0.5, "beta2": 0.8, "eps": 0.1}],
    "kfac": [{"lr": 0.01}, {"lr": 0.01, "memory": 0.5, "damping": 0.5}],
    "sophia": [{"lr": 0.003}, {"lr": 0.003, "beta1": 0.5, "beta2": 0.8, "gamma": 1.0, "delta": 0.1}],
}
"""Hyperparameters to try; a rule that is not here is tried with a rate of 0.01."""

NETS = {
    "linear": [{}],
    "spindly": [{}, {"signed": True}, {"depth": 3}, {"depth": 3, "signed": True}, {"depth": 4, "w0": 0.2}],
    "dense": [
        *({"activation": activation, "widths": [5], "scale": 0.8} for activation in naive.TRANSFERS),
        *({"activation": activation, "widths": [4, 3]} for activation in naive.TRANSFERS),
        *(
            {"init": init, "widths": [9, 4], "scale": 0.6}
            for init in ("zero", "orthogonal", "identity", "diagonal")
        ),
        {"widths": [5], "biases": True},
        {"depth": 2, "width": 4, "cw": 1.5, "cb": [0.0, 0.2, 0.5], "activation": "tanh"},
        {"widths": [5, 3], "parametrisation": "ntk", "cw": [8.0, 1.0, 2.0]},
        {"widths": [5, 3], "parametrisation": "ntk", "scale": 1.5, "cb": 0.3, "activation": "tanh"},
        {"widths": [6], "parametrisation": "mean-field"},
        {"widths": [6], "parametrisation": "mean-field", "cb": 0.3, "activation": "tanh"},
        {"widths": [6, 4], "parametrisation": "mup", "init": "orthogonal"},
        {"widths": [6, 4], "parametrisation": "mup", "cw": 2.0, "cb": 0.3, "activation": "tanh"},
    ],
    "normalised": [
        *({"of": of, "activation": "tanh", "widths": [5], "scale": 0.8} for of in ("features", "instances")),
        {"of": "instances", "widths": [4, 3]},
    ],
    "linearised": [
        {"activation": "tanh", "widths": [5], "scale": 0.8},
        {"activation": "softplus", "widths": [4, 3], "cb": 0.3},
        {"activation": "tanh", "widths": [5], "parametrisation": "ntk", "cw": [4.0, 1.0]},
    ],
    "neuron": [
        *({"activation": activation, "init": "gaussian"} for activation in naive.TRANSFERS),
        *({"activation": activation} for activation in naive.TRANSFERS if activation not in KINKED),
    ],
    "two-weight": [{}, {"init": "equal"}, {"w0": 0.2}],
    "identity-spindly": [{}, {"signed": True}, {"depth": 3}],
    "dense-spindly": [
        {},
        {"signed": True, "width": 5},
        {"depth": 3, "width": 11, "scale": 0.5, "w0": 0.2},
        {"init": "identity", "signed": True, "depth": 3},
    ],
    "sparse-input": [
        *({"activation": activation, "width": 6, "connectivity": 3} for activation in naive.TRANSFERS),
        *({"width": 7, "connectivity": c, "scale": 0.8} for c in (1, 2, 7, 8, 9)),
    ],
    "conv": [{"scale": 0.7}, {"init": "identity"}, {"depth": 3, "scale": 0.7}, {"depth": 5, "scale": 0.7}],
}
"""Shapes to try of each architecture; one that is not here is tried as it is."""


SHORT = {
    "dense": [
        {"widths": [4, 3], "activation": "tanh"},
        {"widths": [9, 4], "init": "zero"},
        {"widths": [4, 3], "activation": "tanh", "cb": 0.2},
    ],
    "spindly": [{"depth": 3, "signed": True}],
    "neuron": [{}],
    "normalised": [{"activation": "tanh", "widths": [5]}],
    "linearised": [{"activation": "tanh", "widths": [5]}],
    "sparse-input": [{"width": 6, "connectivity": 3, "activation": "tanh"}],
    "dense-spindly": [{"width": 5, "signed": True}],
}
"""The shapes that are enough for a rule that is not gd."""


WHILE_WORKING = ("adam", "egu", "gd", "hypentropy")
"""Rules that are compared with their twins by the quick tests, too."""


def cases():
    """Groups of learners of one rule and loss that cover pairs of rules, settings, architectures and losses.

    Losses do not depend on shapes, so each is tried with one shape.
    """
    groups = {}
    all_cases, traits = zip(*_cases(), strict=True)
    shapes = [(update["kind"], name_of(architecture)) for update, architecture, _ in all_cases]
    first = [number for number, shape in enumerate(shapes) if shape not in shapes[:number]]
    numbers = range(len(all_cases)) if crossing.all_combinations else sorted({*covering(traits), *first})
    for update, architecture, loss in (all_cases[number] for number in numbers):
        learner = {"update": update, "architecture": architecture}
        groups.setdefault((update["kind"], loss), []).append(learner)
    return [
        pytest.param(
            group, loss, id=f"{rule} {loss}", marks=() if rule in WHILE_WORKING else pytest.mark.slow
        )
        for (rule, loss), group in groups.items()
    ]


def _cases():
    """Cases of gd with all shapes and losses, to test gradients, and of other rules with few of both."""
    for update in asked("updates"):
        for number, settings in enumerate(SETTINGS.get(update, [{"lr": 0.01}])):
            words = {"kind": update, **settings}
            losses = ELEMENTWISE if update == "gd" else [loss_of({"update": words})]
            for kind in asked("architectures"):
                shapes = NETS.get(kind, [{}])
                for shape in shapes if update == "gd" else SHORT.get(kind, shapes[:1]):
                    architecture = {"kind": kind, **shape}
                    if refusal(update, architecture) is None:
                        for loss in losses:
                            traits = {"rule": update, "settings": number, "loss": loss}
                            traits |= {"architecture": kind}
                            yield (words, architecture, loss), traits


def twin(kind, family, twins):
    assert kind in twins, f"{family} {kind!r} has no naive twin yet: write one in tests/engine/naive.py"
    return twins[kind]


@pytest.mark.parametrize(("learners", "loss"), cases())
def test_a_pass_matches_the_naive_twin(learners, loss):
    described = experiment(
        {"kind": "gaussian", "n": 5} if loss == "square" else problem_for(loss)["matrix"],
        {"kind": "feature", "index": 1},
        {str(number): learner for number, learner in enumerate(learners)},
        d=8,
        loss=loss,
        seed=11,
    )
    data, measured = data_of(described), losses(described)
    for number, learner in enumerate(learners):
        hypothesis = begun(described, number, data)
        assert_a_pass_of_the_twin(hypothesis, data, measured[str(number)][:, 0], learner, loss)


def assert_a_pass_of_the_twin(hypothesis, data, measured, learner, loss):
    """Check that losses and parameters of a learner after a pass equal those of its naive twin."""
    update, architecture = learner["update"], learner["architecture"]
    X, y = data.instances.rows[0].numpy(), data.labels[0].numpy()
    settings = {name: value for name, value in update.items() if name != "kind"}
    parts = catalogue.make("architectures", **architecture)
    fixed = {name: value[0] for name, value in parts.start(Streams([11])("init"), 8).items()}
    start = {layer_name: fixed.pop(layer_name) for layer_name in parts.layers}
    rule = twin(update["kind"], "the update", naive.RULES)
    plain = twin(architecture["kind"], "the architecture", naive.ARCHITECTURES)
    takes = signature(plain).parameters
    net = plain(**{name: value for name, value in architecture.items() if name in takes})
    fixed |= net.fitted(X) if hasattr(net, "fitted") else {}
    factors = net.rates(start) if hasattr(net, "rates") else {}
    rules = {}
    for tensor_name, value in start.items():
        rate = {"lr": settings["lr"] * factors.get(tensor_name, 1.0)} if "lr" in settings else {}
        rules[tensor_name] = rule(value, **{**settings, **rate})
    twin(loss, "the loss", naive.LOSSES)

    near = {"rtol": NEAR, "atol": NEAR, "err_msg": f"{name_of(update)} {name_of(architecture)}"}
    expected, ending = naive.one_pass(net, rules, X, y, loss, fixed)
    np.testing.assert_allclose(measured, expected, **near)
    for k in range(data.instances.n):
        hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
    for tensor_name, value in hypothesis.params.items():
        np.testing.assert_allclose(value[0].numpy(), ending[tensor_name], **near)
    moved = max(abs(ending[tensor_name] - value).max() for tensor_name, value in start.items())
    assert moved > 1e-4, f"{near['err_msg']} moved"


ARCHITECTURES = {
    name_of(words): words
    for member in catalogue.members("architectures").values()
    for words in variants(member)
}
SHAPES_OF_ALL = {name: shape_traits(words, "architecture") for name, words in ARCHITECTURES.items()}


PLACES = 20 if crossing.all_combinations else 8
"""Of every tensor, in which the loss is differentiated numerically."""


@pytest.mark.slow
@crossed(layer_name=SHAPES_OF_ALL, loss=ELEMENTWISE)
def test_gradients_match_central_differences(layer_name, loss):
    """Over a batch of 2 replicas × 3 targets and all rows at once; relu is far from its kink at this seed."""
    size, architecture = 1e-6, catalogue.make("architectures", **ARCHITECTURES[layer_name])
    described = experiment(d=8, target="all", learners={"it": {"update": "gd"}}, replicas=2, seed=3)
    data, rule = data_of(described), catalogue.make("losses", loss)
    start = {
        name: torch.from_numpy(value).repeat_interleave(data.targets, 0)
        for name, value in architecture.start(Streams([0, 1])("init"), 8).items()
    }
    random = np.random.default_rng(5)
    nudge = {name: torch.from_numpy(random.standard_normal(value.shape)) for name, value in start.items()}
    params = {
        **start,
        **{layer_name: start[layer_name] + 0.1 * nudge[layer_name] for layer_name in architecture.layers},
    }

    def total(moved):
        return rule.value(architecture.predict(moved, data.instances), data.labels).sum(1)

    def slope(predicted):
        return rule.slope(predicted, data.labels)

    gradients = architecture.gradient(params, data.instances, slope)
    assert tuple(gradients) == architecture.layers
    for layer_name in architecture.layers:
        value = params[layer_name]
        count = value[0].numel()
        for flat in random.choice(count, min(PLACES, count), replace=False):
            step = torch.zeros_like(value).view(len(value), -1)
            step[:, flat] = size
            up = {**params, layer_name: value + step.view_as(value)}
            down = {**params, layer_name: value - step.view_as(value)}
            measured = (total(up) - total(down)) / (2 * size)
            promised = gradients[layer_name].reshape(len(value), -1)[:, flat]
            scale = 1 + abs(promised).max()
            assert abs(measured - promised).max() <= 1e-6 * scale


@pytest.mark.parametrize("update", catalogue.members("updates"))
def test_a_rule_trains_an_architecture_or_gives_a_reason(update):
    for architecture in ARCHITECTURES.values():
        reason = refusal(update, architecture)
        if reason is None:
            experiment(learners={"it": {"update": update, "architecture": architecture}})
            continue
        assert update in reason
        assert architecture["kind"] in reason
        assert len(reason.split()) > 5
        assert "\n" not in reason


@pytest.mark.slow
@crossed_groups(EVERY)
def test_returned_weights_never_change(learners):
    described = experiment(learners=learners, d=8)
    data = data_of(described)
    for number, name in enumerate(learners):
        hypothesis, weights_and_copies = begun(described, number, data), []
        for k in range(data.instances.n):
            now = hypothesis.weights()
            if now is not None:
                weights_and_copies.append((now, now.clone()))
            hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        for weights, copy in weights_and_copies:
            assert torch.equal(weights, copy), name


@crossed_groups(EVERY_GENTLE)
def test_weights_reproduce_the_predictions_of_linear_learners(learners):
    described = experiment("gaussian", learners=learners, d=8, replicas=2)
    data = data_of(described)
    for number, name in enumerate(learners):
        hypothesis = begun(described, number, data)
        for k in range(3):
            hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        w, predicted = hypothesis.weights(), hypothesis.predict(data.instances)
        if w is None:
            scaled = [hypothesis.predict(DenseInstances(size * data.instances.rows)) for size in (64, -1)]
            linear = torch.allclose(scaled[0], 64 * predicted) and torch.allclose(scaled[1], -predicted)
            assert not linear, name
        else:
            expected = torch.einsum("bd,bnd->bn", w, data.instances.rows)
            torch.testing.assert_close(expected, predicted, msg=lambda why, name=name: f"{name}: {why}")


@pytest.mark.parametrize("words", [{"kind": "egu", "w0": 0.25}, {"kind": "eg", "total": 4.0}], ids=name_of)
def test_positive_weights_start_at_the_given_value_and_stay_positive(words):
    hypothesis, data = beginning(experiment(learners={"it": {"update": words}}, d=16))
    assert torch.equal(hypothesis.weights(), torch.full((1, 16), 0.25, dtype=torch.float64))
    for k in range(data.instances.n):
        hypothesis.learn(data.instances.at(slice(k, k + 1)), data.labels[:, k : k + 1])
        assert (hypothesis.weights() > 0).all()
        if words["kind"] == "eg":
            torch.testing.assert_close(hypothesis.weights().sum(), torch.tensor(4.0, dtype=torch.float64))


@pytest.mark.parametrize("kind", ["eg", "eg-pm"])
def test_normalised_weights_recover_from_float32_underflow(kind):
    rule = catalogue.make("updates", kind)
    params, state = rule.start({"w": torch.zeros(1, 4)})
    gradient = torch.tensor([[300.0, -300.0, 0.0, 1.0]])
    away, state = rule.step(params, {"w": gradient}, {"w": 1.0}, state)
    assert away["w"][0, 2] == 0
    back, _ = rule.step(away, {"w": -gradient}, {"w": 1.0}, state)
    torch.testing.assert_close(back["w"], params["w"])


STARTS = [
    ({"kind": "linear"}, {"kind": "gd"}, 0.0),
    ({"kind": "linear"}, {"kind": "egu"}, 1 / 16),
    ({"kind": "linear"}, {"kind": "eg"}, 1 / 16),
    ({"kind": "linear"}, {"kind": "egu-pm"}, 0.0),
    ({"kind": "linear"}, {"kind": "hypentropy"}, 0.0),
    ({"kind": "spindly"}, {"kind": "gd"}, 1 / 16),
    ({"kind": "spindly", "depth": 3}, {"kind": "gd"}, 1 / 16),
    ({"kind": "spindly", "w0": 0.5}, {"kind": "gd"}, 0.5),
    ({"kind": "spindly", "signed": True}, {"kind": "gd"}, 0.0),
]


@pytest.mark.parametrize(("architecture", "update", "weight"), STARTS)
def test_initial_weights_follow_the_conventions(architecture, update, weight):
    learner = {"architecture": architecture, "update": update}
    hypothesis, _ = beginning(experiment(learners={"it": learner}, d=16))
    torch.testing.assert_close(hypothesis.weights(), torch.full((1, 16), weight, dtype=torch.float64))


def test_halves_start_at_one_over_2d():
    for learner, names in (
        ({"architecture": {"kind": "spindly", "signed": True}, "update": "gd"}, ("u", "v")),
        ({"update": "egu-pm"}, ("plus", "minus")),
    ):
        hypothesis, _ = beginning(experiment(learners={"it": learner}, d=16))
        if "u" in names:
            halves = [hypothesis.params[name] ** 2 for name in names]
        else:
            _, state = catalogue.make("updates", **part(learner["update"])).start(hypothesis.params)
            halves = [state[name]["w"] for name in names]
        for half in halves:
            torch.testing.assert_close(half, torch.full_like(half, 1 / 32))


@pytest.mark.parametrize("init", ["gaussian", "diagonal"])
def test_random_starts_of_dense_nets_have_the_documented_variance(init):
    net = catalogue.make("architectures", "dense", widths=[32, 32], init=init, scale=0.5)
    start = net.start(Streams(range(200))("init"), 64)
    fans = {"W1": (32, 64), "W2": (32, 32), "W3": (1, 32)}
    for name, (rows, columns) in fans.items():
        assert start[name].shape == (200, rows, columns)
        diagonal = init == "diagonal" and name != "W3"
        drawn = start[name][:, *np.diag_indices(32)] if diagonal else start[name]
        variance = 0.25 if diagonal else 0.25 / columns
        count = drawn.size
        assert abs(drawn.mean()) <= 4 * np.sqrt(variance / count)
        assert abs((drawn**2).mean() / variance - 1) <= 4 * np.sqrt(2 / count)
        if diagonal:
            assert np.count_nonzero(start[name]) == count
