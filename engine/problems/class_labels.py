"""Labels of instances: numbers as they are, or classes that words name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.expressions import number
from engine.core.parts import BadField
from engine.core.texts import listed

MOST_CLASSES = 1000
"""Classes at most: each is a target."""


class Classes(NamedTuple):
    """The classes of rows."""

    names: tuple[str, ...]
    """In sorted order; of two classes the later one comes first, since the target `classes` makes it +1."""

    numbers: NDArray[np.int64]
    """The number of the class of every row, [n]."""

    @property
    def in_words(self) -> str:
        """Which of two classes is which label, or how many classes there are."""
        if len(self.names) == 2:
            return f"{self.names[1]} = −1, {self.names[0]} = +1"
        return self.with_a_target_each

    @property
    def with_a_target_each(self) -> str:
        """How many classes there are, in the order of their targets."""
        return f"{len(self.names)} classes with a target each: {listed(self.names)}"


class Labels(NamedTuple):
    """Labels of rows."""

    numbers: NDArray[np.float64]
    """Labels as they are learned, [n, m]: words are −1 and +1, or one-hot for more than two classes."""

    one_hot: bool = False
    are_words: bool = False
    classes: Classes | None = None
    """The classes of a single column of words or whole numbers."""


def labels_of(column: NDArray[np.float64] | Sequence[str], field: str) -> Labels:
    """Labels in a column of numbers or words. Raises: BadField for words that are no classes."""
    if isinstance(column, np.ndarray):
        return Labels(column.reshape(len(column), -1), classes=_classes_in(column))
    classes = _classes(np.array(column, dtype=np.str_))
    count, rows = len(classes.names), len(column)
    if count == 1:
        raise BadField(field, f"every label is {classes.names[0]!r}; words name two classes or more")
    if count > MOST_CLASSES or (count == rows and rows > 2):
        raise BadField(field, f"{rows} labels are {count} different words, which are no classes")
    if count == 2:
        return Labels(np.where(classes.numbers == 0, 1.0, -1.0)[:, None], False, True, classes)
    one_hot = classes.numbers[:, None] == np.arange(count)
    return Labels(one_hot.astype(np.float64), True, True, classes)


def _classes_in(column: NDArray[np.float64]) -> Classes | None:
    """Classes in a single column of whole numbers, if there are few enough."""
    if column.size != len(column) or not (column == np.round(column)).all():
        return None
    classes = _classes(column.ravel())
    return classes if len(classes.names) <= MOST_CLASSES else None


def _classes(column: NDArray[np.float64] | NDArray[np.str_]) -> Classes:
    labels, numbers = np.unique(column, return_inverse=True)
    names = [label if isinstance(label, str) else number(float(label)) for label in labels.tolist()]
    if len(names) == 2:
        return Classes((names[1], names[0]), 1 - numbers.astype(np.int64))
    return Classes(tuple(names), numbers.astype(np.int64))
