"""Gradient descent."""

from __future__ import annotations

from engine.architectures import Params
from engine.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update


class GD(Update, frozen=True, tag="gd"):
    """Gradient descent: w ← w − η g.

    Source: theory.md §4.
    """

    lr: Rate = 0.00390625

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        return {name: w - rates[name] * gradients[name] for name, w in params.items()}, state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "gradient descent keeps first-layer weights in the span of the instances")
