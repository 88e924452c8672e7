"""The average loss over all rows, over those seen, or over those never seen."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.lazy import torch
from engine.measures import Measure, Probe

NAMES = {"all": "loss", "train": "train", "test": "unseen"}


class AverageLoss(Measure, frozen=True, tag="loss"):
    """The average loss over rows and targets.

    Rows seen count as often as they were seen; there is none before the first example, and no row is unseen
    after the last. Source: theory.md §§5, 10.
    """

    label: ClassVar[str] = "average loss"
    always: ClassVar[bool] = True

    rows: Annotated[
        Literal["all", "train", "test"],
        Meta(title="rows", description="all, those seen so far, or those never seen"),
    ] = "all"

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return cls(), cls(rows="train"), cls(rows="test")

    @property
    def name(self) -> str:
        return NAMES[self.rows]

    @property
    def of_rows_seen(self) -> bool:
        return self.rows != "all"

    def value(self, probe: Probe) -> torch.Tensor:
        if self.rows == "all":
            return probe.data.over_targets(probe.loss.average(probe.predictions, probe.data.labels)[None])[0]
        shares = probe.counts if self.rows == "train" else (probe.counts == 0).double()
        losses = probe.loss.value(probe.predictions, probe.data.labels)
        return probe.data.over_targets(((losses * shares).sum(1) / shares.sum(1))[None])[0]
