"""Gradient descent."""

from __future__ import annotations

from typing import ClassVar

from engine.architectures import Params
from engine.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, moved


class GD(Update, frozen=True, tag="gd"):
    """Gradient descent: w ← w − η g.

    Source: theory.md §4.
    """

    columnwise: ClassVar[bool] = True

    lr: Rate = 0.00390625

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        return {name: moved(w, rates[name], gradients[name]) for name, w in params.items()}, state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "gradient descent keeps first-layer weights in the span of the instances")
