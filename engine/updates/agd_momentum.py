"""Automatic gradient descent with momentum."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.params import Params
from engine.core.parts import SELDOM, Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rates, State, UpdateStructure, zeros
from engine.updates.agd import AGD, Automatic


class AGDMomentum(Automatic, frozen=True, tag="agd-momentum"):
    """Automatic gradient descent along averaged gradients: V_l ← μ V_l + (1 − μ) ∇_l, from V_l = 0.

    The step is that of `agd` along V_l. V_l is an average of gradients, not a sum, so the norm of V_l has the
    size of a gradient norm. By default, G is computed from V_l. With `plain_size`, G is computed from ∇_l,
    and only the direction of the step is averaged. Source: Bernstein et al. 2023 (which gives no formula);
    theory/automatic-descent#majoriser.
    """

    momentum: Annotated[
        float, Meta(ge=0, lt=1, title="momentum μ", description="share of V that steps keep")
    ] = 0.9
    plain_size: Annotated[
        bool,
        Meta(
            title="present norm",
            description="compute the norm G, which sets the rate, from the present gradient ∇, not from V",
            extra=SELDOM,
        ),
    ] = False

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="gradient", own_start=False, along_gradients=True)

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"V": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        V = {
            layer: self.momentum * old + (1 - self.momentum) * gradients[layer]
            for layer, old in state["V"].items()
        }
        measured = gradients if self.plain_size else V
        return AGD(loss_scale=self.loss_scale).moved(params, V, rates, measured), {"V": V}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True, "averaged gradients rotate with the instances, and rotations preserve the norms of averages"
        )
