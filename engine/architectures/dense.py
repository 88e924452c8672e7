"""The fully connected network."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, Params, Start
from engine.lazy import torch
from engine.parts import Count, Verdict
from engine.problems.instances import Instances
from engine.streams import Stream

Activation = Literal["identity", "relu", "tanh", "sigmoid", "gelu"]


class Dense(Architecture, frozen=True, tag="dense"):
    """A fully connected net: ŷ = W_L σ(… σ(W_1 x)), no biases, any depth and width.

    Starts, with s = `scale`: `gaussian` draws every weight of layer l from N(0, s²/fan-in); `zero` does the
    same but starts the first layer at 0; `identity` makes every hidden matrix s·I and every output weight s;
    `diagonal` makes every hidden matrix diagonal with N(0, s²) entries, with a Gaussian output. Only the
    first two are rotation invariant in law. Source: WKA21 Thm 2; theory.md §3, §8.
    """

    widths: Annotated[
        tuple[Count, ...],
        Meta(min_length=1, title="widths", description="hidden units of each layer"),
    ] = (128,)
    activation: Annotated[Activation, Meta(title="activation", description="transfer σ")] = "identity"
    init: Annotated[
        Literal["gaussian", "zero", "identity", "diagonal"],
        Meta(title="start", description="how the weights start"),
    ] = "gaussian"
    scale: Annotated[float, Meta(gt=0, title="scale s", description="size of the start")] = 1.0

    def _fans(self, d: int) -> list[tuple[int, int]]:
        """(fan-out, fan-in) of every layer; the last has one output."""
        sizes = [d, *self.widths, 1]
        return list(zip(sizes[1:], sizes[:-1], strict=True))

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"W{number}" for number in range(1, len(self.widths) + 2))

    def start(self, stream: Stream, d: int) -> Start:
        layers: Start = {}
        for number, (fan_out, fan_in) in enumerate(self._fans(d), start=1):
            output = number == len(self.widths) + 1
            if self.init == "identity":
                one = np.ones((1, fan_in)) if output else np.eye(fan_out, fan_in)
                layer = np.tile(self.scale * one, (stream.replicas, 1, 1))
            elif self.init == "diagonal" and not output:
                layer = self.scale * stream.normal(fan_out, 1) * np.eye(fan_out, fan_in)
            elif self.init == "zero" and number == 1:
                layer = np.zeros((stream.replicas, fan_out, fan_in))
            else:
                layer = self.scale / np.sqrt(fan_in) * stream.normal(fan_out, fan_in)
            layers[f"W{number}"] = layer
        return layers

    def size(self, d: int) -> int:
        return sum(fan_out * fan_in for fan_out, fan_in in self._fans(d))

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        first, *hidden = params.values()
        signal = instances.inner(first)  # [B, h, n]
        for layer in hidden:
            signal = layer @ self._transfer(signal)
        return signal[:, 0]

    def _transfer(self, signal: torch.Tensor) -> torch.Tensor:
        if self.activation == "identity":
            return signal
        if self.activation == "gelu":
            return torch.nn.functional.gelu(signal)
        return {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}[self.activation](signal)

    def weights(self, params: Params) -> torch.Tensor | None:
        if self.activation != "identity":
            return None
        first, *hidden = params.values()
        product = first
        for layer in hidden:
            product = layer @ product
        return product[:, 0]

    def rotated(self, params: Params, rotation: torch.Tensor) -> Params:
        if self.init in ("identity", "diagonal"):
            return params
        return {**params, "W1": params["W1"] @ rotation.T}

    def invariance(self) -> Verdict:
        if self.init in ("identity", "diagonal"):
            return Verdict(False, f"the {self.init} start of the first layer singles out the coordinate axes")
        if self.init == "zero":
            return Verdict(True, "the input layer is fully connected and starts at 0")
        return Verdict(True, "the input layer is fully connected and its Gaussian start favours no direction")
