"""Mirror descent with the hypentropy potential."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Positive, Verdict
from engine.problems.matrices import Matrix
from engine.updates import Mirror, MultiplicativeStep, Rate, Rates, State, Update, UpdateStructure, descended


class Hypentropy(Update, frozen=True, tag="hypentropy"):
    """Hypentropy mirror descent: w ← β sinh(asinh(w/β) − η g), from any start.

    If the start is 0, the rule equals EGU± with w₊ = w₋ = β/2 at the start. The default is β = 1/d. For
    weights far below β, the rule acts like gradient descent with the rate β η. Source: Ghai, Hazan, Singer
    2020; WGL20; theory/conventions#update-rules.
    """

    lr: Rate = 0.05
    beta: Annotated[
        Positive | None,
        Meta(
            title="β",
            description="scale of weights; weights far below β move as in gradient descent; none: 1/d",
        ),
    ] = None

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="multiplicative",
            own_start=False,
            weights_of_state=True,
            layerwise=True,
            entries_alike=True,
        )

    def _beta(self, w: torch.Tensor) -> float:
        return self.beta or 1 / w.shape[-1]

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"dual": {layer: torch.asinh(w / self._beta(w)) for layer, w in params.items()}}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        dual = descended(state["dual"], gradients, rates)
        return self._weights(dual), {"dual": dual}

    def _weights(self, dual: Params) -> Params:
        return {layer: self._beta(z) * torch.sinh(z) for layer, z in dual.items()}

    @property
    def mirror(self) -> Mirror:
        return Mirror(lambda _, state: state["dual"], self._weights)

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        if not architecture.structure().trains_weights:
            return None
        return MultiplicativeStep(exponential=True, halves=self._positive_and_negative_half)

    def _positive_and_negative_half(self, params: Params, state: State) -> tuple[torch.Tensor, ...]:
        """Return the pair ½ β e^z and ½ β e^(−z). Their difference is β sinh z."""
        z, beta = state["dual"]["w"], self._beta(params["w"])
        return beta / 2 * torch.exp(z), beta / 2 * torch.exp(-z)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "sinh acts on every weight separately, so steps depend on the coordinate axes",
            SIGNED_PERMUTATIONS,
        )
