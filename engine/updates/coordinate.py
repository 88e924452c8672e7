"""Coordinate descent."""

from __future__ import annotations

from engine.core.groups import SIGN_FLIPS
from engine.core.lazy import torch
from engine.core.params import Params, flat, unflat
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import ROUNDING, Rate, Rates, State, Update, UpdateStructure, descended


class Coordinate(Update, frozen=True, tag="coordinate"):
    """Coordinate descent: w_j ← w_j − η g_j for the entry with the largest |g_j| only.

    The rule is steepest descent in ‖·‖₁ over the entries of all layers. If several |g_j| are equally large up
    to rounding, the first entry is chosen. On exponential loss, the rule is AdaBoost with shrinkage: features
    are the weak learners, and the weight of an example is its share of the loss. For the gradient of ln L
    instead of L, g_j is the edge of the chosen weak learner. AdaBoost without shrinkage takes steps ½ ln((1 +
    g_j)/(1 − g_j)). For features ±1, this step length lowers the loss most. With the steps η g_j, the
    weights converge in direction to the maximum ‖·‖₁ margin. Source: Freund, Schapire 1997; Telgarsky
    2013; GLSS18a; theory/implicit-bias#optimisation-geometry.
    """

    lr: Rate = 0.03125

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="coordinate", continuous=False)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        gradient = flat(gradients.values())
        sizes = gradient.abs()
        least = (1 - ROUNDING * torch.finfo(sizes.dtype).eps) * sizes.amax(1, keepdim=True)
        largest = (sizes >= least).int().argmax(1, keepdim=True)
        chosen = torch.zeros_like(gradient).scatter_(1, largest, gradient.gather(1, largest))
        return descended(params, unflat(chosen, gradients), rates), state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "each step moves only the weight with the largest gradient entry",
            SIGN_FLIPS,
        )
