"""Architectures that torch modules compute, against the modules themselves and our dense net."""

from typing import Annotated

import msgspec
import numpy as np
import pytest
import torch
from msgspec import Meta
from torch import nn

from engine.architectures import ModuleArchitecture
from engine.architectures.dense import Dense
from engine.core.streams import Streams
from engine.problems.instances import DenseInstances

D, N = 6, 5


class Net(ModuleArchitecture, frozen=True, tag="net-of-torch"):
    """Two layers of tanh."""

    width: Annotated[int, Meta(ge=1)] = 4

    def module(self, d):
        return nn.Sequential(nn.Linear(d, self.width), nn.Tanh(), nn.Dropout(), nn.Linear(self.width, 1))


class Branching(Net, frozen=True, tag="branching-net"):
    """A module that branches on tensor, which vmap refuses."""

    def module(self, d):
        return Signed(super().module(d))


class Normalising(Net, frozen=True, tag="normalising-net"):
    """Batch normalisation, which has buffers."""

    def module(self, d):
        return nn.Sequential(nn.Linear(d, 3), nn.BatchNorm1d(3), nn.Linear(3, 1), nn.Flatten(0))


class Signed(nn.Module):
    """A net times the sign of its first prediction."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        predictions = self.net(x)
        return predictions if predictions[0] > 0 else -predictions


def instances(replicas):
    rows = np.random.default_rng(0).standard_normal((replicas, N, D))
    return DenseInstances(torch.from_numpy(rows))


def started(net, replicas, members):
    start = net.start(Streams(range(replicas))("init"), D)
    return {name: torch.from_numpy(tensor).repeat_interleave(members, 0) for name, tensor in start.items()}


@pytest.mark.parametrize("net", [Net(), Net(width=2), Branching(), Normalising()], ids=lambda net: repr(net))
@pytest.mark.parametrize(("replicas", "members"), [(1, 1), (1, 3), (2, 2)])
def test_batched_predictions_and_gradients_match_single_modules(net, replicas, members):
    drawn, params = instances(replicas), started(net, replicas, members)
    predicted = net.predict(params, drawn)
    labels = torch.from_numpy(np.random.default_rng(1).standard_normal(predicted.shape))
    gradients = net.gradient(params, drawn, lambda predictions: predictions - labels)
    for member in range(replicas * members):
        module = net.module(D).double().eval()
        module.load_state_dict({name: tensor[member] for name, tensor in params.items()})
        expected = module(drawn.rows[member // members]).view(N)
        assert torch.allclose(predicted[member], expected, atol=1e-12)
        (0.5 * (expected - labels[member]).square().sum()).backward()
        for name, parameter in module.named_parameters():
            assert torch.allclose(gradients[name][member], parameter.grad, atol=1e-12)


def test_module_starts_are_reproducible_and_keep_the_torch_random_state():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    net = Net()
    starts = [net.start(Streams([3, 4])("init"), D) for _ in range(2)]
    assert torch.equal(torch.rand(3), expected)
    for name, tensor in starts[0].items():
        np.testing.assert_array_equal(tensor, starts[1][name])
        assert abs(tensor[0] - tensor[1]).max() > 1e-3
    assert abs(starts[0]["0.weight"]).max() <= 1 / D**0.5


def test_a_module_equals_our_dense_net_with_the_same_weights():
    drawn, params = instances(2), started(Net(), 2, 1)
    dense = Dense(widths=(4,), activation="tanh", biases=True)
    ours = {"W1": params["0.weight"], "W2": params["3.weight"]}
    ours |= {"b1": params["0.bias"][..., None], "b2": params["3.bias"][..., None]}
    assert {*dense.layers} == {*ours}
    assert torch.allclose(Net().predict(params, drawn), dense.predict(ours, drawn), atol=1e-12)


def test_the_layout_has_the_names_and_shapes_of_the_module():
    net = Normalising()
    assert net.layers == ("0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias")
    layout = net.layout(D)
    assert layout.refusal is None
    assert layout.shapes["0.weight"] == (3, D)
    assert "1.running_mean" in layout.shapes


class Vectors(Net, frozen=True, tag="vectors-of-torch"):
    """Two outputs for every instance."""

    def module(self, d):
        return nn.Linear(d, 2)


class Failing(Net, frozen=True, tag="failing-net"):
    """A layer for other instances."""

    def module(self, d):
        return nn.Linear(7, 1)


def test_a_module_with_wrong_inputs_or_outputs_is_refused():
    assert Vectors().layout(D).refusal == (
        "its module returns shape [3, 2] for 3 instances; the shape must be [3] or [3, 1]"
    )
    refusal = Failing().layout(D).refusal
    assert refusal.startswith("its module fails for 6 features: RuntimeError: mat1 and mat2")
    assert "\n" not in refusal


def test_the_invariance_of_a_module_is_undecided():
    verdict = Net().invariance(D)
    assert verdict.undecided
    assert msgspec.structs.asdict(Net()) == {"width": 4}
