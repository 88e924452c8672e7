"""Winnow."""

from __future__ import annotations

from engine.updates import Rate, UpdateStructure
from engine.updates.egu import EGU


class Winnow(EGU, frozen=True, tag="winnow"):
    """Winnow: w ← w ⊙ exp(η y x) after a mistake (y xᵀw ≤ 0), no change otherwise, from w₀ (default 1/d).

    Features and labels are ±1 and the threshold is 0. A rule receives only gradients. Gradients of the loss
    `mistake` are −y x after a mistake and 0 otherwise, so no other loss is allowed. With this loss, the rule
    is EGU. Source: Littlestone 1988; theory/conventions#update-rules.
    """

    lr: Rate = 0.5

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(by_operators=False, only_after_mistakes=True)
