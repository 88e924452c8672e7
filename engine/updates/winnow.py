"""Winnow."""

from __future__ import annotations

from engine.updates import Rate, UpdateStructure
from engine.updates.egu import EGU


class Winnow(EGU, frozen=True, tag="winnow"):
    """Winnow: w ← w ⊙ exp(η y x) after a mistake (y xᵀw ≤ 0), no change otherwise, from w₀ (default 1/d).

    Features and labels are ±1 and the threshold is 0. The rule requires the loss `mistake`, whose gradient is
    −y x after a mistake and 0 otherwise. With this loss, the rule is EGU. Source: Littlestone 1988;
    theory/conventions#update-rules.
    """

    lr: Rate = 0.5

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(by_operators=False, only_after_mistakes=True)
