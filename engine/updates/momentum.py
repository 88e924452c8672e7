"""Gradient descent with momentum."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, descended, zeros


class Momentum(Update, frozen=True, tag="momentum"):
    """Gradient descent with heavy-ball momentum: v ← μ v + g, w ← w − η v, from v = 0.

    Source: theory/conventions#update-rules.
    """

    lr: Rate = 0.00048828125
    momentum: Annotated[
        float, Meta(ge=0, lt=1, title="momentum μ", description="share of v that steps keep")
    ] = 0.9

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="gradient",
            own_start=False,
            columnwise=True,
            layerwise=True,
            entries_alike=True,
            along_gradients=True,
            stable_up_to=2.0 * (1.0 + self.momentum),
        )

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"v": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        v = {layer: gradients[layer].add(old, alpha=self.momentum) for layer, old in state["v"].items()}
        return descended(params, v, rates), {"v": v}

    def response(self, steps: int) -> NDArray[np.float64]:
        return (1 - self.momentum ** np.arange(1.0, steps + 1)) / (1 - self.momentum)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "momentum sums gradients, which stay in the span of the instances")
