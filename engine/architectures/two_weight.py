"""The spindly network with two different weights on each path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Edges, Layout, Start
from engine.core.groups import PERMUTATIONS, SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Positive, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class TwoWeight(Architecture, frozen=True, tag="two-weight"):
    """A diagonal linear net with two weights per input: ŷ = Σ_i u_i v_i x_i.

    With p = (u + v)/2 and q = (u − v)/2, the weights of the inputs are u_i v_i = p_i² − q_i². So gradient
    descent on this net with rate 2η equals gradient descent on the signed spindly net with rate η. `init`
    selects the start. `zero`: u = 2√w₀ and v = 0, so that p = q = √w₀ and the weights are 0. This is the
    unbiased start of WGL20 with α = √w₀. `equal`: u = v = √w₀, so that the weights are w₀ and stay positive.
    The default w₀ is 1/(2d) for `zero` and 1/d for `equal`. Source: WGL20; theory/conventions#conventions,
    theory/conventions#architectures.
    """

    init: Annotated[
        Literal["zero", "equal"], Meta(title="start", description="zero: weights uv = 0; equal: u = v")
    ] = "zero"
    w0: Annotated[
        Positive | None,
        Meta(title="start w₀", description="none: 1/(2d) if the start is zero, 1/d if it is equal"),
    ] = None

    def structure(self) -> ArchitectureStructure:
        return super().structure()._replace(learner_kind="sparse", starts_alike=True, fixed_input_start=True)

    @property
    def layers(self) -> tuple[str, ...]:
        return ("u", "v")

    def start(self, stream: Stream, d: int) -> Start:
        shape = (stream.replicas, d)
        if self.init == "equal":
            start = np.full(shape, np.sqrt(self.w0 or 1.0 / d))
            return {"u": start, "v": start}
        return {"u": np.full(shape, 2 * np.sqrt(self.w0 or 0.5 / d)), "v": np.zeros(shape)}

    def layout(self, d: int) -> Layout:
        return Layout(dict.fromkeys(self.layers, (d,)))

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        return params["u"] * params["v"]

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        return [Edges(torch.diag_embed(params["u"][:, inputs])), Edges(params["v"][:, None, inputs])]

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        by_weight = instances.combine(slope(self.predict(params, instances)))
        return {"u": by_weight * params["v"], "v": by_weight * params["u"]}

    def invariance(self, d: int) -> Verdict:
        reason = "every input has a separate edge, so the net depends on the coordinate axes"
        return Verdict(False, reason, SIGNED_PERMUTATIONS if self.init == "zero" else PERMUTATIONS)
