"""Winnow."""

from __future__ import annotations

from engine.losses import Loss
from engine.updates import Rate, only_mistakes
from engine.updates.egu import EGU


class Winnow(EGU, frozen=True, tag="winnow"):
    """Winnow: after a mistake, y xᵀw ≤ 0, w ← w ⊙ exp(η y x), and otherwise nothing, from w₀ (default 1/d).

    Features and labels are ±1 and the threshold is 0. A rule sees gradients only; those of the loss
    `mistake` are −y x after a mistake and 0 otherwise, so it takes no other loss: there it is EGU.
    Source: Littlestone 1988; theory.md §4.
    """

    lr: Rate = 0.5

    def refuses_loss(self, loss: Loss) -> str | None:
        return only_mistakes(self, loss)
