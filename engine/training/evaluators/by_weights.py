"""The mean square loss as a quadratic function of the weights, without any prediction."""

from __future__ import annotations

from typing import ClassVar

from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.hypotheses.hypothesis import Weighted
from engine.measures import Measure
from engine.problems.data import Data
from engine.training.evaluators import Measures
from engine.training.evaluators.blocks import TOGETHER, Blocks
from engine.training.evaluators.mistakes import Mistakes


class ByWeights:
    """Mean square loss from the distance of the weights to those that made the labels."""

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error"})

    def __init__(self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...]) -> None:
        self._data = data
        self._mistakes = Mistakes(data, loss, records, measures)
        self._losses: list[torch.Tensor] = []  # [S, B] each
        together = min(records, TOGETHER // len(data.labels))
        self._blocks = Blocks(max(1, together) if data.instances.has_moment else 1)

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        weights = hypothesis.weights()
        assert weights is not None, "an evaluator is chosen for a run whose hypotheses have weights"
        self._blocks.add(weights)
        if self._blocks.full:
            self._losses.append(self._blocks.taken(self._values))
        self._mistakes.take(lambda: hypothesis.predict(self._data.instances))

    def looks(self, record: int) -> bool:
        return self._mistakes.counts(record)

    def measured(self) -> Measures:
        if len(self._blocks):
            self._losses.append(self._blocks.taken(self._values))
        found = {"loss": [self._data.over_targets(torch.cat(self._losses))]} if self._losses else {}
        self._losses = []
        return found | self._mistakes.measured()

    def _values(self, weights: torch.Tensor) -> torch.Tensor:
        """The losses [S, B] of weights [S, B, d]."""
        losses = self._data.instances.mean_square(self._data.from_w_star(weights))
        assert losses is not None, "an evaluator is chosen for instances that have a second moment"
        return losses


class AroundZero(ByWeights):
    """Mean square loss for any labels, as wᵀ(XᵀX/n)w − 2 wᵀ(Xᵀy/n) + ‖y‖²/n in float64.

    What cancels is rounding of float64, for weights that are numbers of float32.
    """

    def __init__(self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...]) -> None:
        super().__init__(data, loss, records, measures)
        self._products, self._constant = data.instances.products_with(data.labels)

    def _values(self, weights: torch.Tensor) -> torch.Tensor:
        weights = weights.double()
        squares = self._data.instances.mean_square(weights)
        assert squares is not None, "an evaluator is chosen for instances that have a second moment"
        slopes: torch.Tensor = torch.linalg.vecdot(weights, self._products)
        return (squares - 2 * slopes + self._constant).clamp_(min=0)
