"""The rule `torch` takes the steps that its optimizers take outside, net by net or all nets together."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch
from building import begun, data_of, experiment

from engine.core import catalogue, optimizers
from engine.core.parts import BadField, BadInput
from engine.spec import presets
from engine.spec.differences import differences
from engine.updates.torch_optimizer import BY_COORDINATE, ELEMENT_WISE, Optimizers, Torch

NET = {"kind": "dense", "widths": [5], "activation": "tanh", "biases": True}
SHAPES = {"W1": (5, 6), "b1": (5, 1), "W2": (1, 5)}
RATES = {"W1": 0.02, "b1": 0.01, "W2": 0.02}
STEPS = 12


def rule(name, library="torch", **fields):
    return catalogue.make("updates", "torch", name=name, library=library, **fields)


def names_of(entries):
    libraries = {"torch": "torch", "pytorch_optimizer": "pytorch-optimizer"}
    return [
        (name, libraries[package])
        for package, name in (full_name.split(".") for full_name in sorted(entries))
    ]


def trajectory(update, params, gradients, rates):
    """Parameters after the last of the steps along these gradients."""
    params, state = update.start(params)
    for number in range(len(next(iter(gradients.values())))):
        params, state = update.step(
            params, {layer: g[number] for layer, g in gradients.items()}, rates, state
        )
    return params


def drawn(nets, seed=0):
    """Parameters of some nets, and gradients for all steps."""
    generator = torch.Generator().manual_seed(seed)
    params = {
        layer: torch.randn(nets, *shape, dtype=torch.float64, generator=generator)
        for layer, shape in SHAPES.items()
    }
    gradients = {
        layer: torch.randn(STEPS, *w.shape, dtype=torch.float64, generator=generator)
        for layer, w in params.items()
    }
    return params, gradients


def trajectory_with_pauses(update, params, gradients, rates, last_steps):
    """Parameters after the last of the steps, where each net stops after some of them."""
    params, state = update.start(params)
    for number in range(STEPS):
        active = torch.tensor([number < last for last in last_steps])
        paused = update.pause(active, state)
        moved, new = update.step(params, {layer: g[number] for layer, g in gradients.items()}, rates, paused)
        params = {layer: torch.where(active.view(-1, 1, 1), w, params[layer]) for layer, w in moved.items()}
        state = update.choose(active, new, state)
    return params


@pytest.mark.parametrize(("name", "library"), names_of(ELEMENT_WISE))
@pytest.mark.filterwarnings("ignore")
def test_an_element_wise_optimizer_moves_batched_nets_like_single_nets(name, library):
    update = rule(name, library)
    params, gradients = drawn(4)
    scales = torch.tensor([0.01, 1.0, 1.0, 30.0], dtype=torch.float64).view(-1, 1, 1)
    gradients = {layer: scales * g for layer, g in gradients.items()}
    rates = {layer: torch.tensor([rate, rate, 3 * rate, rate]) for layer, rate in RATES.items()}
    rates = {layer: rate.double().view(-1, *[1] * len(SHAPES[layer])) for layer, rate in rates.items()}
    last_steps = [STEPS, 6, STEPS, 9]
    together = trajectory_with_pauses(update, params, gradients, rates, last_steps)
    for net in range(4):
        alone = trajectory(
            update,
            {layer: w[net : net + 1] for layer, w in params.items()},
            {layer: g[: last_steps[net], net : net + 1] for layer, g in gradients.items()},
            {layer: rate[net : net + 1] for layer, rate in rates.items()},
        )
        for layer, w in alone.items():
            torch.testing.assert_close(together[layer][net], w[0], rtol=1e-12, atol=1e-14)
            assert (w[0] != params[layer][net]).any()


def directly(optimizer, params, gradients, options=None):
    """Parameters of one net after steps of an optimizer that is constructed by hand."""
    shaped = {layer: w[0, :, 0] if w.shape[-1] == 1 else w[0] for layer, w in params.items()}
    weights = {layer: torch.nn.Parameter(w.clone()) for layer, w in shaped.items()}
    stepper = optimizer(
        [{"params": [weight], "lr": RATES[layer]} for layer, weight in weights.items()], **(options or {})
    )
    for number in range(STEPS):
        for layer, weight in weights.items():
            weight.grad = gradients[layer][number, 0].view_as(weight).clone()
        stepper.step()
    return {layer: weight.detach().view_as(params[layer][0]) for layer, weight in weights.items()}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("AdamW", {"betas": (0.8, 0.9)}),
        ("Adafactor", {}),
        ("RMSprop", {"centered": True}),
    ],
)
def test_steps_match_the_torch_optimizer(name, options):
    params, gradients = drawn(1)
    inside = trajectory(rule(name, options=options), params, gradients, RATES)
    outside = directly(getattr(torch.optim, name), params, gradients, options)
    for layer, w in outside.items():
        torch.testing.assert_close(inside[layer][0], w, rtol=1e-13, atol=0)


def test_a_step_does_not_modify_parameters_and_gradients():
    for name in ("AdamW", "Adafactor"):
        update, (params, gradients) = rule(name), drawn(2)
        first = {layer: g[0] for layer, g in gradients.items()}
        parameters = {layer: w.clone() for layer, w in params.items()}
        slopes = {layer: g.clone() for layer, g in first.items()}
        update.step(params, first, RATES, update.step(params, first, RATES, {})[1])
        assert all(torch.equal(params[layer], w) for layer, w in parameters.items())
        assert all(torch.equal(first[layer], g) for layer, g in slopes.items())


@pytest.mark.parametrize("optimizer", ["AdamW", "Adafactor"])
def test_paused_nets_keep_their_state(optimizer):
    update, (params, gradients) = rule(optimizer), drawn(3)
    active = torch.tensor([True, False, True])
    states = update.start(params)[1]
    mixed = params
    for number in range(STEPS):
        if number % 3 == 0:
            states = update.pause(active, states)
        moved, state = update.step(mixed, {layer: g[number] for layer, g in gradients.items()}, RATES, states)
        if number % 3 == 0:
            moved = {layer: torch.where(active.view(-1, 1, 1), w, mixed[layer]) for layer, w in moved.items()}
            state = update.choose(active, state, states)
        mixed, states = moved, state
    assert isinstance(states, Optimizers)
    assert sorted(net for group in states.groups for net in group.nets) == [0, 1, 2]
    for net, numbers in ((0, range(STEPS)), (1, [number for number in range(STEPS) if number % 3])):
        alone = {layer: w[net : net + 1] for layer, w in params.items()}
        state = {}
        for number in numbers:
            gradient = {layer: g[number, net : net + 1] for layer, g in gradients.items()}
            alone, state = update.step(alone, gradient, RATES, state)
        for layer, w in alone.items():
            torch.testing.assert_close(mixed[layer][net], w[0], rtol=1e-12, atol=1e-14)


def learned(update, protocol="one-pass", **words):
    """Predictions of two replicas after training, by torch optimizers inside."""
    described = experiment(
        "gaussian",
        learners={"it": {"update": update, "architecture": "linear", **words}},
        d=6,
        replicas=2,
        protocol=protocol,
    )
    examples = data_of(described)
    hypothesis = begun(described, 0, examples)
    for _ in range(3):
        hypothesis.learn(examples.instances, examples.labels)
    return examples, hypothesis


def test_lbfgs_evaluates_the_loss_of_each_net_within_a_step():
    examples, hypothesis = learned({"kind": "torch", "name": "LBFGS", "lr": 0.5, "options": {"max_iter": 4}})
    for replica in range(2):
        x, y = examples.instances.of_replica(replica).rows[0], examples.labels[replica]
        w = torch.nn.Parameter(torch.zeros(1, x.shape[1], dtype=x.dtype))
        stepper = torch.optim.LBFGS([w], lr=0.5, max_iter=4)

        def loss(x=x, y=y, w=w, stepper=stepper):
            stepper.zero_grad()
            mean = ((x @ w[0] - y) ** 2).mean()
            mean.backward()
            return mean

        for _ in range(3):
            stepper.step(loss)
        expected = w.detach()[0]
        got = hypothesis.weights()[replica]
        assert float((got - expected).abs().max()) < 1e-5 * float(expected.abs().max())


def test_nonfinite_gradients_end_only_their_net_without_an_error():
    update, (params, gradients) = rule("Muon"), drawn(2)
    gradient = {layer: g[0].clone() for layer, g in gradients.items()}
    gradient["W1"][0, 0, 0] = torch.inf
    moved, _ = update.step(params, gradient, RATES, {})
    assert moved["W1"][0].isnan().all()
    assert moved["W1"][1].isfinite().all()


def test_optimizers_with_noise_are_reproducible_and_keep_the_global_random_state():
    update, (params, gradients) = rule("Kron", "pytorch-optimizer"), drawn(1)
    outside = []
    for _ in range(2):
        torch.manual_seed(3)
        np.random.seed(3)
        weights = trajectory(update, params, gradients, RATES)
        outside.append((weights, torch.rand(1), np.random.random()))
    (first, *first_draws), (second, *second_draws) = outside
    assert first_draws == second_draws
    torch.manual_seed(4)
    np.random.seed(4)
    third = trajectory(update, params, gradients, RATES)
    for layer, w in first.items():
        assert torch.equal(w, second[layer])
        assert torch.equal(w, third[layer])


@pytest.mark.parametrize(
    ("fields", "place", "sentence"),
    [
        ({"name": "AdamWW"}, "name", "torch has no optimizer 'AdamWW'; did you mean AdamW?"),
        (
            {"name": "SGD", "options": {"beta": 1.0}},
            "options",
            "SGD takes no option 'beta'; the choices are momentum",
        ),
    ],
)
def test_a_wrong_name_or_option_is_refused_in_one_line(fields, place, sentence):
    with pytest.raises(msgspec.ValidationError) as caught:
        rule(**fields)
    cause = caught.value.__cause__
    assert isinstance(cause, BadField)
    assert (cause.field, cause.fault[: len(sentence)]) == (place, sentence)


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        (['learners.GD.update={kind="torch", name="Adam"}'], "GD update gd → torch Adam at rate 0.007812"),
        (['learners.mine.update={kind="torch", name="Adam", lr=0.5}'], "with mine (torch Adam at rate 0.5)"),
    ],
)
def test_the_title_of_a_changed_preset_names_the_class_and_its_rate(changes, title):
    before, after = (presets.document("hadamard-128", changes_of) for changes_of in ([], changes))
    assert [str(difference) for difference in differences(before, after)] == [title]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            'name="Adam", weight_decay=0.1',
            "weight_decay: unknown key; the choices are kind, name, lr, options",
        ),
        ('name="Adam", weight_decay=0.1', "; arguments of Adam go into options={…}"),
        ('name="MyAdam"', "; --parts FILE.py loads optimizers of your own"),
    ],
)
def test_the_error_of_a_refused_key_or_name_gives_its_correct_place(fields, sentence):
    with pytest.raises(BadInput) as caught:
        presets.load("hadamard-128", [f'learners.GD.update={{kind="torch", {fields}}}'])
    assert sentence in str(caught.value)


def test_only_listed_optimizers_have_a_verdict():
    matrix = catalogue.make("matrices", "gaussian")
    assert rule("SGD").invariance(matrix, False).invariant is True
    for name, library in names_of(BY_COORDINATE):
        judged = rule(name, library).invariance(matrix, False)
        assert (judged.invariant, judged.undecided) == (False, False)
    assert rule("Muon").invariance(matrix, False).undecided
    signs = catalogue.make("matrices", "hadamard")
    assert rule("Adam").invariance(signs, True).undecided


def test_gradient_options_are_refused_for_steps_with_several_gradients():
    for option in ({"clip": {"norm": 1.0}}, {"noise": {"sigma": 0.1}}):
        with pytest.raises(BadInput, match="computes further gradients within a step"):
            learned({"kind": "torch", "name": "LBFGS"}, **option)
    learned({"kind": "torch", "name": "LBFGS"}, noise={"sigma": 0.1, "on": "weights"})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_optimizer_of_the_second_library_matches_its_direct_steps():
    start, gradients = drawn(1)
    layers = ("W1", "W2")
    compared = 0
    for name in optimizers.optimizer_names("pytorch-optimizer"):
        try:
            optimizer = optimizers.optimizer_class(name, "pytorch-optimizer")
        except BadField:
            continue
        if optimizers.needs_closure(optimizer):
            continue
        options = dict(optimizers.REQUIRED.get(optimizers.qualified(optimizer), {}))
        inside = trajectory(
            rule(name, "pytorch-optimizer", options=options),
            {layer: start[layer] for layer in layers},
            {layer: gradients[layer] for layer in layers},
            dict.fromkeys(layers, 0.01),
        )
        model = torch.nn.Module()
        for layer in layers:
            model.register_parameter(layer, torch.nn.Parameter(start[layer][0].clone()))
        stepper = optimizers.make_optimizer(optimizer, model.parameters(), model, 0.01, options)
        for number in range(STEPS):
            for layer, weight in model.named_parameters():
                weight.grad = gradients[layer][number, 0].clone()
            with optimizers.random_numbers(torch.device("cpu")) as seed:
                seed(number)
                stepper.step()
        for layer, weight in model.named_parameters():
            assert torch.equal(inside[layer][0], weight.detach()), name
        compared += 1
    assert compared > 110


def test_the_memory_estimate_covers_the_state_of_lbfgs():
    """After more steps than its history is long; an element-wise optimizer has no objects of single nets."""
    rule = Torch(name="LBFGS", options={"history_size": 3, "max_iter": 12})
    w = torch.nn.Parameter(torch.linspace(1.0, 2.0, 50))
    optimizer = torch.optim.LBFGS([w], history_size=3, max_iter=12)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (w**4).sum() + (w[1:] * w[:-1]).sum()
        loss.backward()
        return loss

    with torch.enable_grad():
        optimizer.step(closure)
    state = optimizer.state[w]
    history = sum(tensor.numel() for name in ("old_dirs", "old_stps") for tensor in state[name])
    assert history == 2 * 3 * w.numel()
    assert rule.structure().copies == 4 + history // w.numel()
    assert Torch(name="AdamW").structure().copies == 0
