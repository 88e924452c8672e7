"""The distance of the predictions from the predictions at the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import MeasureNeeds, OfRows, Probe
from engine.measures.relative_error import relative_length


class Movement(OfRows, frozen=True, tag="movement"):
    """‖ŷ − ŷ₀‖₂/‖y‖₂ over all rows, rows seen, or rows never seen, for the predictions ŷ₀ at the start.

    In the kernel regime, the prediction for a row does not change if the kernel of this row with every seen
    row is 0. A seen row counts once for each time that training used this row. Averaged over targets. Unit:
    none. Source: WGL20; theory/implicit-bias#matrix-completion.
    """

    label: ClassVar[str] = "change of predictions, relative to the labels"

    names: ClassVar[Mapping[str, str]] = {
        "all": "movement",
        "train": "movement-seen",
        "test": "movement-unseen",
    }

    def needs(self) -> MeasureNeeds:
        return super().needs()._replace(parameters=True, start=True)

    def value(self, probe: Probe) -> torch.Tensor:
        start = {**probe.tensors, **probe.start}
        before = probe.architecture.predict(start, probe.data.instances)
        moved = probe.predictions.double() - before.double()
        return relative_length(self, moved, probe.data.labels.double(), probe)
