"""Gradient descent by steps that lower the loss by a constant."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.core.params import Params, per_member
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, descended


class Polyak(Update, frozen=True, tag="polyak"):
    """Polyak's step towards a level that is η below the loss: w ← w − η g/‖g‖², ‖g‖ over all layers.

    To first order every step lowers the loss by η. With steps along ∇ ln L of the exponential loss the least
    of all margins grows by about η a step, however fast the weights of a deep net grow. Where g = 0 nothing
    moves. Source: Polyak 1969; Lyu, Li 2020; theory-bias.md §47.
    """

    lr: Rate = 0.03125

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        square = torch.stack([g.flatten(1).square().sum(1) for g in gradients.values()]).sum(0)
        scale = torch.where(square > 0, 1 / square, 0.0)
        return descended(
            params,
            {name: per_member(scale, g) * g for name, g in gradients.items()},
            rates,
        ), state

    @property
    def along_gradients(self) -> bool:
        return True

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "a step is a multiple of the gradient, by its length, which rotations leave")
