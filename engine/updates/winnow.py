"""Winnow."""

from __future__ import annotations

from engine.architectures import Architecture, Params
from engine.lazy import torch
from engine.losses import Loss
from engine.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, Weight, only_linear, only_mistakes


class Winnow(Update, frozen=True, tag="winnow"):
    """Winnow: after a mistake, y xᵀw ≤ 0, w ← w ⊙ exp(η y x), and otherwise nothing, from w₀ (default 1/d).

    Features and labels are ±1 and the threshold is 0. A rule sees gradients only; those of the loss
    `mistake` are −y x after a mistake and 0 otherwise, so it takes no other loss: there it is EGU.
    Source: Littlestone 1988; theory.md §4.
    """

    lr: Rate = 0.5
    w0: Weight = None

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def refuses_loss(self, loss: Loss) -> str | None:
        return only_mistakes(self, loss)

    def start(self, params: Params) -> tuple[Params, State]:
        return {name: torch.full_like(w, self.w0 or 1 / w.shape[-1]) for name, w in params.items()}, {}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        return {name: w * torch.exp(-rates[name] * gradients[name]) for name, w in params.items()}, state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(False, "every weight is multiplied by its own factor, which tells the features apart")
