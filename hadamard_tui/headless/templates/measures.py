"""A measure of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from typing import ClassVar

import torch

from engine.measures import Measure, MeasureNeeds, Probe


class MyPart(Measure, frozen=True, tag="my-part"):
    """Mean over targets of the largest weight max_i |w_i|. Unit: that of a weight. Source: none needed."""

    label: ClassVar[str] = "largest weight"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def value(self, probe: Probe) -> torch.Tensor:
        return probe.data.over_targets(probe.drawn_weights.abs().amax(1)[None])[0]
