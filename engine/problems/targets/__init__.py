"""Targets: rules that label the instances."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import Part, Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows

if TYPE_CHECKING:
    from engine.problems.data_files import DataReport


class Combination(NamedTuple):
    """Labels of m targets in R replicas as weighted sums of r features: y = Σ_j sizes_j · x_(places_j)."""

    places: NDArray[np.int64]
    """Indices of the features in each target, [R, m, r]. The features in a target are all different."""

    sizes: NDArray[np.float64]
    """Weights w* of these features, [R, m, r]."""

    @classmethod
    def of(cls, places: NDArray[np.int64], size: float, replicas: int) -> Combination:
        """Return m targets, which are the same in all replicas. Each is `size` times one feature.

        `places` [m] are the indices of these features.
        """
        chosen = np.tile(places[:, None], (replicas, 1, 1))
        return cls(chosen, np.full(chosen.shape, size))

    def labels(self, columns: Callable[[NDArray[np.int64]], Rows]) -> Rows:
        """Compute the labels [R, m, n] of all rows.

        `columns` maps indices [R, m] of features to their values on all rows, [R, m, n].
        """
        parts, rounded = range(self.places.shape[2]), self.sizes.astype(np.float32)
        if len(parts) == 1 and np.array_equal(rounded, self.sizes):
            return rounded * columns(self.places[:, :, 0])
        return reduce(
            np.add, (self.sizes[:, :, part, None] * columns(self.places[:, :, part]) for part in parts)
        )


class TargetStructure(NamedTuple):
    """Properties of the labels that a target gives to the instances of a matrix, before noise.

    With the defaults, no bound applies to any learner.
    """

    values: Values = "any"
    """Range of the labels."""

    one_hot: bool = False
    """Whether every instance has a label above 0 for one target, its class, and 0 for all other targets."""

    linear: bool = False
    """Whether every target is a `combination` of features on every matrix family.

    Only a target that needs a constant feature may be an exception, on families without a constant feature.
    """

    has_w_star: bool = False
    """Whether every target is a combination w* of features, of any length ‖w*‖."""

    unit: bool = False
    """Whether every target is a combination w* of features with ‖w*‖ = 1, independent of the instances."""

    given: tuple[float, ...] | None = None
    """Weights w* of the only target, without trailing zeros, if the preset states w*. None if w* is drawn."""

    fixed_feature: int | None = None
    """Index of the feature that is the only target, if the preset chooses it. Otherwise None."""

    is_random_feature: bool = False
    """Whether the only target is one feature, drawn uniformly from all features in every replica."""

    are_features: bool = False
    """Whether every target is a single feature with weight 1."""

    with_negatives: bool = False
    """Whether the targets are all features and their negatives."""

    is_any_parity: bool = False
    """Whether the only target is the product of the features in a set, drawn uniformly from all sets."""

    are_coins: bool = False
    """Whether every label is ±1 by a fair coin, independent of the instances and of all other labels."""

    is_odd: bool = False
    """Whether the label changes sign if all features of the instance change sign, as linear targets do."""

    is_never_zero: bool = False
    """Whether no label is 0. This matters because the sign of a label 0 counts as +1."""

    is_zero: bool = False
    """Whether every label is 0."""


class Target(Part, frozen=True):
    """A rule that gives every instance m labels, one per target."""

    declares: ClassVar[frozenset[str]] = frozenset(("structure",))

    def structure(self, matrix: Matrix) -> TargetStructure:
        """Return the properties of the labels that this target gives to instances of `matrix`."""
        return TargetStructure()

    def columns(self, matrix: Matrix) -> int:
        """Return the number m of targets."""
        return 1

    def combination(self, matrix: Matrix, streams: Streams) -> Combination | None:
        """Return the weights w* of the features, or None if labels are not linear in the features."""
        return None

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        """Compute the labels [R, m, n] of a target that is not linear in the features.

        `features` computes the features [R, n, D], which may need much memory. Raises: BadInput if the labels
        do not fit the instances.
        """
        raise NotImplementedError

    def true_labels(self, matrix: Matrix, streams: Streams) -> Rows | None:
        """Return the labels [R, m, n] before corruption, or None if no label is corrupted."""
        return None

    def check(self, matrix: Matrix) -> None:
        """Check that this target can label the instances of a matrix. Raises: BadInput."""

    def data_report(self, matrix: Matrix) -> DataReport | None:
        """Return the report on the file of the labels, or None without such a file.

        If the file of the instances has a label column, and this target does not use it, the report says so.
        """
        report = matrix.data_report()
        if report is None or not report.label:
            return None
        return report.of_labels(0, f"the label column is not used, because the target is {self.kind}")
