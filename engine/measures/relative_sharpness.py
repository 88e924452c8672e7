"""The sharpness, relative to the sharpness at the start."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, Probe
from engine.measures.sharpness import Sharpness


class RelativeSharpness(Measure, frozen=True, tag="relative-sharpness"):
    """S/S₀: the sharpness of each replica, relative to its value at the start.

    At the learning rate η = c/S₀, the product ηS is c times this ratio. Steps of plain gradient descent are
    stable if ηS < 2. Source: Lewkowycz et al. 2020; theory/curvature#catapult.
    """

    label: ClassVar[str] = "sharpness / sharpness at the start"

    def needs(self) -> MeasureNeeds:
        return Sharpness().needs()

    def schedule(self) -> MeasureSchedule:
        return Sharpness().schedule()

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return Sharpness().numbers(parameters, signals, batch)

    def value(self, probe: Probe) -> torch.Tensor:
        sharpness = Sharpness()
        return probe.value(sharpness) / probe.value_at_start(sharpness)
