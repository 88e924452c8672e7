"""Table with one label per row, in the form that the diagnosis passes to learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import BadInput
from engine.core.texts import counted
from engine.problems.standardisation import moments

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MOST_FEATURES = 4096
"""Largest number of features: each split has a rotation matrix with this many rows and columns."""

MOST_CLASSES = 100
"""Largest number of classes: linear classifiers fit one weight vector per class."""


@dataclass(frozen=True)
class LabelledTable:
    """Features and labels of all rows."""

    name: str
    label: str

    features: Floats
    """Features of all rows [n, d]."""

    labels: Floats
    """Labels of all rows [n]: numbers, or indices into `classes`."""

    feature_names: tuple[str, ...]
    classes: tuple[str, ...] = ()
    """Names of the classes; empty if labels are numbers."""

    notes: tuple[str, ...] = ()
    """Sentences about how the columns of the file became features, one per column or file."""

    encode: Callable[[Indices, Indices], tuple[Floats, Floats]] | None = None
    """Function from the indices of training and test rows to their features. None if `features` has them.

    The function learns the encoding of features from the training rows alone.
    """

    def __post_init__(self) -> None:
        rows, width = self.features.shape
        if not 1 < width <= MOST_FEATURES:
            raise BadInput(
                self.name, f"it has {counted(width, 'feature')}; the diagnosis needs 2 to {MOST_FEATURES}"
            )
        if len(self.feature_names) != width or self.labels.shape != (rows,):
            raise ValueError("names, labels and features must have matching shapes")
        if not (np.isfinite(self.features).all() and np.isfinite(self.labels).all()):
            raise BadInput(self.name, "a feature or a label is not finite; fill it or leave its row out")
        if self.classes and len(self.classes) > MOST_CLASSES:
            raise BadInput(
                self.label, f"it has {len(self.classes)} classes; the diagnosis takes at most {MOST_CLASSES}"
            )
        if (self.labels == self.labels[0]).all():
            raise BadInput(self.label, "all labels are equal, so that nothing can be learned")

    def rows_of(self, train: Indices, tested: Indices) -> tuple[Floats, Floats]:
        """Return the features of training rows and of test rows. They are not standardised."""
        if self.encode is None:
            return self.features[train], self.features[tested]
        return self.encode(train, tested)

    @property
    def is_classified(self) -> bool:
        return bool(self.classes)


def balanced_order(table: LabelledTable, generator: np.random.Generator) -> Indices:
    """Return a random order of all rows. Each class has about the same share in each prefix of the order."""
    order = generator.permutation(len(table.labels))
    if not table.is_classified:
        return order
    return order[_spread_order(table.labels[order].astype(np.int64), generator)]


def _spread_order(classes: Indices, generator: np.random.Generator) -> Indices:
    """Return an order of the rows in which the rows of each class are spread evenly.

    Rows are sorted by (i + u)/c, for row i of a class of c rows, with u uniform in [0, 1) for each row.
    """
    positions = np.empty(len(classes))
    for number in np.unique(classes):
        rows = np.flatnonzero(classes == number)
        positions[rows] = (np.arange(len(rows)) + generator.random(len(rows))) / len(rows)
    return np.argsort(positions, kind="stable")


def held_out(labels: Floats, are_classes: bool, seed: int, share: float = 0.3) -> tuple[Indices, Indices]:
    """Return the positions of rows to fit, and of rows to hold out for choosing hyperparameters.

    Each class has about the same share of the held-out rows as of all rows.

    Args:
        share: share of the rows to hold out.
    """
    generator = np.random.default_rng([seed, len(labels)])
    order = generator.permutation(len(labels))
    if are_classes:
        order = order[_spread_order(labels[order].astype(np.int64), generator)]
    count = max(1, round(share * len(labels)))
    # Every class is spread evenly over the order, so that the end of the order includes all classes.
    return order[:-count], order[-count:]


def standardised(train: Floats, tested: Sequence[Floats]) -> list[Floats]:
    """Return all arrays, standardised by the means and standard deviations of `train`; `train` is first.

    A column that is constant in `train` becomes 0 in all arrays.
    """
    mean, scale = moments(train)
    return [(rows - mean) * scale for rows in (train, *tested)]
