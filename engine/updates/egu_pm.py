"""The exponentiated gradient for weights of both signs."""

from __future__ import annotations

from engine.architectures import Params
from engine.lazy import torch
from engine.parts import Finding
from engine.updates import Rate, State, Update, Weight


class EGUPM(Update, frozen=True, tag="egu-pm"):
    """EGU±: w = w₊ − w₋ with w₊ ← w₊ ⊙ exp(−η g) and w₋ ← w₋ ⊙ exp(η g).

    From w = 0 both halves start at w₀ (default 1/(2d)); from another start w they are
    (±w + √(w² + 4w₀²))/2, which keeps w₊ w₋ = w₀². It is `hypentropy` with β = 2 w₀.
    Source: KW97; theory.md §4.
    """

    lr: Rate = 0.05
    w0: Weight = None

    def start(self, params: Params) -> tuple[Params, State]:
        state: State = {"plus": {}, "minus": {}}
        for name, w in params.items():
            root = torch.sqrt(w * w + 4 * (self.w0 or 0.5 / w.shape[-1]) ** 2)
            state["plus"][name] = (root + w) / 2
            state["minus"][name] = (root - w) / 2
        return params, state

    def step(self, params: Params, gradients: Params, state: State) -> tuple[Params, State]:
        new: State = {"plus": {}, "minus": {}}
        for name, g in gradients.items():
            factor = torch.exp(-self.lr * g)
            new["plus"][name] = state["plus"][name] * factor
            new["minus"][name] = state["minus"][name] / factor
        return {name: new["plus"][name] - new["minus"][name] for name in params}, new

    def invariance(self) -> Finding:
        return Finding(False, "every weight is multiplied by its own factor, which tells the features apart")
