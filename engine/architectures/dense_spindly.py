"""A spindly network on top of a trained fully connected layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Edges, Layout, Start
from engine.architectures.spindly import chains
from engine.core.groups import PERMUTATIONS, TRIVIAL
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import MOST_LAYERS, Count, Positive, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class DenseSpindly(Architecture, frozen=True, tag="dense-spindly"):
    """A trained fully connected layer with a spindly net on top: ŷ = Σ_j (W₁x)_j (u_j^L − v_j^L).

    The v_j exist only if `signed` is set. By default, W₁ [h, d] starts with independent N(0, s²/d) weights,
    with s = `scale`. This start is rotation invariant, so the whole net is rotation invariant despite the
    spindly net. With `init` = identity, W₁ starts at s·I, which is not rotation invariant. The spindly net
    starts at u^L = w₀, by default 1/h. If `signed` is set, it starts at u^L = v^L = w₀, by default 1/(2h).
    Source: WKA21 Thm 2; the talk on WKA21; theory/conventions#architectures.
    """

    width: Annotated[
        Count | None, Meta(title="width h", description="number of units; none: as many as inputs")
    ] = None
    depth: Annotated[
        int, Meta(ge=2, le=MOST_LAYERS, title="depth L", description="exponent L of the spindly weights")
    ] = 2
    signed: Annotated[bool, Meta(title="signed", description="u^L − v^L can be negative")] = False
    init: Annotated[
        Literal["gaussian", "identity"], Meta(title="start", description="how the first layer starts")
    ] = "gaussian"
    scale: Annotated[float, Meta(gt=0, title="scale s", description="size of the first layer's start")] = 1.0
    w0: Annotated[Positive | None, Meta(title="start w₀", description="none: 1/h, or 1/(2h) if signed")] = (
        None
    )

    def structure(self) -> ArchitectureStructure:
        return super().structure()._replace(learner_kind="sparse", fixed_input_start=self.init == "identity")

    @property
    def layers(self) -> tuple[str, ...]:
        return ("W1", "u", "v") if self.signed else ("W1", "u")

    def start(self, stream: Stream, d: int) -> Start:
        h = self.width or d
        if self.init == "identity":
            first = np.tile(self.scale * np.eye(h, d), (stream.replicas, 1, 1))
        else:
            first = self.scale / np.sqrt(d) * stream.normal(h, d)
        w0 = self.w0 or (0.5 / h if self.signed else 1.0 / h)
        top = np.full((stream.replicas, h), w0 ** (1.0 / self.depth))
        return {"W1": first, "u": top, "v": top} if self.signed else {"W1": first, "u": top}

    def layout(self, d: int) -> Layout:
        h = self.width or d
        return Layout({layer: (h, d) if layer == "W1" else (h,) for layer in self.layers})

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return [instances.inner(params["W1"])]

    def weights(self, params: Params) -> torch.Tensor:
        return (self._output_weights(params)[:, None] @ params["W1"])[:, 0]

    def _output_weights(self, params: Params) -> torch.Tensor:
        top = params["u"] ** self.depth
        return top - params["v"] ** self.depth if self.signed else top

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        parts = [params[layer][:, :units] for layer in self.layers[1:]]
        first = params["W1"][:, :units, inputs]
        return [Edges(first), *chains(parts, self.depth)]

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        by_weight = instances.combine(slope(self.predict(params, instances)))
        by_top = self.depth * (params["W1"] @ by_weight[:, :, None])[:, :, 0]
        gradients = {
            "W1": self._output_weights(params)[:, :, None] * by_weight[:, None],
            "u": by_top * params["u"] ** (self.depth - 1),
        }
        if self.signed:
            gradients["v"] = -by_top * params["v"] ** (self.depth - 1)
        return gradients

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        if self.init == "identity":
            return params
        return {**params, "W1": turn(params["W1"])}

    def invariance(self, d: int) -> Verdict:
        if self.init == "identity":
            reason = "the identity start of the first layer singles out the coordinate axes"
            return Verdict(False, reason, TRIVIAL if (self.width or d) < d else PERMUTATIONS)
        return Verdict(True, "the input layer is fully connected and its Gaussian start favours no direction")
