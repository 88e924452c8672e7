"""Points of an interval."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.core.parts import BadField, Count
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows


class Interval(Matrix, frozen=True, tag="interval"):
    """Points of an interval from a to b, one number each: d = 1, for functions of one variable.

    They are drawn uniformly, independent of one another, or equally spaced from a to b, both included, in
    this order. Source: theory-nets.md §§32, 39.
    """

    n: Annotated[Count, Meta(title="points n", description="instances, of one entry each")] = 12
    low: Annotated[float, Meta(title="from a", description="where the interval begins")] = -2.0
    high: Annotated[float, Meta(title="to b", description="where the interval ends")] = 2.0
    points: Annotated[
        Literal["uniform", "spaced"],
        Meta(title="points", description="drawn uniformly, or equally spaced with both ends"),
    ] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise BadField("high", f"{self.high:g} is not above {self.low:g}, where the interval begins")

    def size(self) -> tuple[int, int]:
        return self.n, 1

    @property
    def second_moment(self) -> float | None:
        if self.points == "spaced":
            return float(np.square(self._spaced()).mean())
        return (self.low**2 + self.low * self.high + self.high**2) / 3

    def rows(self, streams: Streams) -> Rows:
        if self.points == "spaced":
            return np.tile(self._spaced()[:, None], (len(streams.seeds), 1, 1))
        return self.low + (self.high - self.low) * streams("matrix").uniform(self.n, 1)

    def _spaced(self) -> Rows:
        return np.linspace(self.low, self.high, self.n)
