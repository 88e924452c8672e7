"""Independent uniform points of a sphere."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import LARGEST, SELDOM, Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, Rows


class Sphere(Matrix, frozen=True, tag="sphere"):
    """Uniform points of a sphere of radius r, by default √d: Gaussian rows, each scaled to the length r.

    No direction is preferred, and all instances have the same length. With n = 1, a net at its start can be
    measured on a single random input. E x = 0, E xxᵀ = (r²/d) I, E x_i⁴ = 3r⁴/(d² + 2d). Source:
    theory/wide-nets#criticality, theory/wide-nets#infinite-width, theory/wide-nets#kernel-regime,
    theory/wide-nets#mean-field.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 128
    n: Annotated[Count | None, Meta(title="rows n", description="number of instances; none: d")] = None
    length: Annotated[
        Annotated[float, Meta(gt=0, le=LARGEST)] | None,
        Meta(title="length r", description="length of every instance; none: √d", extra=SELDOM),
    ] = None

    def size(self) -> tuple[int, int]:
        return self.n or self.d, self.d

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(on_sphere=self.repeat is None)

    @property
    def second_moment(self) -> float:
        return 1.0 if self.length is None else self.length**2 / self.d

    def rows(self, streams: Streams) -> Rows:
        rows = streams("matrix").normal(*self.size())
        rows *= (self.length or np.sqrt(self.d)) / np.linalg.norm(rows, axis=2, keepdims=True)
        return rows
