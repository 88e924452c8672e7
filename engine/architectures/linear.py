"""The single linear neuron."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.architectures import (
    Architecture,
    ArchitectureStructure,
    Edges,
    LayerSignals,
    Layout,
    Start,
    StructureAt,
)
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Linear(Architecture, frozen=True, tag="linear"):
    """A single linear neuron: ŷ = xᵀw, started at w = 0 unless the update rule sets its own start.

    Source: theory/conventions#architectures.
    """

    def structure(self) -> ArchitectureStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="by-rule",
            trains_weights=True,
            starts_at_zero=True,
            starts_alike=True,
            fixed_input_start=True,
            layered=True,
        )

    def structure_at(self, d: int) -> StructureAt:
        return super().structure_at(d)._replace(linear_layers=1, kernel_at_start={"w": 1.0})

    @property
    def layers(self) -> tuple[str, ...]:
        return ("w",)

    def start(self, stream: Stream, d: int) -> Start:
        return {"w": np.zeros((stream.replicas, d))}

    def layout(self, d: int) -> Layout:
        return Layout({"w": (d,)})

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(params["w"])

    def weights(self, params: Params) -> torch.Tensor:
        return params["w"]

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        return [Edges(params["w"][:, None, inputs])]

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        return {"w": instances.combine(slope(self.predict(params, instances)))}

    def through(
        self, params: Params, instances: Instances, sent: Callable[[torch.Tensor], torch.Tensor]
    ) -> dict[str, LayerSignals]:
        members = len(params["w"]) // instances.replicas
        inputs = instances.rows.mT.repeat_interleave(members, 0)
        return {"w": LayerSignals(inputs, sent(self.predict(params, instances))[:, None])}

    def invariance(self, d: int) -> Verdict:
        return Verdict(True, "the weights start at 0, which favours no direction")
