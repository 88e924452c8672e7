"""The fully connected network, with its Jacobian frozen at the start of training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.architectures import Architecture, ArchitectureStructure, LayerSignals, Layout, Start
from engine.architectures.dense import Dense
from engine.core.activations import sent_back
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.core.streams import Stream
from engine.problems.instances import DenseInstances as Rows
from engine.problems.instances import Instances


class Linearised(Dense, frozen=True, tag="linearised"):
    """A dense net, linearised at its start θ₀: ŷ(x; θ₀) + ∂ŷ(x; θ₀)/∂θ (θ − θ₀).

    The net starts like the dense net with the same fields, and keeps the initial tangent kernel during
    training. Consider gradient descent with rate η on the mean square loss of n rows, and a left singular
    vector of the Jacobian with singular value λ. At every step, the component of the residual along this
    vector is multiplied by 1 − 2ηλ²/n. If the dense net trains differently, the reason is the change of its
    features. Source: Jacot, Gabriel, Hongler 2018; theory/parities-and-noise#fitting-anything,
    theory/parities-and-noise#nuisance-space.
    """

    def structure(self) -> ArchitectureStructure:
        return Architecture.structure(self)._replace(
            learner_kind="by-rule", fixed_input_start=super().structure().fixed_input_start, layered=True
        )

    @property
    def is_linear(self) -> bool:
        return False

    def start(self, stream: Stream, d: int) -> Start:
        tensors = super().start(stream, d)
        return {**tensors, **{_name_at_start(layer): np.copy(tensors[layer]) for layer in self.layers}}

    def layout(self, d: int) -> Layout:
        layout = super().layout(d)
        fixed = {_name_at_start(layer): layout.shapes[layer] for layer in self.layers}
        return layout._replace(shapes={**layout.shapes, **fixed})

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        layers = list(self._inputs_and_signals(self._tensors_at_start(params), instances))
        return self._linear_predictions(params, instances, layers)

    def _linear_predictions(
        self,
        params: Params,
        instances: Instances,
        layers: list[tuple[torch.Tensor | None, torch.Tensor]],
    ) -> torch.Tensor:
        """Return predictions for `params`. `layers` are the inputs and signals of all layers at the start."""
        start = self._tensors_at_start(params)
        moved = {layer: params[layer] - start[layer] for layer in self.layers}
        change = self.first(moved, instances)
        for number, (inputs, _) in zip(self._layer_numbers, layers, strict=True):
            layer = f"W{number}"
            if inputs is not None:
                change = sent_back(self.activation, change, layers[number - 2][1], inputs)  # times σ′
                change = moved[layer] @ inputs + start[layer] @ change
            if (forward := params.get(f"m{number}")) is not None:
                change = forward * change
            if f"b{number}" in moved:
                change = change + moved[f"b{number}"]
        return (layers[-1][1] + change).flatten(0, 1)

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        start = self._tensors_at_start(params)
        layers = list(self._inputs_and_signals(start, instances))
        return self._backpropagated_gradients(
            start, instances, layers, slope(self._linear_predictions(params, instances, layers))
        )

    def through(
        self, params: Params, instances: Instances, sent: Callable[[torch.Tensor], torch.Tensor]
    ) -> dict[str, LayerSignals]:
        with torch.no_grad():
            back = sent(self.predict(params, instances))
        return super().through(self._tensors_at_start(params), instances, lambda _: back)

    def weights(self, params: Params) -> torch.Tensor | None:
        if self.activation != "identity" or self.has_biases:
            return None
        first = params["W1"]
        axes = torch.eye(first.shape[-1], dtype=first.dtype, device=first.device)
        return self.predict(params, Rows(axes[None]))

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        turned = super().rotated(params, turn)
        return {**turned, _name_at_start("W1"): turned["W1"]}

    def invariance(self, d: int) -> Verdict:
        return super().invariance(d)

    def _tensors_at_start(self, params: Params) -> Params:
        """Return all tensors, with initial values in place of the trained values."""
        started = {layer: params[_name_at_start(layer)] for layer in self.layers}
        started["W1"] = started["W1"][..., : params["W1"].shape[-1]]  # a narrowed net has fewer inputs
        return {**params, **started}


def _name_at_start(name: str) -> str:
    return f"start {name}"
