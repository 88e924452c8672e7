"""The p-norm algorithm: mirror descent with the squared q-norm."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Mirror, Rate, Rates, State, Update, UpdateStructure, descended


class PNorm(Update, frozen=True, tag="p-norm"):
    """The p-norm algorithm, which is mirror descent with ½‖w‖_q²: θ ← θ − η g, then w = ∇½‖θ‖_p².

    Here 1/p + 1/q = 1. The dual weights θ start at ∇½‖w‖_q² for the initial weights w. Each weight is w_i =
    sign(θ_i) |θ_i|^(p−1) / ‖θ‖_p^(p−2). Each weight matrix, weight vector or bias vector of a net has a
    separate norm. With p = 2, the rule is gradient descent. With the default p = 2 ln d, where d is the
    number of entries, the rule is close to EG. Source: Grove, Littlestone, Schuurmans 2001;
    theory/conventions#update-rules.
    """

    lr: Rate = 0.03125
    p: Annotated[
        Annotated[float, Meta(ge=2, le=1000)] | None,
        Meta(title="p", description="2 is gradient descent; none: 2 ln d"),
    ] = None

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="gradient" if self.p == 2 else "other",
            own_start=False,
            weights_of_state=True,
            layerwise=True,
            along_gradients=self.p == 2,
        )

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {
            "dual": {layer: self._link_function(w, 1 / (1 - 1 / self._p(w))) for layer, w in params.items()}
        }

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        dual = descended(state["dual"], gradients, rates)
        return self._weights(dual), {"dual": dual}

    def _weights(self, dual: Params) -> Params:
        return {layer: self._link_function(theta, self._p(theta)) for layer, theta in dual.items()}

    @property
    def mirror(self) -> Mirror:
        return Mirror(lambda _, state: state["dual"], self._weights)

    def _p(self, w: torch.Tensor) -> float:
        return self.p or max(2.0, 2 * math.log(w[0].numel()))

    def _link_function(self, w: torch.Tensor, p: float) -> torch.Tensor:
        """Return the gradient of ½‖w‖_p². Dividing by the largest entry first avoids overflow."""
        flat = w.reshape(len(w), -1)
        largest = flat.abs().amax(1, keepdim=True).clamp(min=torch.finfo(w.dtype).tiny)
        part = flat / largest
        norm = part.abs().pow(p).sum(1, keepdim=True).pow(1 / p)
        scale = torch.where(norm > 0, norm.pow(2 - p), 0.0)
        return (largest * scale * part.sign() * part.abs().pow(p - 1)).view_as(w)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        if self.p == 2:
            return Verdict(
                True, "with p = 2, the rule is gradient descent and stays in the span of the instances"
            )
        return Verdict(
            False, "powers of single weights depend on the coordinate axes, unless p = 2", SIGNED_PERMUTATIONS
        )
