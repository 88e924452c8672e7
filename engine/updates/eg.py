"""The normalised exponentiated gradient."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.architectures import Architecture, Params
from engine.lazy import torch
from engine.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, only_linear


class EG(Update, frozen=True, tag="eg"):
    """Exponentiated gradient: w ← U · w ⊙ exp(−η g) / Σ_i w_i exp(−η g_i), from w = U/d.

    The weights are positive and always sum to `total` U. Source: KW97; theory.md §4.
    """

    own_start: ClassVar[bool] = True

    lr: Rate = 0.05
    total: Annotated[float, Meta(gt=0, title="total U", description="the sum of the weights")] = 1.0

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        return {name: torch.full_like(w, self.total / w.shape[-1]) for name, w in params.items()}, {}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        new = {}
        for name, w in params.items():
            new[name] = self.total * torch.softmax(torch.log(w) - rates[name] * gradients[name], dim=-1)
        return new, state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(False, "every weight is multiplied by its own factor, which tells the features apart")
