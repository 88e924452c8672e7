"""Transfer functions σ of hidden units and their derivatives, by the names that torch uses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from engine.core.lazy import torch

TABLE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda z: z,
    "relu": lambda z: torch.relu(z),
    "sqrt2_relu": lambda z: 2**0.5 * torch.relu(z),
    "leaky_relu": lambda z: torch.nn.functional.leaky_relu(z),
    "elu": lambda z: torch.nn.functional.elu(z),
    "selu": lambda z: torch.selu(z),
    "gelu": lambda z: torch.nn.functional.gelu(z),
    "silu": lambda z: torch.nn.functional.silu(z),
    "mish": lambda z: torch.nn.functional.mish(z),
    "softplus": lambda z: torch.nn.functional.softplus(z),
    "softsign": lambda z: torch.nn.functional.softsign(z),
    "sigmoid": lambda z: torch.sigmoid(z),
    "tanh": lambda z: torch.tanh(z),
    "erf": lambda z: torch.erf(z),
}
"""σ by name, with torch's defaults: leaky_relu has slope 0.01 below 0, and gelu is not approximated.

sqrt2_relu is √2 relu: the mean square of its outputs equals that of its Gaussian inputs.
"""

LINEAR = 20.0
"""Signal z above which torch's softplus returns z itself."""

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
"""Constants of Klambauer et al. 2017, with as many digits as in torch."""

SLOPES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "identity": lambda z, a: torch.ones_like(z),
    "relu": lambda z, a: (z > 0).to(z),
    "sqrt2_relu": lambda z, a: 2**0.5 * (z > 0).to(z),
    "leaky_relu": lambda z, a: torch.full_like(z, 0.01).masked_fill(z > 0, 1.0),
    "elu": lambda z, a: torch.where(z > 0, 1.0, a + 1),
    "selu": lambda z, a: torch.where(z > 0, SELU_SCALE, a + SELU_SCALE * SELU_ALPHA),
    "gelu": lambda z, a: torch.special.ndtr(z) + z * _normal_density(z),
    "silu": lambda z, a: torch.sigmoid(z) * (1 + z - a),
    "mish": lambda z, a: _mish_slope(z),
    "softplus": lambda z, a: torch.ops.aten.softplus_backward(z.new_ones(()).expand_as(z), z, 1, LINEAR),
    "softsign": lambda z, a: (1 - a.abs()).square(),
    "sigmoid": lambda z, a: a * (1 - a),
    "tanh": lambda z, a: 1 - a.square(),
    "erf": lambda z, a: 2 / math.pi**0.5 * torch.exp(-z.square()),
}
"""σ′ by name, as a function of z and a = σ(z). At a kink, σ′ has the value that torch uses."""

SENT_BACK: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "relu": lambda sent, z, a: torch.ops.aten.threshold_backward(sent, a, 0),
    "softplus": lambda sent, z, a: torch.ops.aten.softplus_backward(sent, z, 1, LINEAR),
}
"""Gradient times σ′(z), as a function of the gradient, z and a = σ(z).

The table holds only the transfer functions for which torch computes this product in one pass over the memory.
"""


def _normal_density(z: torch.Tensor) -> torch.Tensor:
    density: torch.Tensor = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)
    return density


def _mish_slope(z: torch.Tensor) -> torch.Tensor:
    """Return the slope of z tanh(log(1 + e^z))."""
    bounded = torch.tanh(torch.nn.functional.softplus(z))
    return bounded + z * torch.sigmoid(z) * (1 - bounded.square())


KINKED = ("relu", "sqrt2_relu", "leaky_relu", "selu")
"""Transfer functions with a kink at 0. With zero weights, all inputs z of the units are at the kink.

If the instances are orthogonal, z stays 0 for every instance that training has not reached yet.
"""

BENT = ("relu", "sqrt2_relu", "leaky_relu")
"""Transfer functions that are linear above 0 and linear below 0, with different slopes."""

GENTLE = ("sigmoid", "softplus", "tanh")
"""Transfer functions with |σ′| ≤ 1 and |σ″| ≤ 1 everywhere."""

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(TABLE)]

Activation = Annotated[Name, Meta(title="activation", description="transfer function σ")]


def transfer(activation: str, signal: torch.Tensor) -> torch.Tensor:
    """Apply the transfer function σ named `activation` to every entry of `signal`."""
    return TABLE[activation](signal)


def slope(activation: str, signal: torch.Tensor) -> torch.Tensor:
    """Return the derivative σ′(z) at every entry z of `signal`.

    At a kink of σ, return the value that torch uses.
    """
    return with_slope(activation, signal)[1]


def with_slope(activation: str, signal: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return σ(z) and σ′(z) for every entry z of `signal`."""
    outputs = transfer(activation, signal)
    return outputs, SLOPES[activation](signal, outputs)


def bend(activation: str, signal: torch.Tensor) -> torch.Tensor | None:
    """Return the second derivative σ″(z) at every entry z of `signal`, or None if it is 0 everywhere."""
    leaf = signal.detach().requires_grad_()
    with torch.enable_grad():
        slopes = slope(activation, leaf)
        if not slopes.requires_grad:
            return None
        (bends,) = torch.autograd.grad(slopes.sum(), leaf)
    return bends


def sent_back(
    activation: str, sent: torch.Tensor, signal: torch.Tensor, outputs: torch.Tensor
) -> torch.Tensor:
    """Return ∂L/∂z = ∂L/∂a · σ′(z) for a = σ(z). `sent` is ∂L/∂a."""
    one_pass = SENT_BACK.get(activation)
    return sent * SLOPES[activation](signal, outputs) if one_pass is None else one_pass(sent, signal, outputs)


def kinked(activation: str) -> str:
    """Return the error message for weights that start at 0 in front of units whose σ has a kink at 0."""
    why = "so the gradient of weights that start at 0 is 0 or depends on rounding errors"
    return f'{activation} has a kink at 0, {why}; take init = "gaussian"'
