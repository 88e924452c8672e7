"""Sign descent."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.lazy import torch
from engine.core.params import Params, flat, per_member
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, ScalarStep, State, UpdateStructure, descended, rounding


class Sign(Diagonal, frozen=True, tag="sign"):
    """Sign descent: w ← w − η sign(g), entry by entry.

    If an entry of g is only a rounding error relative to other entries, its weight does not change. Every
    gradient entry is divided by its own size, as in RMSProp without memory. The rule differs from steepest
    descent in ‖·‖∞ only in the length of its steps, so it prefers solutions with a small ‖w‖∞. With
    `steepest`, the step is that of steepest descent, η mean|g_i| sign(g). The mean is over the entries of all
    layers, so the step shrinks with the gradient. With `shared`, the step of a first-layer unit is η g/r in
    place of η sign(g). Here r is the root mean square of the unit's gradient entries. With both `shared` and
    `steepest`, the mean contains r in place of |g_i| for all entries of the first layer. Source: Bernstein et
    al. 2018; GLSS18a; theory/symmetry#modern-optimizers, theory/implicit-bias#optimisation-geometry.
    """

    lr: Rate = 0.001953125
    steepest: Annotated[
        bool,
        Meta(
            title="steepest", description="multiply steps by mean |g|, so that they shrink with the gradient"
        ),
    ] = False

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(continuous=False, layerwise=not self.steepest, entries_alike=not self.shared)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        sizes = {layer: g.abs() for layer, g in gradients.items()}
        directions = {layer: g.sign() for layer, g in gradients.items()}
        if self.shared:
            first, squares = next(iter(self.squares(gradients).items()))
            sizes[first] = squares.sqrt()
            directions[first] = gradients[first] / sizes[first].where(sizes[first] > 0, 1.0)
        least = rounding(sizes)
        directions = {
            layer: torch.where(sizes[layer] > least[layer], v, 0.0) for layer, v in directions.items()
        }
        if self.steepest:
            mean = flat(size.expand_as(gradients[layer]) for layer, size in sizes.items()).mean(1)
            directions = {layer: per_member(mean, v) * v for layer, v in directions.items()}
        return descended(params, directions, rates), state

    def scalar_step(self, architecture: Architecture) -> ScalarStep | None:
        if not architecture.structure().trains_weights:
            return None
        if self.steepest:
            return lambda slope, rate, memory: (rate * slope, memory)
        return lambda slope, rate, memory: (rate * slope.sign(), memory)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
