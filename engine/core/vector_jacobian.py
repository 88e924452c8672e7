"""Products of a vector with a Jacobian, which is one pass backwards."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core.lazy import torch


def vector_jacobian(
    outputs: torch.Tensor, vector: torch.Tensor, inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Σ_i v_i ∂y_i/∂x of every input x, for outputs y and a vector v of their shape.

    This is `torch.autograd.grad` with `grad_outputs`, which imports sympy at its first call: half a second.
    """
    with torch.enable_grad():
        total = (outputs * vector).sum()
    return torch.autograd.grad(total, inputs)
