"""Independent fair signs."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.parts import Count, Dimension, Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows


class Rademacher(Matrix, frozen=True, tag="rademacher"):
    """Independent random signs: every entry is +1 or −1 with probability one half.

    Source: WKA21 §6 (experiments); theory.md §2.
    """

    drawn: ClassVar[Values] = "signs"

    d: Annotated[Dimension, Meta(title="d", description="features")] = 128
    n: Annotated[Count | None, Meta(title="rows n", description="instances; none: as many as d")] = None

    @property
    def second_moment(self) -> float:
        return 1.0

    @property
    def independent_signs(self) -> bool:
        return self.repeat is None

    def size(self) -> tuple[int, int]:
        return self.n or self.d, self.d

    def rows(self, streams: Streams) -> Rows:
        return streams("matrix").signs(*self.size()).astype(np.float32)
