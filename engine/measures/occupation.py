"""The mean of the instances, feature by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count
from engine.measures import Index, Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Occupation(Measure, frozen=True, tag="occupation"):
    """The mean of every feature over all rows, or the sum of these means over each block of features.

    The number of blocks is `parts`, and all blocks have the same size. If every row has a single 1 and zeros
    elsewhere, the mean of a feature is the share of rows with the 1 in this feature. The measure is a
    property of the instances, and is the same for all learners. Source: theory/noise-of-sgd#valleys.
    """

    label: ClassVar[str] = "mean of the feature over all rows"

    parts: Annotated[
        Count | None,
        Meta(title="parts", description="number of equal blocks of features; none: every feature by itself"),
    ] = None

    def label_with(self, loss: str) -> str:
        return self.label if self.parts is None else "sum of the feature means of a block"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(coordinates=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return (Index("place", np.arange(1.0, (self.parts or problem.matrix.shape()[1]) + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        d = problem.matrix.shape()[1]
        return None if d % (self.parts or d) == 0 else f"the blocks divide the {d} features evenly"

    def value(self, probe: Probe) -> torch.Tensor:
        instances, labels = probe.data.instances, probe.data.labels
        shares = torch.full_like(labels, 1 / labels.shape[1])
        means = instances.turn_back(instances.combine(shares)).double()  # [B, d]
        by_part = means.view(len(means), self.parts or means.shape[1], -1).sum(2)
        return probe.data.over_targets(by_part.T).movedim(0, -1)
