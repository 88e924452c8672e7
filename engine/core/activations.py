"""Transfer functions of units, by the names that torch gives them."""

from __future__ import annotations

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
"""σ by name, with torch's defaults: leaky_relu has slope 0.01 below 0, gelu is the exact one.

sqrt2_relu is √2 relu, which keeps the mean square of Gaussian signals.
"""

KINKED = ("relu", "sqrt2_relu", "leaky_relu", "selu")
"""They have no slope at 0, where all signals of weights 0 lie, and on orthogonal instances stay."""

BENT = ("relu", "sqrt2_relu", "leaky_relu")
"""They are linear above 0 and below, with another slope."""

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(TABLE)]

Activation = Annotated[Name, Meta(title="activation", description="transfer function σ")]


def transfer(name: str, signal: torch.Tensor) -> torch.Tensor:
    """σ of every number of `signal`, for the σ of that name."""
    return TABLE[name](signal)


def slope(name: str, signal: torch.Tensor) -> torch.Tensor:
    """σ′ at every number of `signal`; at a kink what torch takes there."""
    return with_slope(name, signal)[1]


def with_slope(name: str, signal: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """σ and σ′ at every number of `signal`."""
    with torch.enable_grad():
        leaf = signal.detach().requires_grad_()
        values = transfer(name, leaf)
        (found,) = torch.autograd.grad(values.sum(), leaf)
    return values.detach(), found


def kinked(name: str) -> str:
    """Why units with this σ cannot start at 0, in one sentence."""
    why = "so weights that start at 0 have no gradient, or one that rounding decides"
    return f'{name} has a kink at 0, {why}; take init = "gaussian"'
