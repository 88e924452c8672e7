"""A target of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Count
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target, TargetStructure


class MyPart(Target, frozen=True, tag="my-part"):
    """The label is the mean of the first r features. Source: none needed."""

    r: Annotated[Count, Meta(title="r", description="number of features in the label, at most d")] = 2

    def structure(self, matrix: Matrix) -> TargetStructure:
        return TargetStructure("any", linear=True)

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        r = min(self.r, matrix.feature_count())
        places = np.tile(np.arange(r), (len(streams.seeds), 1, 1))
        return Combination(places, np.full(places.shape, 1 / r))
