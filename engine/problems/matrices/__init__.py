"""Matrix families: where the instances come from."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.parts import Count, Part
from engine.problems.rotation import haar
from engine.streams import Streams

Rows = NDArray[np.floating[Any]]


class Matrix(Part, frozen=True, kw_only=True):
    """A family of matrices whose rows are the instances.

    Every family has two options. `repeat` q shows each row q times with sign + and q times with −, one after
    the other. `rotate` multiplies all instances by one Haar-random orthogonal U after the labels are drawn:
    a rotation-invariant learner does not notice. Source: WKA21 App. A; theory.md §2.
    """

    repeat: Annotated[
        Count | None, Meta(title="repeat", description="shows each row so often with each sign")
    ] = None
    rotate: Annotated[bool, Meta(title="rotate", description="instances times a random rotation")] = False

    constant_column: ClassVar[int | None] = None
    """The column that is 1 on every row before row signs, if the family has one."""

    signs_only: ClassVar[bool] = False
    """Whether every entry is +1 or −1."""

    def size(self) -> tuple[int, int]:
        """The number of rows, before repetition, and of features. Raises BadInput for an unusable file."""
        raise NotImplementedError

    def rows(self, streams: Streams) -> Rows:
        """The rows, before repetition, in the order in which they are seen: one matrix per replica."""
        raise NotImplementedError

    def seen(self, features: Rows) -> Rows:
        """What a learner sees of rows of features [R, n, D], before rotation: [R, n, d]. By default all."""
        return features

    @property
    def entries_are_signs(self) -> bool:
        """Whether every entry of an instance is +1 or −1."""
        return self.signs_only and not self.rotate

    def shape(self) -> tuple[int, int]:
        """(n, d): the number of instances and of their entries. Raises BadInput for an unusable file."""
        n, d = self.size()
        return n * 2 * (self.repeat or 0) or n, d

    def features(self) -> int:
        """The number of features that a target can name."""
        return self.size()[1]

    def draw(self, streams: Streams) -> Rows:
        """The features of every instance, [R, n, D], from which targets make the labels."""
        rows = self.rows(streams)
        if self.repeat is None:
            return rows
        signs = np.tile([1.0, -1.0], self.repeat).astype(rows.dtype)
        return (rows[:, :, None] * signs[:, None]).reshape(len(rows), -1, rows.shape[-1])

    def instances(self, features: Rows, streams: Streams) -> Rows:
        """The instances [R, n, d] that belong to rows of features."""
        seen = self.seen(features)
        if not self.rotate:
            return seen
        gaussian = streams("rotate").normal(seen.shape[-1], seen.shape[-1])
        return seen @ np.stack([haar(one) for one in gaussian]).swapaxes(1, 2)
