"""A deep net that starts as a tent map, composed with itself several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Edges, HiddenLayers, Layout, Start
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.streams import Stream
from engine.problems.instances import Instances

TENT = (
    (np.array([[1.0], [1.0]]), np.array([0.0, -0.5])),
    (np.array([[2.0, -4.0]]), np.array([0.0])),
)
"""Weights and biases of the two layers of the tent map f(x) = σ(2σ(x) − 4σ(x − ½))."""


class Tent(Architecture, frozen=True, tag="tent"):
    """A net that starts as the tent map f on [0, 1], applied L times to the first entry of an instance.

    The tent map is f(x) = σ(2σ(x) − 4σ(x − ½)) with σ = relu. On [0, 1], the map rises from 0 to 1 and falls
    back to 0. So f ∘ … ∘ f (L times) has 2^L linear pieces on [0, 1], and 2^L + 2 on ℝ. The net has 3L units
    in 2L hidden layers, and its output starts as a copy of the last unit. All weights and biases are trained.
    Source: Telgarsky 2016; theory/regions-and-random-matrices#regions.
    """

    times: Annotated[
        int, Meta(ge=1, le=16, title="times L", description="number of tent maps, one after the other")
    ] = 4

    def structure(self) -> ArchitectureStructure:
        squares = [weights.shape[1] * float(np.square(weights).mean()) for weights, _ in TENT]
        after = (*(squares[1], squares[0]) * self.times,)
        hidden = HiddenLayers("relu", next_variances=(*after[:-1], 1.0))
        return (
            super()
            .structure()
            ._replace(learner_kind="by-rule", fixed_input_start=True, affine=True, hidden_layers=hidden)
        )

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"{letter}{number}" for number in range(1, 2 * self.times + 2) for letter in ("W", "b"))

    def layout(self, d: int) -> Layout:
        shapes = {name: tensor.shape for name, tensor in self._tent_tensors(d).items()}
        return Layout(shapes, units=3 * self.times)

    def start(self, stream: Stream, d: int) -> Start:
        return {
            name: np.tile(tensor, (stream.replicas, *(1,) * tensor.ndim))
            for name, tensor in self._tent_tensors(d).items()
        }

    def _tent_tensors(self, d: int) -> Start:
        output = np.ones((1, 1)), np.zeros(1)
        (first, biases), *above = [*TENT * self.times, output]
        inputs = np.zeros((len(first), d))
        inputs[:, :1] = first
        tensors: Start = {}
        for number, (weights, offsets) in enumerate(((inputs, biases), *above), 1):
            tensors[f"W{number}"], tensors[f"b{number}"] = weights, offsets[:, None]
        return tensors

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return self._signals_before_activation(params, instances)[-1].flatten(0, 1)

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return self._signals_before_activation(params, instances)[:-1]

    def _signals_before_activation(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        signals = [instances.inner(params["W1"]) + params["b1"]]
        for number in range(2, 2 * self.times + 2):
            signals.append(params[f"W{number}"] @ torch.relu(signals[-1]) + params[f"b{number}"])
        return signals

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        signals = self._signals_before_activation(params, instances)
        back = slope(signals[-1].flatten(0, 1)).view_as(signals[-1])
        gradients: Params = {}
        for number in range(2 * self.times + 1, 1, -1):
            below = signals[number - 2]
            gradients[f"W{number}"] = back @ torch.relu(below).mT
            gradients[f"b{number}"] = back.sum(2, keepdim=True)
            back = params[f"W{number}"].mT @ back * (below > 0)
        gradients["W1"] = instances.combine(back.flatten(0, 1)).view_as(params["W1"])
        gradients["b1"] = back.sum(2, keepdim=True)
        return {layer: gradients[layer] for layer in self.layers}

    def edges(self, params: Params, inputs: torch.Tensor | slice, units: int) -> list[Edges]:
        numbers = range(1, 2 * self.times + 2)
        weights = [params[f"W{number}"] for number in numbers]
        biases = [params[f"b{number}"][..., 0] for number in numbers]
        first, *above = weights
        cut = [first[:, :units, inputs], *(layer[:, :units, :units] for layer in above)]
        return [Edges(layer, offsets[:, :units]) for layer, offsets in zip(cut, biases, strict=True)]
