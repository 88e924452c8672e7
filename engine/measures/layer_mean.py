"""The mean weight, or the mean square of the weights, of every layer."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, OfLayers, Probe


class LayerMean(OfLayers, frozen=True, tag="layer-mean"):
    """The mean of the weights of layer l or, with `square`, the mean of their squares.

    If a layer has a single weight, the measure is this weight, or its square. Averaged over nets. Unit: that
    of a weight, or its square. Source: none needed.
    """

    label: ClassVar[str] = "mean weight of the layer"

    square: Annotated[
        bool, Meta(title="square", description="take the mean of the squares of the weights")
    ] = False

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return cls(), cls(square=True)

    @property
    def name(self) -> str:
        return "layer-mean-square" if self.square else "layer-mean"

    def label_with(self, loss: str) -> str:
        return "mean square weight of the layer" if self.square else self.label

    def needs(self) -> MeasureNeeds:
        return super().needs()._replace(coordinates=True)

    def value(self, probe: Probe) -> torch.Tensor:
        layers = [layer.double().flatten(1) for layer in probe.layers.values()]
        means = [(layer.square() if self.square else layer).mean(1) for layer in layers]
        return probe.data.over_targets(torch.stack(means)).movedim(0, -1)
