"""The single neuron with a transfer function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Edges, Layout, Start, StructureAt
from engine.core.activations import KINKED, Activation, kinked, transfer, with_slope
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import BadField, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Neuron(Architecture, frozen=True, tag="neuron"):
    """A single neuron with a transfer function σ: ŷ = σ(xᵀw).

    The neuron starts at w = 0 or, with `init` = gaussian, at independent entries N(0, s²/d), with s =
    `scale`. The functions relu, sqrt2_relu, leaky_relu and selu have a kink at 0 and require `init` =
    gaussian. The loss compares the labels with ŷ, after σ has been applied. Source: Helmbold, Kivinen,
    Warmuth 1999; WKA21 Thm 2; theory/conventions#architectures.
    """

    activation: Activation = "tanh"
    init: Annotated[Literal["zero", "gaussian"], Meta(title="start", description="how the weights start")] = (
        "zero"
    )
    scale: Annotated[float, Meta(gt=0, title="scale s", description="size of a gaussian start")] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init == "zero" and self.activation in KINKED:
            raise BadField("init", kinked(self.activation))

    def structure(self) -> ArchitectureStructure:
        zero = self.init == "zero"
        return (
            super()
            .structure()
            ._replace(learner_kind="by-rule", starts_at_zero=zero, starts_alike=zero, fixed_input_start=zero)
        )

    def structure_at(self, d: int) -> StructureAt:
        return super().structure_at(d)._replace(linear_layers=1 if self.activation == "identity" else None)

    @property
    def layers(self) -> tuple[str, ...]:
        return ("w",)

    def start(self, stream: Stream, d: int) -> Start:
        if self.init == "zero":
            return {"w": np.zeros((stream.replicas, d))}
        return {"w": self.scale / np.sqrt(d) * stream.normal(d)}

    def layout(self, d: int) -> Layout:
        return Layout({"w": (d,)})

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return transfer(self.activation, self._signal_before_activation(params, instances))

    def _signal_before_activation(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(params["w"])

    def weights(self, params: Params) -> torch.Tensor | None:
        return params["w"] if self.activation == "identity" else None

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        return [Edges(params["w"][:, None, inputs])]

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        predictions, slopes = with_slope(self.activation, self._signal_before_activation(params, instances))
        return {"w": instances.combine(slope(predictions) * slopes)}

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        return {"w": turn(params["w"])}

    def invariance(self, d: int) -> Verdict:
        if self.init == "zero":
            return Verdict(True, "the weights start at 0, which favours no direction")
        return Verdict(True, "the Gaussian start of the weights favours no direction")
