"""Optimizers of other libraries are found by name and constructed as their signatures ask."""

from __future__ import annotations

import pytest
import torch
from torch.optim import SGD, Optimizer

from engine.core import optimizers
from engine.core.parts import BadField

LIBRARIES = ("torch", "pytorch-optimizer")

STANDS_STILL = {"SaRA"}
"""It moves only weights below a threshold."""


def trained(optimizer, steps=20):
    """Largest change of a weight of a tanh net with biases, in float64."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)).double()
    x = torch.randn(24, 8, dtype=torch.float64)
    stepper = optimizers.make_optimizer(optimizer, model.parameters(), model, 0.01)

    @torch.enable_grad()
    def loss():
        stepper.zero_grad()
        mean = ((model(x) - x[:, :1]) ** 2).mean()
        mean.backward()
        return mean

    before = [weights.detach().clone() for weights in model.parameters()]
    for _ in range(steps):
        loss()
        stepper.step(*([loss] if optimizers.needs_closure(optimizer) else []))
    pairs = zip(model.parameters(), before, strict=True)
    return max(float((new - old).detach().abs().max()) for new, old in pairs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_optimizer_trains_a_net_or_is_listed_as_refused(library):
    refused = set()
    for name in optimizers.optimizer_names(library):
        try:
            optimizer = optimizers.optimizer_class(name, library)
        except BadField:
            refused.add(name)
        else:
            assert (trained(optimizer) == 0) == (name in STANDS_STILL), name
    package = library.replace("-", "_")
    listed = (refusal.split(".") for refusal in optimizers.REFUSED)
    assert refused == {name for module, name in listed if module == package}


def test_optimizers_of_torch_are_listed_by_name():
    names = optimizers.optimizer_names()
    assert {"SGD", "Adam", "AdamW", "LBFGS", "RMSprop"} <= set(names)
    assert "Optimizer" not in names
    assert optimizers.optimizer_class("SGD") is SGD


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("AdamWW", "torch has no optimizer 'AdamWW'; did you mean AdamW?"),
        ("SparseAdam", "SparseAdam cannot train here: it needs sparse gradients"),
    ],
)
def test_a_wrong_optimizer_name_gives_a_one_line_error(name, sentence):
    with pytest.raises(BadField) as caught:
        optimizers.optimizer_class(name)
    assert caught.value.fault.startswith(sentence)
    assert "\n" not in caught.value.fault


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"beta": 0.9}, "AdamW takes no option 'beta'; did you mean betas? the choices are betas, eps"),
        ({"lr": 0.9}, "AdamW takes no option 'lr'; set the rate by lr"),
        ({"eps": -1.0}, "AdamW refuses these options: Invalid epsilon value: -1.0"),
    ],
)
def test_options_outside_the_constructor_signature_are_refused(options, sentence):
    with pytest.raises(BadField) as caught:
        optimizers.check_options(torch.optim.AdamW, options)
    assert caught.value.fault.startswith(sentence)


def test_a_missing_library_gives_install_instructions(monkeypatch):
    monkeypatch.setitem(optimizers.MODULES, "pytorch-optimizer", "no_such_module")
    optimizers.optimizers_of.cache_clear()
    with pytest.raises(BadField, match="run pip install pytorch-optimizer"):
        optimizers.optimizer_names("pytorch-optimizer")
    optimizers.optimizers_of.cache_clear()


class Mine(Optimizer):
    """Steps that need the model and a required argument."""

    def __init__(self, weights, module, size, lr=0.1):
        super().__init__(weights, {"lr": lr})
        self.module, self.size = module, size


def test_registered_optimizers_are_found_by_name_and_receive_model_and_options(monkeypatch):
    monkeypatch.setitem(optimizers.registered, "Mine", Mine)
    assert optimizers.optimizer_class("Mine") is Mine
    with pytest.raises(BadField, match="Mine requires size"):
        optimizers.check_options(Mine, {})
    model = torch.nn.Linear(2, 1)
    mine = optimizers.make_optimizer(Mine, model.parameters(), model, 0.5, {"size": [1, 2]})
    assert mine.module is model
    assert mine.size == (1, 2)
    assert mine.defaults["lr"] == 0.5


def test_parameter_groups_keep_their_own_rates():
    first, second = (torch.nn.Parameter(torch.zeros(2, 3)) for _ in range(2))
    groups = [{"params": [first], "lr": 0.5}, {"params": [second]}]
    adam = optimizers.make_optimizer(torch.optim.Adam, groups, lr=0.1)
    assert [group["lr"] for group in adam.param_groups] == [0.5, 0.1]


def test_needs_closure_is_true_only_if_step_requires_a_closure():
    assert optimizers.needs_closure(torch.optim.LBFGS)
    assert not optimizers.needs_closure(torch.optim.Adam)
