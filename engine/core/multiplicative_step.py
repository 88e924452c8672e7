"""Rules that multiply: their step on an example of ±1 gives every weight one of two factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from engine.core.params import Params

if TYPE_CHECKING:
    from engine.core.lazy import torch


class MultiplicativeStep(NamedTuple):
    """A learner that predicts xᵀ(a^L − b^L), whose steps along g = c x multiply.

    Where x_i is ±1, a_i is multiplied by the factor of that sign, and b_i, if there is a b, by that of the
    other sign. For +1 it is e^(−s η c) or 1 − s η c, for −1 e^(s η c) or 1 + s η c.
    """

    exponential: bool
    scale: float = 1.0
    """s."""
    power: int = 1
    """L, 1 or 2: a^L and b^L are multiplied by the powers of the factors."""
    halves: Callable[[Params, dict[str, Params]], tuple[torch.Tensor, ...]] = lambda params, _: (
        *params.values(),
    )
    """a and b, or a alone, [B, d], of the parameters and the state at the start."""
