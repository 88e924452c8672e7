"""Instances with a separate coordinate each, so that a net can give every instance any features."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Count, Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, RowNumbers, Rows


class Unconstrained(Matrix, frozen=True, tag="unconstrained"):
    """√n e_i for i = 1 … nK, n instances in each of K classes: the unconstrained-features model.

    In a linear net, √n times column i of the first layer's weights is the feature vector of instance i.
    Training can therefore choose the features of every instance freely. Successive instances belong to
    successive classes. Every replica has the same instances. The target `classes` uses the classes as labels.
    Source: Papyan, Han, Donoho 2020; theory/curvature#collapse.
    """

    classes: Annotated[Dimension, Meta(title="classes K", description="number of classes of instances")] = 4
    each: Annotated[
        Count, Meta(title="rows n of a class", description="number of instances of every class")
    ] = 10

    def structure(self) -> MatrixStructure:
        rows = None if self.repeat or self.rotate else self.each
        return super().structure()._replace(class_count=self.classes, unconstrained=rows)

    def size(self) -> tuple[int, int]:
        return self.classes * self.each, self.classes * self.each

    @property
    def second_moment(self) -> float:
        return 1 / self.classes

    def row_numbers(self, streams: Streams) -> RowNumbers:
        classes = np.arange(self.size()[0]) % self.classes
        return RowNumbers(classes=np.tile(classes, (len(streams.seeds), 1)))

    def rows(self, streams: Streams) -> Rows:
        return np.tile(np.sqrt(self.each) * np.eye(self.size()[0]), (len(streams.seeds), 1, 1))
