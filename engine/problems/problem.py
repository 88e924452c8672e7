"""The problem of an experiment: a matrix whose rows are the instances, and a target that labels them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from engine.core.catalogue import MemberOf
from engine.core.parts import Values
from engine.core.streams import GENERATORS
from engine.problems.matrices import Matrix
from engine.problems.targets import Target

if TYPE_CHECKING:
    from engine.problems.data_files import DataReport
    from engine.problems.targets import TargetStructure

VECTORS = 5
"""Count of numbers in memory per row of Sylvester's matrix while instances and labels are drawn.

The numbers are for the order, the signs and the feature that is the label.
"""

ROTATED = 3
"""Number of float64 matrices [d, d] in memory while a rotation is drawn."""


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances and their labels."""

    matrix: MemberOf[Matrix]
    target: MemberOf[Target]
    labels: Annotated[
        Literal["soft", "sign", "bernoulli"],
        Meta(
            title="labels",
            description="y unchanged, the sign of y, or a random sign ±1 with probability 1/(1 + e^(∓y))",
        ),
    ] = "soft"
    noise: Annotated[
        float, Meta(ge=0, le=1e6, title="label noise σ", description="N(0, σ²) added to every label")
    ] = 0.0

    @property
    def target_structure(self) -> TargetStructure:
        """Properties of the labels that the target gives to these instances, before noise."""
        return self.target.structure(self.matrix)

    @property
    def label_values(self) -> Values:
        """Range of the labels that learners see, including noise."""
        if self.noise > 0:
            return "any"
        return self.target_structure.values if self.labels == "soft" else "signs"

    @property
    def one_hot(self) -> bool:
        """Whether labels are above 0 for the target of the instance's class, and 0 for all other targets."""
        return self.noise == 0 and self.labels == "soft" and self.target_structure.one_hot

    @property
    def labels_flip(self) -> bool:
        """Whether the label of −x has the same distribution as the negative of the label of x.

        If labels may be 0, their signs do not have this symmetry, because the sign of 0 counts as +1.
        """
        structure = self.target_structure
        odd = self.matrix.structure().features_are_odd and structure.is_odd
        return odd and (self.labels != "sign" or structure.is_never_zero)

    @property
    def labels_are_coins(self) -> bool:
        """Whether labels before noise are fair coins ±1, independent of each other and of the instances."""
        structure = self.target_structure
        return structure.are_coins or (self.labels == "bernoulli" and structure.is_zero)

    @property
    def data_reports(self) -> tuple[DataReport, ...]:
        reports = self.matrix.data_report(), self.target.data_report(self.matrix)
        return tuple(report for report in reports if report is not None)

    @property
    def data_sentence(self) -> str:
        return "; ".join(report.sentence for report in self.data_reports)

    def bytes_drawn(self, replicas: int, itemsize: int, as_matrix: bool) -> int:
        """Return the memory in bytes that instances and labels need while they are drawn.

        Args:
            itemsize: bytes per number.
            as_matrix: whether a learner needs instances as a stored matrix, and not only as an operator.
        """
        n, _ = self.matrix.shape()
        labels = self.target.columns(self.matrix) * n * (8 + itemsize)
        return replicas * (_bytes_while_drawing(self.matrix, itemsize, as_matrix) + GENERATORS + labels)

    def bytes_kept(self, replicas: int, itemsize: int, as_matrix: bool) -> int:
        """Return the memory in bytes that instances and labels need after they are drawn."""
        n, _ = self.matrix.shape()
        labels = self.target.columns(self.matrix) * n * itemsize
        return replicas * (_bytes_kept(self.matrix, itemsize, as_matrix) + GENERATORS + labels)


def _bytes_while_drawing(matrix: Matrix, itemsize: int, as_matrix: bool) -> int:
    (n, d), structure = matrix.shape(), matrix.structure()
    if structure.is_sylvester:
        drawn = n * 8 * VECTORS + (n * 3 * d * itemsize if as_matrix else 0)
    else:
        drawn = n * (d * (8 + itemsize) + 8 * structure.features_made)
    return drawn + (8 * d * (ROTATED * d + n) if structure.rotated else 0)


def _bytes_kept(matrix: Matrix, itemsize: int, as_matrix: bool) -> int:
    n, d = matrix.shape()
    if matrix.structure().is_sylvester and not as_matrix:
        return n * (8 + itemsize)
    return n * d * itemsize
