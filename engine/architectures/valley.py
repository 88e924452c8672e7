"""A neuron whose loss is a valley. Along its floor, the loss is constant, but the curvature changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Layout, Start
from engine.core.groups import TRIVIAL
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LARGEST, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Valley(Architecture, frozen=True, tag="valley"):
    """ŷ = √(1 + v²) u x₁, a function of an instance's first entry only, started at u = 0 and v = `v0`.

    For x₁ = ±1 and labels that are pure noise, the mean square loss is λ(v) u² plus a constant, with λ(v) = 1
    + v². The line u = 0 is the floor of a valley: along this line, the loss is constant. The curvature across
    the floor is proportional to λ(v). On the floor, gradient descent on the mean loss does not move, but
    gradient descent with noise does. Source: Wei, Schwab 2019; theory/noise-of-sgd#valleys.
    """

    v0: Annotated[
        float, Meta(gt=0, le=LARGEST, title="start v₀", description="position along the floor of the valley")
    ] = 1.0

    def structure(self) -> ArchitectureStructure:
        return super().structure()._replace(fixed_input_start=True, valley_start=self.v0)

    @property
    def layers(self) -> tuple[str, ...]:
        return ("u", "v")

    def start(self, stream: Stream, d: int) -> Start:
        shape = (stream.replicas, 1)
        first = np.zeros((stream.replicas, d))
        first[:, 0] = 1
        return {"u": np.zeros(shape), "v": np.full(shape, self.v0), "first": first}

    def layout(self, d: int) -> Layout:
        return Layout({"u": (1,), "v": (1,), "first": (d,)})

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        return _output_gain(params) * params["u"] * params["first"]

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        by_weights = instances.combine(slope(self.predict(params, instances)))
        by_first = (by_weights * params["first"]).sum(1, keepdim=True)
        gain = _output_gain(params)
        return {"u": by_first * gain, "v": by_first * params["u"] * params["v"] / gain}

    def invariance(self, d: int) -> Verdict:
        return Verdict(False, "it depends only on the first entry of an instance", TRIVIAL)


def _output_gain(params: Params) -> torch.Tensor:
    return (1 + params["v"] ** 2).sqrt()
