"""The exponentiated gradient for weights of both signs."""

from __future__ import annotations

from engine.architectures import Architecture
from engine.core.groups import SIGNED_PERMUTATIONS
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
)


class EGUPM(MultiplicativeUpdate, frozen=True, tag="egu-pm"):
    """EGU±: w = w₊ − w₋ with w₊ ← w₊ ⊙ exp(−η g) and w₋ ← w₋ ⊙ exp(η g).

    If w starts at 0, both w₊ and w₋ start at w₀ (default 1/(2d)). If w starts at another value, w₊ and w₋
    start at (±w + √(w² + 4w₀²))/2, so that w₊ w₋ = w₀². The rule equals `hypentropy` with β = 2 w₀. Source:
    KW97; theory/conventions#update-rules.
    """

    lr: Rate = 0.05
    w0: Weight = None

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            own_start=False, weights_of_state=True, by_operators=True, layerwise=True, entries_alike=True
        )

    def start(self, params: Params) -> tuple[Params, State]:
        state: State = {"plus": {}, "minus": {}}
        for layer, w in params.items():
            product = self._start_of_halves(w) ** 2
            larger = ((w * w + 4 * product) ** 0.5 + abs(w)) / 2
            smaller = product / larger  # a quotient, because root − |w| would cancel
            positive = w >= 0
            state["plus"][layer] = positive * larger + ~positive * smaller
            state["minus"][layer] = positive * smaller + ~positive * larger
        return params, state

    def _start_of_halves(self, w: torch.Tensor) -> float:
        return self.w0 or 0.5 / w.shape[-1]

    @property
    def mirror(self) -> Mirror:
        return Mirror(
            lambda params, _: {
                layer: torch.asinh(w / (2 * self._start_of_halves(w))) for layer, w in params.items()
            },
            lambda dual: {layer: 2 * self._start_of_halves(z) * torch.sinh(z) for layer, z in dual.items()},
        )

    def multiply(self, params: Params, factors: Params, state: State) -> tuple[Params, State]:
        new: State = {"plus": {}, "minus": {}}
        for layer, factor in factors.items():
            new["plus"][layer] = state["plus"][layer] * factor
            new["minus"][layer] = torch.div(state["minus"][layer], factor, out=factor)
        return {layer: new["plus"][layer] - new["minus"][layer] for layer in params}, new

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        if not architecture.structure().trains_weights:
            return None
        return MultiplicativeStep(
            exponential=True, halves=lambda params, state: (state["plus"]["w"], state["minus"]["w"])
        )

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "every weight is multiplied by a separate factor, so steps depend on the coordinate axes",
            SIGNED_PERMUTATIONS,
        )
