"""The class of an instance as the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import SELDOM, BadInput, Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target


class Classes(Target, frozen=True, tag="classes"):
    """The class of an instance is its label: +1 and −1 for two classes, and one-hot for more.

    Of two classes the first has +1, unless they have a target `each`. K > 2 classes are K targets, each 1 for
    one class and 0 for the others: learned by a net each, or by one net with K outputs. Of them the 0/1 error
    is the share of instances whose largest prediction is that of another class. Source: theory-bias.md
    §§44–46, theory-symmetry.md §23.
    """

    each: Annotated[
        bool, Meta(title="a target each", description="of two classes, too, in place of ±1", extra=SELDOM)
    ] = False

    def columns(self, matrix: Matrix) -> int:
        count = matrix.class_count()
        return 1 if count is None or not self.one_hot(matrix) else count

    def check(self, matrix: Matrix) -> None:
        if matrix.class_count() is None:
            raise BadInput(
                "problem.target.kind",
                f"the instances of {matrix.kind} have no classes; "
                'take [problem.matrix] kind = "clusters" or "digits"',
            )
        if matrix.repeat is not None:
            raise BadInput("problem.matrix.repeat", "the negative of an instance has no class; leave it out")

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        count, numbers = matrix.class_count(), matrix.class_numbers(streams)[:, None]  # [R, 1, n]
        assert count is not None, "check() admits no other family"
        if not self.one_hot(matrix):
            return np.where(numbers == 0, 1.0, -1.0)
        one_hot: Rows = (numbers == np.arange(count)[:, None]).astype(np.float64)
        return one_hot

    def values(self, matrix: Matrix) -> Values:
        return "bits" if self.one_hot(matrix) else "signs"

    def one_hot(self, matrix: Matrix) -> bool:
        return self.each or matrix.class_count() != 2
