"""The average loss over all rows, over the rows seen, or over the rows never seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import OF_ROWS, MeasureSchedule, MeasureStructure, OfRows, Probe


class AverageLoss(OfRows, frozen=True, tag="loss"):
    """The average loss over rows and targets.

    A seen row counts once for each time that training used this row. On seen rows, the loss has no value
    before the first example. On unseen rows, it has no value after all rows were seen. Source:
    theory/conventions#protocols, theory/conventions#diagnostics.
    """

    label: ClassVar[str] = "average loss"

    names: ClassVar[Mapping[str, str]] = {"all": "loss", "train": "train", "test": "unseen"}

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(always=self.rows == "all")

    def label_with(self, loss: str) -> str:
        if self.rows == "all":
            return f"average {loss} loss"
        return f"{loss} loss{OF_ROWS[self.rows]}"

    def value(self, probe: Probe) -> torch.Tensor:
        if self.rows == "all":
            return probe.data.over_targets(probe.loss.average(probe.predictions, probe.data.labels)[None])[0]
        losses = probe.loss.value(probe.predictions, probe.data.labels)
        return probe.data.over_targets(self.mean_over_rows(losses, probe)[None])[0]
