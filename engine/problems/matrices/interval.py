"""Points of an interval."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.core.parts import LARGEST, SELDOM, BadField, Count
from engine.core.streams import Streams
from engine.problems.matrices import Floats, Matrix, MatrixStructure, Rows

MOST_GIVEN = 4096
"""Maximum number of points that a preset may list."""


class Interval(Matrix, frozen=True, tag="interval"):
    """Points of an interval from a to b, for functions of one variable. An instance is one number, d = 1.

    Points are drawn independently and uniformly, or they are equally spaced in increasing order from a to b,
    both included. The points in `first` come before the drawn or spaced points. There are n points in total.
    A learner can thus train on the points in `first`, while pictures show the learned function between these
    points. Source: theory/kernels-and-entropy#kernels,
    theory/regions-and-random-matrices#regions; theory/implicit-bias#relu-interpolation.
    """

    n: Annotated[
        Count, Meta(title="points n", description="number of points; each is an instance with a single entry")
    ] = 12
    low: Annotated[float, Meta(title="from a", description="where the interval begins")] = -2.0
    high: Annotated[float, Meta(title="to b", description="where the interval ends")] = 2.0
    points: Annotated[
        Literal["uniform", "spaced"],
        Meta(title="points", description="drawn uniformly, or equally spaced from a to b, both included"),
    ] = "uniform"
    first: Annotated[
        tuple[Annotated[float, Meta(ge=-LARGEST, le=LARGEST)], ...],
        Meta(
            max_length=MOST_GIVEN,
            title="first points",
            description="points that come before all other points, such as -2, -1, 0.5",
            extra=SELDOM,
        ),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise BadField(
                "high",
                f"the interval begins at {self.low:g} and cannot end at {self.high:g}; take a larger end",
            )
        if len(self.first) > self.n:
            raise BadField(
                "first",
                f"there are {len(self.first)} first points, but only n = {self.n} points in total; raise n",
            )

    def structure(self) -> MatrixStructure:
        structure = super().structure()
        if structure.repeated or structure.rotated:
            return structure
        return structure._replace(
            points_are_fixed=self.points == "spaced" or len(self.first) == self.n,
            span=(min((self.low, *self.first)), max((self.high, *self.first))),
        )

    def size(self) -> tuple[int, int]:
        return self.n, 1

    @property
    def second_moment(self) -> float | None:
        first = np.array(self.first)
        if self.points == "spaced":
            return float(np.square(np.append(first, self._spaced_points())).mean())
        mean_square = (self.low**2 + self.low * self.high + self.high**2) / 3
        return float(np.square(first).sum() + (self.n - len(first)) * mean_square) / self.n

    def rows(self, streams: Streams) -> Rows:
        replicas = len(streams.seeds)
        if self.points == "spaced":
            rest: Rows = np.tile(self._spaced_points(), (replicas, 1))
        else:
            drawn = streams("matrix").uniform(self.n - len(self.first), 1)[:, :, 0]
            rest = self.low + (self.high - self.low) * drawn
        return np.concatenate((np.tile(self.first, (replicas, 1)), rest), 1)[:, :, None]

    def _spaced_points(self) -> Floats:
        return np.linspace(self.low, self.high, self.n - len(self.first))
