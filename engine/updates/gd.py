"""Gradient descent."""

from __future__ import annotations

from engine.architectures import Params
from engine.parts import Finding
from engine.updates import Rate, State, Update


class GD(Update, frozen=True, tag="gd"):
    """Gradient descent: w ← w − η g.

    Source: theory.md §4.
    """

    lr: Rate = 0.00390625

    def step(self, params: Params, gradients: Params, state: State) -> tuple[Params, State]:
        return {name: w.sub(gradients[name], alpha=self.lr) for name, w in params.items()}, state

    def invariance(self) -> Finding:
        return Finding(True, "gradient descent keeps first-layer weights in the span of the instances")
