"""Independent standard normal entries."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.parts import Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, Rows


class Gaussian(Matrix, frozen=True, tag="gaussian"):
    """Independent Gaussian entries: every entry is N(0, 1), so the rows have no preferred direction.

    Source: WKA21 Thms 6–7; theory/conventions#matrices.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 128
    n: Annotated[Count | None, Meta(title="rows n", description="number of instances; none: d")] = None

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(isotropic=self.repeat is None)

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        return self.n or self.d, self.d

    def rows(self, streams: Streams) -> Rows:
        return streams("matrix").normal(*self.size())
