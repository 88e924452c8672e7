"""The steps of plain gradient descent on square loss along a block of examples, all at once."""

from __future__ import annotations

from engine.core.lazy import torch


def block_steps(inner: torch.Tensor, errors: torch.Tensor, rates: torch.Tensor | float) -> torch.Tensor:
    """The multiples η c_j of b instances that steps w ← w − η c_j x_j subtract, [R, V, T, b].

    With slopes c_j = 2(ŷ_j − y_j) of predictions ŷ_j = x_jᵀw₀ − η Σ_(i<j) c_i x_iᵀx_j the slopes solve
    c (I + 2η U) = 2(Xw₀ − y), where U is XXᵀ above its diagonal.

    Args:
        inner: the inner products XXᵀ of the instances of every replica, [R, b, b].
        errors: Xw₀ − y of V variants and T targets before the block, [R, V, T, b].
        rates: η, one number or [R, V, 1, 1].
    """
    system = torch.triu(inner, 1)[:, None] * (2 * rates)  # the diagonal is taken for 1
    system = system.expand(-1, errors.shape[1], -1, -1)
    solved: torch.Tensor = torch.linalg.solve_triangular(
        system, 2 * errors, upper=True, left=False, unitriangular=True
    )
    return rates * solved


def after_each(before: torch.Tensor, steps: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The weights […, b, d] after every one of b steps […, b] along rows […, b, d], from `before` […, d]."""
    each = steps[..., None, :].expand(*steps.shape, steps.shape[-1])
    return before[..., None, :] - each.tril() @ rows
