"""The unnormalised exponentiated gradient."""

from __future__ import annotations

from typing import Literal

from engine.architectures import Architecture
from engine.core.groups import PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import (
    Mirror,
    MultiplicativeStep,
    MultiplicativeUpdate,
    Rate,
    State,
    UpdateStructure,
    Weight,
    even,
    only_linear,
)


class EGU(MultiplicativeUpdate, frozen=True, tag="egu"):
    """Exponentiated gradient, unnormalised: w ← w ⊙ exp(−η g), from w = w₀ > 0 (default 1/d).

    Weights never change sign, so the rule is for targets with nonnegative weights. For other targets, use
    `egu-pm`. Source: KW97; theory/conventions#conventions, theory/conventions#update-rules.
    """

    lr: Rate = 0.05
    w0: Weight = None

    def structure(self) -> UpdateStructure:
        exponentiated: Literal["weights"] | None = None if self.w0 is not None else "weights"
        return super().structure()._replace(by_operators=True, layerwise=True, exponentiates=exponentiated)

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        return even(params, self.w0), {}

    def multiply(self, params: Params, factors: Params, state: State) -> tuple[Params, State]:
        return {layer: factors[layer].mul_(w) for layer, w in params.items()}, state

    @property
    def mirror(self) -> Mirror:
        return Mirror(
            lambda params, _: {layer: torch.log(w) for layer, w in params.items()},
            lambda dual: {layer: torch.exp(theta) for layer, theta in dual.items()},
        )

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        return MultiplicativeStep(exponential=True)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "every weight is multiplied by a separate factor, so steps depend on the coordinate axes",
            PERMUTATIONS,
        )
