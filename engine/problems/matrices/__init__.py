"""Matrix families: where the instances come from."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.parts import Part
from engine.streams import Streams

Rows = NDArray[np.floating[Any]]


class Matrix(Part, frozen=True):
    """A family of n × d matrices whose rows are the instances."""

    constant_column: ClassVar[int | None] = None
    """The column that is 1 on every row before row signs, if the family has one."""

    signs_only: ClassVar[bool] = False
    """Whether every entry is +1 or −1."""

    def shape(self) -> tuple[int, int]:
        """(n, d): the number of instances and of features. Raises BadInput for an unusable file."""
        raise NotImplementedError

    def draw(self, streams: Streams) -> Rows:
        """One matrix per replica, [R, n, d], rows in the order in which the learner sees them."""
        raise NotImplementedError
