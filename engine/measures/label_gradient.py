"""The squared gradient, layer by layer, of the correlation between predictions and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.measures import Index, Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.architectures import Architecture
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class LabelGradient(Measure, frozen=True, tag="label-gradient"):
    """‖∇_l E_x f ŷ‖²: squared gradient of E_x f ŷ, the correlation of predictions ŷ with labels f, by layer.

    The mean E_x is over all rows. ∇_l is the gradient with respect to the weights of layer l = 1 … L + 1, or
    to its biases. The last layer is the output. In a layer where this gradient is 0, the first step of
    gradient descent learns nothing. Averaged over targets. Unit: (label · prediction/weight)². Source: AS20;
    theory/parities-and-noise#parities.
    """

    label: ClassVar[str] = "squared gradient of E[label · prediction]"

    of: Annotated[
        Literal["weights", "biases"], Meta(title="of", description="the weights of layers, or their biases")
    ] = "weights"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        count = 0 if learner.architecture is None else len(self._names_of_tensors(learner.architecture))
        return (Index("layer", np.arange(1.0, count + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        if net is None or net.structure().hidden_layers is None:
            return "the learner is a dense net"
        if net.outputs > 1:
            return "every net predicts a single target"
        return None if self._names_of_tensors(net) else "the net has biases"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (2 * parameters + 3 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        data, net = probe.data, probe.architecture
        gradients = net.gradient(probe.tensors, data.instances, lambda _: data.labels / data.instances.n)
        squares = [
            gradients[name].double().square().flatten(1).sum(1) for name in self._names_of_tensors(net)
        ]
        return data.over_targets(torch.stack(squares)).movedim(0, -1)

    def _names_of_tensors(self, net: Architecture) -> list[str]:
        return [layer for layer in net.layers if layer.startswith("W" if self.of == "weights" else "b")]
