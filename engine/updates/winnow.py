"""Winnow."""

from __future__ import annotations

from engine.architectures import Architecture
from engine.core.parts import Verdict
from engine.losses import Loss
from engine.problems.matrices import Matrix
from engine.updates import Mirror, MultiplicativeStep, Rate, UpdateStructure, only_mistakes
from engine.updates.egu import EGU


class Winnow(EGU, frozen=True, tag="winnow"):
    """Winnow: w ← w ⊙ exp(η y x) after a mistake (y xᵀw ≤ 0), no change otherwise, from w₀ (default 1/d).

    Features and labels are ±1 and the threshold is 0. A rule receives only gradients. Gradients of the loss
    `mistake` are −y x after a mistake and 0 otherwise, so no other loss is allowed. With this loss, the rule
    is EGU. Source: Littlestone 1988; theory/conventions#update-rules.
    """

    lr: Rate = 0.5

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(by_factors=True, by_operators=False, layerwise=True)

    @property
    def mirror(self) -> Mirror:
        return super().mirror

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        return super().multiplicative_step(architecture)

    def exponentiated_rate(self, architecture: Architecture) -> float | None:
        return super().exponentiated_rate(architecture)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return super().invariance(matrix, single)

    def refuses_loss(self, loss: Loss) -> str | None:
        return only_mistakes(self, loss)
