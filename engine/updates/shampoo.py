"""Shampoo."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.groups import SIGN_FLIPS, SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.matrix_powers import power
from engine.core.params import Params
from engine.core.parts import BadField, Count, Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, as_matrix, descended, norms
from engine.updates.adam import Adam


class Shampoo(Update, frozen=True, tag="shampoo"):
    """Shampoo: L ← L + GGᵀ, R ← R + GᵀG, W ← W − η L^(−1/4) G R^(−1/4), from L = R = εI, layer by layer.

    An x ↦ Ux turns G into GUᵀ and R into URUᵀ, and leaves L as it is. With `factors` = left it is L^(−1/2) G.
    `grafting` keeps the direction and takes the length of another rule's step: of G (sgd) or of that of Adam
    with its usual constants. With `block` R is kept for blocks of so many features only, as is done where d
    is large. Each step costs an eigendecomposition of each factor, in float64. Source: Gupta, Koren, Singer
    2018; Anil et al. 2020; theory-symmetry.md §65.
    """

    own_start: ClassVar[bool] = False
    matrices: ClassVar[int] = 5
    output_matrices: ClassVar[int] = 5

    lr: Rate = 0.05
    factors: Annotated[
        Literal["both", "left"], Meta(title="factors", description="of outputs and inputs, or outputs alone")
    ] = "both"
    grafting: Annotated[
        Literal["none", "sgd", "adam"], Meta(title="grafting", description="whose length a step has")
    ] = "none"
    block: Annotated[
        Count | None, Meta(title="block", description="features of a block of R; none: all of them")
    ] = None
    eps: Annotated[float, Meta(gt=0, title="ε", description="L and R start at ε I")] = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block is not None and self.factors == "left":
            raise BadField("block", "with the left factor alone there is no R to be cut; leave it out")

    def start(self, params: Params) -> tuple[Params, State]:
        left, right = {}, {}
        for name, w in params.items():
            W = as_matrix(w).double()
            left[name] = self._identity(W.shape[1], W).repeat(len(W), 1, 1)
            if self.factors == "both":
                cut = self._cut(W)
                right[name] = self._identity(cut.shape[-1], W).repeat(*cut.shape[:2], 1, 1)
        state = {"L": left, "R": right}
        return params, {**state, **Adam().start(params)[1]} if self.grafting == "adam" else state

    def _identity(self, size: int, like: torch.Tensor) -> torch.Tensor:
        return self.eps * torch.eye(size, dtype=like.dtype, device=like.device)

    def _cut(self, G: torch.Tensor) -> torch.Tensor:
        """Matrices [B, h, d] as blocks of features [B, d/block, h, block], the last one filled up with 0."""
        size = min(self.block or G.shape[2], G.shape[2])
        padded = torch.nn.functional.pad(G, (0, -G.shape[2] % size))
        return padded.reshape(*G.shape[:2], -1, size).transpose(1, 2)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        left, right, directions = {}, {}, {}
        for name, g in gradients.items():
            G = as_matrix(g).double()
            left[name] = state["L"][name] + G @ G.mT
            if self.factors == "left":
                move = power(left[name], -1 / 2, self.eps) @ G
            else:
                blocks = self._cut(G)  # [B, blocks, h, size]
                right[name] = state["R"][name] + blocks.mT @ blocks
                turned = blocks @ power(right[name], -1 / 4, self.eps)
                whole = turned.transpose(1, 2).flatten(2)[..., : G.shape[2]]
                move = power(left[name], -1 / 4, self.eps) @ whole
            directions[name] = move.to(g.dtype).view_as(g)
        new = {"L": left, "R": right}
        if self.grafting == "adam":
            lengths, adams = Adam().directions(gradients, {name: state[name] for name in ("m", "v", "steps")})
            return descended(params, _of_length(directions, lengths), rates), {**new, **adams}
        if self.grafting == "sgd":
            directions = _of_length(directions, gradients)
        return descended(params, directions, rates), new

    @property
    def along_gradients(self) -> bool:
        return self.block is None and self.grafting != "adam"

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        if self.block is not None and self.block < matrix.shape()[1]:
            reason = f"R is cut into blocks of {self.block} features, which rotations mix"
            return Verdict(False, reason, SIGN_FLIPS)
        if self.grafting == "adam":
            reason = "the length of its steps is that of steps of Adam, which depends on the axes"
            return Verdict(False, reason, SIGNED_PERMUTATIONS)
        if self.factors == "left":
            return Verdict(True, "the inner products of the rows of gradients do not change")
        return Verdict(True, "R turns with the instances, so L^(−1/4) G R^(−1/4) does too")


def _of_length(directions: Params, others: Params) -> Params:
    """The same directions in the lengths of other steps, 0 where a direction is 0."""
    found, own, theirs = {}, norms(directions), norms(others)
    for name, v in directions.items():
        moves = own[name] > 0
        found[name] = torch.where(moves, v * (theirs[name] / own[name].where(moves, 1.0)), 0.0)
    return found
