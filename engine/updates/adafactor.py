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

    R and C are averages of the means of g² + ε over the rows and over the columns of a layer: after t
    steps a share t^(−c) of them is from the last one. A single row has R_i C_j / mean R = C_j, as RMSProp
    has. Rates do not depend on weights. Source: Shazeer, Stern 2018 (with ε = 1e-30); theory-symmetry.md §65.
    """

    lr: Rate = 0.00390625
    memory: Annotated[
        float, Meta(gt=0, le=1, title="memory c", description="the newest g² have the share t^(−c)")
    ] = 0.8
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to squares")] = 1e-16

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(own_start=False, layerwise=True)

    def start(self, params: Params) -> tuple[Params, State]:
        none = {name: as_matrix(squares) for name, squares in self.no_squares(params).items()}
        return params, {
            "R": {name: torch.zeros_like(v.mean(2, keepdim=True)) for name, v in none.items()},
            "C": {name: torch.zeros_like(v.mean(1, keepdim=True)) for name, v in none.items()},
            "steps": steps_taken(params),
        }

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        rows, columns, directions = {}, {}, {}
        steps = {name: before + 1 for name, before in state["steps"].items()}
        for name, square in self.squares(gradients).items():
            squares, g = as_matrix(square) + self.eps, as_matrix(gradients[name])  # [B, h, d or 1], [B, h, d]
            share = (steps[name] ** -self.memory).view(-1, 1, 1).to(g.dtype)
            rows[name] = torch.lerp(state["R"][name], squares.mean(2, keepdim=True), share)
            columns[name] = torch.lerp(state["C"][name], squares.mean(1, keepdim=True), share)
            # R_i/mean R first: a product of two sizes may be below what float32 has
            u = g * (rows[name] / rows[name].mean(1, keepdim=True)).rsqrt() * columns[name].rsqrt()
            rms = u.square().mean((1, 2), keepdim=True).sqrt()
            directions[name] = (u / rms.clamp(min=1.0)).view_as(gradients[name])
        return descended(params, directions, rates), {"R": rows, "C": columns, "steps": steps}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
