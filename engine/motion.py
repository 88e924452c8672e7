"""Rules that multiply: their step on an example of ±1 gives every weight one of two factors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from engine.architectures import Params

if TYPE_CHECKING:
    from engine.lazy import torch
    from engine.updates import State

Factors = Callable[[float, float], tuple[float, float]]
"""(slope c, rate η) → the factors for features +1 and −1. It is compiled: nothing but numbers and `math`."""


class Motion(NamedTuple):
    """A learner that predicts xᵀ(a^L − b^L), whose steps along g = c x multiply.

    Where x_i is ±1, a_i is multiplied by the factor of that sign, and b_i, if there is a b, by that of the
    other sign.
    """

    factors: Factors
    power: int = 1
    """L, 1 or 2."""
    halves: Callable[[Params, State], tuple[torch.Tensor, ...]] = lambda params, state: tuple(params.values())
    """a and b, or a alone, [B, d], of the parameters and the state at the start."""


def exponential(slope: float, rate: float) -> tuple[float, float]:
    """e^(∓η c)."""
    up = math.exp(-rate * slope)
    return up, 1 / up
