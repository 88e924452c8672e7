"""Gaussian instances and targets that compare one entry with a threshold."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.core.parts import Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, Rows


class Threshold(Matrix, frozen=True, tag="threshold"):
    """Gaussian instances x with labels that compare one entry with a threshold: feature i is 1[x_i ≥ t].

    A learner sees x. Targets refer to the d features 1[x_i ≥ t], which are not linear in x. With `values` =
    signs, a feature is +1 where x_i ≥ t and −1 elsewhere, for losses that require signs. Source: Ng 2004 §4;
    theory/conventions#matrices.
    """

    d: Annotated[
        Dimension, Meta(title="d", description="number of entries of an instance, and of features")
    ] = 128
    n: Annotated[Count | None, Meta(title="rows n", description="number of instances; none: d")] = None
    t: Annotated[float, Meta(title="threshold t", description="number with which entries are compared")] = 0.0
    values: Annotated[
        Literal["bits", "signs"],
        Meta(title="values", description="values of the features: 0 and 1, or −1 and +1"),
    ] = "bits"

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(named_values=self.values, isotropic=self.repeat is None)

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        return self.n or self.d, self.d

    def rows(self, streams: Streams) -> Rows:
        return streams("matrix").normal(*self.size())

    def named(self, rows: Rows) -> Rows:
        return np.where(rows >= self.t, 1.0, 0.0 if self.values == "bits" else -1.0)
