"""Which evaluator computes the losses of a training run."""

from __future__ import annotations

from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.measures import Measure
from engine.problems.data import Data
from engine.problems.instances import CACHE
from engine.training.evaluators import Evaluator, includes
from engine.training.evaluators.blocks import TOGETHER
from engine.training.evaluators.by_predictions import ByPredictions
from engine.training.evaluators.by_weights import AroundZero, ByWeights

SHARE = 2
"""Predictions of a block of records take at most one part in so many of what the instances take."""


def evaluator(
    data: Data,
    loss: Cost,
    weights: torch.Tensor | None,
    records: int,
    measures: tuple[Measure, ...],
    order: torch.Tensor | None,
) -> Evaluator:
    """The cheapest way to the losses of a training run whose hypotheses have such weights.

    The mean square loss of xᵀw is a quadratic function of w, which needs no prediction: of w − w* where
    labels are xᵀw*, and of w itself where float64 is more than the rounding of w needs.
    """
    if loss.is_square and weights is not None and not includes(measures, "train", "unseen"):
        if data.w_star is not None:
            if data.instances.mean_square(data.from_w_star(weights)) is not None:
                return ByWeights(data, loss, records, measures)
        elif _pays(data, weights, records):
            return AroundZero(data, loss, records, measures)
    together = 1 if weights is None else _together(data, records)
    return ByPredictions(data, loss, records, measures, order, together)


def _pays(data: Data, weights: torch.Tensor, records: int) -> bool:
    """Whether a Gram matrix costs less than the predictions that it saves, and is as exact as they are."""
    instances = data.instances
    vectors = records * len(data.labels) // data.replicas
    return instances.has_moment and weights.dtype == torch.float32 and vectors >= instances.d


def _together(data: Data, records: int) -> int:
    """Of how many records the weights are multiplied by the instances together."""
    if not data.instances.better_together:
        return 1
    most = min(TOGETHER, data.instances.d // SHARE) // len(data.labels)
    return max(1, min(records, most))


def bytes_held(sizes: Sizes) -> int:
    """Bytes of a Gram matrix and of the predictions of a block of records, where instances are a matrix."""
    moment = DERIVED * sizes.replicas * sizes.d**2 if sizes.n >= 2 * sizes.d else 0
    if sizes.replicas * sizes.n * sizes.d * sizes.item <= CACHE:
        return moment
    return moment + 2 * sizes.item * sizes.n * min(TOGETHER, sizes.d // SHARE)
