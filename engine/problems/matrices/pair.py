"""Two inputs at a given angle."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Floats, Matrix, Rows


class Pair(Matrix, frozen=True, tag="pair"):
    """Two inputs of length √d with cosine c: √d e₁ and √d (c e₁ + √(1 − c²) e₂).

    The two inputs are the same in every replica, so replicas of an untrained net differ only by the random
    weights. Source: theory/wide-nets#criticality, theory/wide-nets#kernel-regime.
    """

    cosine: Annotated[
        float, Meta(ge=-1, le=1, title="cosine c", description="cosine of the angle between the two inputs")
    ] = 0.0
    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 2

    def size(self) -> tuple[int, int]:
        return 2, self.d

    @property
    def second_moment(self) -> Floats:
        (rows,) = self._two_rows(1)
        moment: Floats = rows.T @ rows / 2
        return moment

    def rows(self, streams: Streams) -> Rows:
        return self._two_rows(len(streams.seeds))

    def _two_rows(self, replicas: int) -> Floats:
        rows = np.zeros((replicas, 2, self.d))
        rows[:, :, :2] = (1.0, 0.0), (self.cosine, np.sqrt(1 - self.cosine**2))
        scaled: Floats = np.sqrt(self.d) * rows
        return scaled
