"""The mean weight of every layer."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import MeasureNeeds, OfLayers, Probe


class LayerMean(OfLayers, frozen=True, tag="layer-mean"):
    """The mean of the weights of layer l.

    If a layer has a single weight, the measure is this weight. Averaged over nets. Unit: that of a weight.
    Source: none needed.
    """

    label: ClassVar[str] = "mean weight of the layer"

    def needs(self) -> MeasureNeeds:
        return super().needs()._replace(coordinates=True)

    def value(self, probe: Probe) -> torch.Tensor:
        means = [layer.double().flatten(1).mean(1) for layer in probe.layers.values()]
        return probe.data.over_targets(torch.stack(means)).movedim(0, -1)
