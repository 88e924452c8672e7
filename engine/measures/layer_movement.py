"""The distance of the weights of every layer from the start."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.measures import MeasureNeeds, OfLayers, Probe


class LayerMovement(OfLayers, frozen=True, tag="layer-movement"):
    """‖W_l − W_l(0)‖₂, the Euclidean distance of the weights of layer l from the start, averaged over nets.

    With `relative`, the distance is divided by ‖W_l(0)‖₂. Biases are a separate layer. Unit: that of a
    weight, or none. Source: LSO20; theory/parities-and-noise#fitting-anything,
    theory/parities-and-noise#wrong-labels.
    """

    relative: Annotated[
        bool, Meta(title="relative", description="divide by the Euclidean length of the initial weights")
    ] = False

    label: ClassVar[str] = "‖W_l − W_l(0)‖₂"

    def needs(self) -> MeasureNeeds:
        return super().needs()._replace(start=True)

    def label_with(self, loss: str) -> str:
        return f"{self.label}/‖W_l(0)‖₂" if self.relative else self.label

    def value(self, probe: Probe) -> torch.Tensor:
        now, start, lengths = probe.parameters, probe.start, []
        for layer in probe.architecture.layers:
            moved = torch.linalg.vector_norm((now[layer].double() - start[layer].double()).flatten(1), dim=1)
            if self.relative:
                moved = moved / torch.linalg.vector_norm(start[layer].double().flatten(1), dim=1)
            lengths.append(moved)
        return probe.data.over_targets(torch.stack(lengths)).movedim(0, -1)
