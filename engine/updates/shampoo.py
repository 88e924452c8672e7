"""Shampoo."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from engine.core.groups import SIGN_FLIPS, SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Count, Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, as_matrix, descended, norms
from engine.updates.adam import Adam


class Shampoo(Update, frozen=True, tag="shampoo"):
    """Shampoo: L ← L + GGᵀ, R ← R + GᵀG, W ← W − η L^(−1/4) G R^(−1/4) for each layer, from L = R = εI.

    G is the gradient of the layer. If every instance x becomes Ux, then G becomes GUᵀ, R becomes URUᵀ, and L
    does not change. With `factors` = left, the direction of the step is L^(−1/2) G. With `grafting`, the step
    keeps its direction but has the length of another rule's step. For `grafting` = sgd, this length is that
    of G. For `grafting` = adam, it is that of Adam's step with the usual constants. `block` splits G into
    blocks with this number of columns, as is usual for large d. Each block has its own L and R. Each step
    requires an eigendecomposition of L and of R, in float64. Source: Gupta, Koren, Singer 2018; Anil et al.
    2020; theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.05
    factors: Annotated[
        Literal["both", "left"], Meta(title="factors", description="L and R (outputs and inputs), or L alone")
    ] = "both"
    grafting: Annotated[
        Literal["none", "sgd", "adam"], Meta(title="grafting", description="rule whose step length is used")
    ] = "none"
    block: Annotated[
        Count | None,
        Meta(
            title="block", description="number of columns per block, with separate L and R; none: all columns"
        ),
    ] = None
    eps: Annotated[float, Meta(gt=0, title="ε", description="L and R start at ε I")] = 1e-6

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="spectral",
            columns=self.block,
            own_start=False,
            matrices=5,
            output_matrices=5,
            layerwise=True,
            along_gradients=self.block is None and self.grafting != "adam",
        )

    def start(self, params: Params) -> tuple[Params, State]:
        left_factors, right_factors = {}, {}
        for layer, w in params.items():
            blocks = self._column_blocks(as_matrix(w).double())
            left_factors[layer] = self._scaled_identity(blocks.shape[2], blocks)
            if self.factors == "both":
                right_factors[layer] = self._scaled_identity(blocks.shape[3], blocks)
        state = {"L": left_factors, "R": right_factors}
        return params, {**state, **Adam().start(params)[1]} if self.grafting == "adam" else state

    def _scaled_identity(self, size: int, blocks: torch.Tensor) -> torch.Tensor:
        identity = self.eps * torch.eye(size, dtype=blocks.dtype, device=blocks.device)
        return identity.repeat(*blocks.shape[:2], 1, 1)

    def _column_blocks(self, G: torch.Tensor) -> torch.Tensor:
        """Divide matrices [B, h, d] into column blocks [B, d/block, h, block]; pad the last one with 0."""
        size = self._columns_per_block(G.shape[2])
        padded = torch.nn.functional.pad(G, (0, -G.shape[2] % size))
        return padded.reshape(*G.shape[:2], -1, size).transpose(1, 2)

    def _columns_per_block(self, inputs: int) -> int:
        return min(self.block or inputs, inputs)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        left_factors, right_factors, directions = {}, {}, {}
        for layer, g in gradients.items():
            G = as_matrix(g).double()
            blocks = self._column_blocks(G)  # [B, blocks, h, size]
            left_factors[layer] = state["L"][layer] + blocks @ blocks.mT
            if self.factors == "left":
                moves = power_times(left_factors[layer], -1 / 2, self.eps, blocks)
            else:
                right_factors[layer] = state["R"][layer] + blocks.mT @ blocks
                moved = power_times(left_factors[layer], -1 / 4, self.eps, blocks)
                moves = power_times(right_factors[layer], -1 / 4, self.eps, moved.mT).mT
            move = moves.transpose(1, 2).flatten(2)[..., : G.shape[2]]
            directions[layer] = move.to(g.dtype).reshape(g.shape)
        new = {"L": left_factors, "R": right_factors}
        if self.grafting == "adam":
            lengths, adams = Adam().directions(gradients, {part: state[part] for part in ("m", "v", "steps")})
            return descended(params, _with_lengths_of(directions, lengths), rates), {**new, **adams}
        if self.grafting == "sgd":
            directions = _with_lengths_of(directions, gradients)
        return descended(params, directions, rates), new

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        if self.block is not None and self.block < matrix.shape()[1]:
            reason = (
                f"L and R are separate for each block of {self.block} features, and rotations mix the blocks"
            )
            return Verdict(False, reason, SIGN_FLIPS)
        if self.grafting == "adam":
            reason = "steps have the length of Adam's steps, and this length depends on the coordinate axes"
            return Verdict(False, reason, SIGNED_PERMUTATIONS)
        if self.factors == "left":
            return Verdict(True, "rotations do not change the inner products of the rows of a gradient")
        return Verdict(
            True,
            "rotating the instances rotates the gradient G and R = εI + Σ GᵀG, "
            "but not L = εI + Σ GGᵀ, so the step rotates, too",
        )


def _with_lengths_of(directions: Params, steps: Params) -> Params:
    """Return `directions`, rescaled to the length of `steps` in each layer. Zero directions stay 0."""
    rescaled, lengths, step_lengths = {}, norms(directions), norms(steps)
    for layer, v in directions.items():
        moves = lengths[layer] > 0
        rescaled[layer] = torch.where(
            moves, v * (step_lengths[layer] / lengths[layer].where(moves, 1.0)), 0.0
        )
    return rescaled


def eigh(matrices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the eigenvalues [..., d], smallest first, and eigenvectors of symmetric matrices [..., d, d].

    If a matrix has entries that are not finite, its eigenvalues are NaN. Without this rule, LAPACK would
    raise an error for the whole batch.
    """
    finite = matrices.isfinite().all(-1).all(-1)
    sizes, axes = torch.linalg.eigh(matrices.where(finite[..., None, None], 0.0))
    return sizes.where(finite[..., None], torch.nan), axes


def power_times(matrices: torch.Tensor, exponent: float, least: float, factors: torch.Tensor) -> torch.Tensor:
    """Return S^p F for symmetric matrices S, after eigenvalues below `least` are set to `least`.

    Args:
        factors: matrices F [..., d, h].
    """
    sizes, axes = eigh(matrices)
    return axes @ ((sizes.clamp(min=least) ** exponent)[..., None] * (axes.mT @ factors))
