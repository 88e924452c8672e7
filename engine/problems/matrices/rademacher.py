"""Independent fair signs."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, Rows


class Rademacher(Matrix, frozen=True, tag="rademacher"):
    """Independent random signs: every entry is +1 or −1 with probability one half.

    Source: WKA21 §6 (experiments); theory/conventions#matrices.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 128
    n: Annotated[Count | None, Meta(title="rows n", description="number of instances; none: d")] = None

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(row_values="signs", independent_signs=self.repeat is None)

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        return self.n or self.d, self.d

    def rows(self, streams: Streams) -> Rows:
        return streams("matrix").signs(*self.size()).astype(np.float32)
