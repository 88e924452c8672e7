"""Sign descent."""

from __future__ import annotations

from typing import ClassVar

from engine.architectures import Architecture
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, ScalarStep, State, descended, signs


class Sign(Diagonal, frozen=True, tag="sign"):
    """Sign descent: w ← w − η sign(g), and an entry that is only rounding beside others does not move.

    Every entry is divided by its own size: RMSProp without a memory. All that it forgets is what steepest
    descent in ‖·‖∞ forgets, so it tends to what fits with a small ‖w‖∞. Source: Bernstein et al. 2018;
    theory-symmetry.md §65.
    """

    continuous: ClassVar[bool] = False

    lr: Rate = 0.001953125

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        directions = signs(gradients)
        if self.shared:
            first, size = next(iter(self.squares(gradients).items()))
            moves = directions[first].any(-1, keepdim=True)
            directions[first] = torch.where(moves, gradients[first] / size.sqrt(), 0.0)
        return descended(params, directions, rates), state

    def scalar_step(self, architecture: Architecture) -> ScalarStep | None:
        if not architecture.trains_weights:
            return None
        return lambda slope, rate, memory: (rate * slope.sign(), memory)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
