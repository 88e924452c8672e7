"""Adafactor."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, State, UpdateStructure, as_matrix, descended, steps_taken


class Adafactor(Diagonal, frozen=True, tag="adafactor"):
    """Adafactor: u_ij = g_ij / √(R_i C_j / mean R), w ← w − η u / max(1, rms(u)) for every layer.

    R_i is a running average of the mean of g² + ε over row i of a layer, and C_j is the same average for
    column j. At step t, the newest mean has the weight t^(−c) in the running averages. If a layer has a
    single row, R_i C_j / mean R = C_j, as in RMSProp. The rate η does not depend on the weights, whereas
    torch multiplies it by max(10⁻³, rms(w)) min(1, 1/(η√t)). Source: Shazeer, Stern 2018 (with ε = 1e-30);
    theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.00390625
    memory: Annotated[
        float, Meta(gt=0, le=1, title="memory c", description="weight t^(−c) of the newest g² at step t")
    ] = 0.8
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to squares")] = 1e-16

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(own_start=False, layerwise=True)

    def start(self, params: Params) -> tuple[Params, State]:
        none = {layer: as_matrix(squares) for layer, squares in self.no_squares(params).items()}
        return params, {
            "R": {layer: torch.zeros_like(v.mean(2, keepdim=True)) for layer, v in none.items()},
            "C": {layer: torch.zeros_like(v.mean(1, keepdim=True)) for layer, v in none.items()},
            "steps": steps_taken(params),
        }

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        rows, columns, directions = {}, {}, {}
        steps = {layer: before + 1 for layer, before in state["steps"].items()}
        for layer, square in self.squares(gradients).items():
            squares, g = (
                as_matrix(square) + self.eps,
                as_matrix(gradients[layer]),
            )  # [B, h, d or 1], [B, h, d]
            share = (steps[layer] ** -self.memory).view(-1, 1, 1).to(g.dtype)
            rows[layer] = torch.lerp(state["R"][layer], squares.mean(2, keepdim=True), share)
            columns[layer] = torch.lerp(state["C"][layer], squares.mean(1, keepdim=True), share)
            # Divide R_i by mean R first: the product R_i C_j may underflow in float32.
            u = g * (rows[layer] / rows[layer].mean(1, keepdim=True)).rsqrt() * columns[layer].rsqrt()
            rms = u.square().mean((1, 2), keepdim=True).sqrt()
            directions[layer] = (u / rms.clamp(min=1.0)).view_as(gradients[layer])
        return descended(params, directions, rates), {"R": rows, "C": columns, "steps": steps}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
