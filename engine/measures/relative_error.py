"""The length of the errors, relative to the length of the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import MeasureStructure, OfRows, Probe


class RelativeError(OfRows, frozen=True, tag="relative-error"):
    """‖ŷ − y‖₂/‖y‖₂ over all rows, rows seen, or rows never seen, averaged over targets.

    If all predictions are 0, the relative error is 1. A seen row counts once for each time that training used
    this row. Unit: none. Source: Razin, Cohen 2020; theory/implicit-bias#matrix-completion.
    """

    label: ClassVar[str] = "relative error"

    names: ClassVar[Mapping[str, str]] = {
        "all": "relative-error",
        "train": "relative-error-seen",
        "test": "relative-error-unseen",
    }

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_risk=True)

    def value(self, probe: Probe) -> torch.Tensor:
        labels = probe.data.labels.double()
        return relative_length(self, probe.predictions.double() - labels, labels, probe)


def relative_length(
    measure: OfRows, values: torch.Tensor, labels: torch.Tensor, probe: Probe
) -> torch.Tensor:
    """Return the ratio ‖values‖/‖labels‖ for arrays [B, n], averaged over targets.

    The norms are over the rows that the field `rows` of `measure` selects.
    """
    of_values, of_labels = (measure.mean_over_rows(vector.square(), probe) for vector in (values, labels))
    return probe.data.over_targets((of_values / of_labels).sqrt()[None])[0]
