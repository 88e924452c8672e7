"""Evaluators: what computes the average losses of the records of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from engine.core.lazy import torch
    from engine.hypotheses.hypothesis import Weighted
    from engine.measures import Measure

Measures = dict[str, list["torch.Tensor"]]
"""What was measured of some records, [S, R, V] in pieces, by name."""


class Evaluator(Protocol):
    """What computes the average losses of the records of a training run, and some measures beside them."""

    serves: ClassVar[frozenset[str]]
    """The measures that it computes, by name; others are computed from the hypothesis."""

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        """Measure a hypothesis as it is after `seen` examples, or keep what is needed for it."""

    def looks(self, record: int) -> bool:
        """Whether it will use more than losses at a record."""

    def measured(self) -> Measures:
        """What was measured since the last call."""


def includes(measures: tuple[Measure, ...], *names: str) -> bool:
    """Whether a measure of one of these names is among them."""
    return any(measure.name in names for measure in measures)
