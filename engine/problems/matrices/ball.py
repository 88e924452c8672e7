"""Independent uniform points of the unit ball."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, Rows


class Ball(Matrix, frozen=True, tag="ball"):
    """Uniform points of the unit ball, which is the unit disc for d = 2.

    A point is a Gaussian direction times U^(1/d) for a uniform U in (0, 1]. E x = 0, E xxᵀ = I/(d + 2).
    Source: theory/kernels-and-entropy#entropy.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 2
    n: Annotated[Count, Meta(title="rows n", description="number of instances")] = 1024

    def size(self) -> tuple[int, int]:
        return self.n, self.d

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(in_ball=self.repeat is None)

    @property
    def second_moment(self) -> float:
        return 1 / (self.d + 2)

    def rows(self, streams: Streams) -> Rows:
        stream = streams("matrix")
        rows = stream.normal(*self.size())
        radii = (1 - stream.uniform(self.n, 1)) ** (1 / self.d)
        rows *= radii / np.linalg.norm(rows, axis=2, keepdims=True)
        return rows
