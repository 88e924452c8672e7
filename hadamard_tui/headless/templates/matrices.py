"""A matrix family of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.parts import Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows


class MyPart(Matrix, frozen=True, tag="my-part"):
    """Independent entries that are uniform in [−a, a]. Source: none needed."""

    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 64
    n: Annotated[Count, Meta(title="rows n", description="number of instances")] = 64
    a: Annotated[float, Meta(gt=0, le=100, title="a", description="largest absolute value of an entry")] = 1.0

    def size(self) -> tuple[int, int]:
        return self.n, self.d

    def rows(self, streams: Streams) -> Rows:
        return self.a * (2 * streams("matrix").uniform(self.n, self.d) - 1)
