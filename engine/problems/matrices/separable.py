"""Gaussian instances in which one entry separates two classes with a margin."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import LARGEST, MOST, BadField, Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Floats, Matrix, Rows


class Separable(Matrix, frozen=True, tag="separable"):
    """Gaussian entries z ~ N(0, I), one of them shifted away from 0 by a margin: x_i = z_i + μ sign z_i.

    Entry i is never in (−μ, μ). So a hyperplane through 0 separates the signs of feature i with a margin of
    at least μ. E x_i² is 1 + 2μ√(2/π) + μ² for the shifted entry, and 1 for every other entry. Source:
    theory/implicit-bias#max-margin.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 5
    n: Annotated[Count, Meta(title="rows n", description="number of instances")] = 20
    margin: Annotated[
        float,
        Meta(
            ge=0,
            le=LARGEST,
            title="margin μ",
            description="distance by which entry i of every instance is shifted away from 0",
        ),
    ] = 0.5
    entry: Annotated[
        int, Meta(ge=0, lt=MOST, title="entry i", description="index of the shifted entry, counted from 0")
    ] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.entry >= self.d:
            raise BadField(
                "entry", f"instances have {self.d} entries, counted from 0; take at most {self.d - 1}"
            )

    def size(self) -> tuple[int, int]:
        return self.n, self.d

    @property
    def second_moment(self) -> Floats:
        moments = np.ones(self.d)
        moments[self.entry] += 2 * self.margin * math.sqrt(2 / math.pi) + self.margin**2
        return np.diag(moments)

    def rows(self, streams: Streams) -> Rows:
        rows = streams("matrix").normal(*self.size())
        rows[:, :, self.entry] += self.margin * np.sign(rows[:, :, self.entry])
        return rows
