"""Gradient descent in which every step lowers the loss by a constant, to first order."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.core.params import Params, flat, per_member
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, moved_by


class Polyak(Update, frozen=True, tag="polyak"):
    """Polyak's step towards a loss that is lower by η: w ← w − η g/‖g‖².

    The norm ‖g‖ is over all layers. To first order, every step lowers the loss by η. If steps follow ∇ ln L
    for the exponential loss L, the smallest margin grows by about η per step, however fast the weights of a
    deep net grow. If g = 0, the weights do not change. Source: Polyak 1969; Lyu, Li 2020;
    theory/implicit-bias#optimisation-geometry.
    """

    lr: Rate = 0.03125

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="gradient", entries_alike=True, along_gradients=True)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        square = flat(gradients.values()).square().sum(1)
        scale = torch.where(square > 0, square.reciprocal(), 0.0)
        return {
            layer: moved_by(w, rates[layer], per_member(scale, w), gradients[layer])
            for layer, w in params.items()
        }, state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True, "a step is a multiple of the gradient, and rotations preserve the gradient's length"
        )
