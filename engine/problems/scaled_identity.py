"""Orthogonal instances, turned so that they point along the axes."""

from __future__ import annotations

import math

from engine.core.lazy import torch
from engine.problems.instances import Instances


class ScaledIdentity(Instances):
    """n = d orthogonal instances of length √d, times the orthogonal matrix that makes them √d e_1 … √d e_n.

    For X with XXᵀ = d·I that matrix is X/√d. A rotation-invariant learner does not notice, if its start is
    turned along: it predicts the same, and the weights of its first layer are its predictions, or those of
    its hidden units, over √d. A row that it has not seen is a column that does not move; the Gram matrix of
    the instances is all that there is to them. Source: theory.md §8.
    """

    def __init__(self, drawn: Instances, numbers: slice | None = None) -> None:
        self._drawn = drawn
        self.replicas, self.d = drawn.replicas, drawn.d
        self.dtype, self.device = drawn.dtype, drawn.device
        self._first, self._end, _ = (numbers or slice(None)).indices(drawn.d)
        self.n = self._end - self._first
        self._length = math.sqrt(drawn.d)

    @property
    def rows(self) -> torch.Tensor:
        axes = self._length * torch.eye(self.d, dtype=self.dtype, device=self.device)
        return axes[self._first : self._end].repeat(self.replicas, 1, 1)

    @property
    def length(self) -> float:
        """√d."""
        return self._length

    def at(self, numbers: slice) -> Instances:
        first, end, _ = numbers.indices(self.n)
        return ScaledIdentity(self._drawn, slice(self._first + first, self._first + end))

    def pick(self, numbers: torch.Tensor) -> PickedAxes:
        return PickedAxes(self, numbers + self._first)

    def of_replica(self, replica: int) -> ScaledIdentity:
        return ScaledIdentity(self._drawn.of_replica(replica), slice(self._first, self._end))

    def narrowed(self) -> ScaledIdentity | None:
        if self._first > 0:
            return None
        few = ScaledIdentity(self._drawn, slice(0, self.n))
        few.d = self.n
        return few

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        selected = weights if self.n == self.d else weights[:, :, self._first : self._end]
        return selected * self._length

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        if self.n == self.d:
            return coefficients * self._length
        combined = coefficients.new_zeros(len(coefficients), self.d)
        combined[:, self._first : self._end] = coefficients * self._length
        return combined

    def turn(self, weights: torch.Tensor) -> torch.Tensor:
        turned = self._drawn.inner(weights.reshape(len(weights), -1, self.d)) / self._length
        return turned.view(weights.shape)

    def turn_back(self, weights: torch.Tensor) -> torch.Tensor:
        return self._drawn.combine(weights) / self._length


class PickedAxes(Instances):
    """Instances √d e_j along axes j = `numbers` [R, k], some of them several times."""

    def __init__(self, axes: ScaledIdentity, numbers: torch.Tensor) -> None:
        self._axes, self._numbers = axes, numbers
        self.d, (self.replicas, self.n) = axes.d, numbers.shape
        self.dtype, self.device = axes.dtype, axes.device
        self._length = math.sqrt(axes.d)

    @property
    def rows(self) -> torch.Tensor:
        rows = torch.zeros(self.replicas, self.n, self.d, dtype=self.dtype, device=self.device)
        return rows.scatter_(2, self._numbers[:, :, None], self._length)

    def at(self, numbers: slice) -> PickedAxes:
        return PickedAxes(self._axes, self._numbers[:, numbers])

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        grouped = weights.reshape(self.replicas, -1, self.d)
        places = self._numbers[:, None].expand(-1, grouped.shape[1], -1)
        return grouped.gather(2, places).mul_(self._length).view(*weights.shape[:2], self.n)

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        grouped = coefficients.view(self.replicas, -1, self.n) * self._length
        places = self._numbers[:, None].expand_as(grouped)
        combined = grouped.new_zeros(*grouped.shape[:2], self.d).scatter_add_(2, places, grouped)
        return combined.view(-1, self.d)
