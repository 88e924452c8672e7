"""The instances as an operator: rows one by one, and inner products with many weight vectors at once."""

from __future__ import annotations

from engine.lazy import torch


class Instances:
    """n instances of d features for each of R replicas, `rows` [R, n, d].

    Weights come as a batch of B = R·G vectors, replica by replica; the G members of a group (targets, say)
    share the instances of their replica, which are therefore never copied.
    """

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows
        self.replicas, self.n, self.d = rows.shape

    def at(self, numbers: slice) -> Instances:
        """Some consecutive instances of every replica."""
        return Instances(self.rows[:, numbers])

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        """Inner products of weights [B, h, d] with the instances of their replica, [B, h, n]."""
        batch, h, d = weights.shape
        products = weights.reshape(self.replicas, -1, d) @ self.rows.mT
        return products.view(batch, h, self.n)

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Linear combinations Σ_j c_j x_j of the instances, coefficients [B, n] → [B, d]."""
        grouped = coefficients.view(self.replicas, -1, self.n)
        product = grouped * self.rows if self.n == 1 else grouped @ self.rows
        return product.view(-1, self.d)
