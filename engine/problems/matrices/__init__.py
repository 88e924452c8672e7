"""Matrix families: the sources of instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import Count, Part, Values
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.problems.instances import haar

if TYPE_CHECKING:
    from engine.problems.data_files import DataReport
    from engine.problems.table import RowLabels

Rows = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]

PermuteRows = Annotated[bool, Meta(title="permute rows", description="show the rows in random order")]
RowSigns = Annotated[
    bool, Meta(title="row signs", description="give each row x and its label y the same random sign")
]


class Arrangement(NamedTuple):
    """Instances of R replicas as signed rows of Sylvester's matrix: the indices and signs of the rows."""

    order: NDArray[np.int64]
    """Index of every instance's row in Sylvester's matrix, [R, n]."""

    signs: NDArray[np.int8]
    """Sign of every row, [R, n]."""

    shifted: bool = False
    """Whether an instance is ½(s h + 1) for the row h and its sign s, instead of s h."""

    def repeated(self, times: int) -> Arrangement:
        """Return the arrangement with 2 · `times` copies of each row. The signs of the copies alternate."""
        order = self.order.repeat(2 * times, axis=1)
        signs = self.signs.repeat(2 * times, axis=1)
        signs[:, 1::2] *= -1
        return Arrangement(order, signs)


class RowNumbers(NamedTuple):
    """Numbers that describe each row of R replicas, such as its class.

    Rows are counted before repetition, in the order in which learners see them.
    """

    in_file: NDArray[np.int64] | None = None
    """Position of each row in its file, [R, n], for matrices with `rows_are_given` or `given_labels`."""

    classes: NDArray[np.int64] | None = None
    """Class 0 … K−1 of each row, [R, n], for matrices with a `class_count`."""

    subclasses: NDArray[np.int64] | None = None
    """Cluster of each row, [R, n], if classes consist of several clusters."""

    tuples: NDArray[np.int64] | None = None
    """Indices of the r factor rows whose outer product is the row, [R, n, r], for matrices of products."""

    @property
    def clusters(self) -> NDArray[np.int64] | None:
        """Index of each row's cluster, [R, n], or its class if classes have no clusters."""
        return self.classes if self.subclasses is None else self.subclasses


class MatrixStructure(NamedTuple):
    """Properties of a matrix family's instances. With the default values, no theorem applies.

    `Matrix.structure` derives the first properties, down to `features_made`, from the options `repeat` and
    `rotate`, and from the methods that the family overrides. The family itself states all later properties.
    """

    repeated: bool = True
    """Whether learners see each row with both signs, because the field `repeat` is set."""

    rotated: bool = True
    """Whether learners see the rows multiplied by a random rotation, because the field `rotate` is set."""

    is_turned: bool = False
    """Whether learners see all rows multiplied by a Haar-random rotation, independent for each replica."""

    features_are_linear: bool = False
    """Whether the features that targets refer to are entries of the instances, up to a rotation."""

    features_are_odd: bool = False
    """Whether the features that targets refer to change sign if the row changes sign."""

    features_are_seen: bool = False
    """Whether learners see the features that targets refer to, unchanged."""

    features_made: int = 0
    """Number of features that are computed for labels, or 0 if the rows contain the features."""

    row_values: Values = "any"
    """Range of the entries of `rows`."""

    named_values: Values | None = None
    """Range of the features that `named` computes, or None if it equals the range of `rows`."""

    named_sizes: Mapping[str, int] = MappingProxyType({})
    """Named sizes, in addition to d and n, that expressions in a preset may use."""

    constant_column: int | None = None
    """Index of the feature that is 1 on every row before row signs, or None if there is none."""

    class_count: int | None = None
    """Number K of classes of the rows, or None for families without classes."""

    is_hadamard: bool = False
    """Whether the instances are the d rows of a Hadamard matrix, up to order, rotation and row signs.

    Row signs are independent if there are any.
    """

    is_shifted_hadamard: bool = False
    """Whether the instances are the d − 1 shifted rows ½(s h + 1) of a Hadamard matrix.

    The constant row is left out, and rows may be reordered and rotated. Each s is ±1, the same for a row and
    its label.
    """

    is_scaled_orthogonal: bool = False
    """Whether the rows before repetition are √d times the rows of an orthogonal matrix."""

    sign_factors: tuple[int, ...] = ()
    """Orders d₁ … d_r of Hadamard matrices, if the instances are all products x¹ ⊗ … ⊗ xʳ of their rows.

    Every row of every factor has an independent fair sign, and labels change with the signs. Empty for other
    instances.
    """

    in_halves: bool = False
    """Whether the rows are Sylvester's, in the order 0, d/2, 1, 2, …, d/2 − 1, d/2 + 1, …, d − 1."""

    is_sylvester: bool = False
    """Whether the instances are signed rows of Sylvester's matrix, which `arrangement` returns."""

    is_cube: bool = False
    """Whether the instances are all vectors of ±1, each once, in some order."""

    isotropic: bool = False
    """Whether instances are independent Gaussian vectors N(0, σ²I), which have no preferred direction."""

    on_sphere: bool = False
    """Whether instances are independent uniform points of a sphere around 0."""

    feature_means: tuple[float, ...] | None = None
    """Expectations of the entries of an instance, if they are known and the same for all rows."""

    in_ball: bool = False
    """Whether instances are independent uniform points of the unit ball around 0."""

    independent_signs: bool = False
    """Whether all entries of the instances are independent fair signs, up to rotation."""

    random_order: bool = False
    """Whether the rows are in a uniformly random order."""

    random_signs: bool = False
    """Whether an independent fair coin flips the sign of each row.

    The features that targets refer to are flipped with the row.
    """

    private_entries: int = 0
    """Number of entries of each instance that are 0 in all other instances."""

    points_are_fixed: bool = False
    """Whether instances have one entry each and are the same in every replica."""

    span: tuple[float, float] | None = None
    """Ends of an interval that contains all instances of all replicas, for instances with one entry."""

    entries_of: tuple[int, int] | None = None
    """Numbers of rows and columns of a matrix W, if the instances are the entries of W, row by row."""

    unconstrained: int | None = None
    """Number n of instances per class, if the instances are √n e_i, each with its own coordinate."""

    rows_are_given: bool = False
    """Whether the rows come from a user's file, so that labels may also come from a file."""

    held_out: int = 0
    """Number of instances at the end that are held out from training."""

    given_labels: RowLabels | None = None
    """Labels in the file of the rows, in the order of the file, or None if the file has no labels."""

    @property
    def entry_values(self) -> Values:
        return "any" if self.rotated else self._repeated_values

    @property
    def entries_are_signs(self) -> bool:
        return self.entry_values == "signs"

    @property
    def feature_values(self) -> Values:
        return self._repeated_values if self.named_values is None else self.named_values

    @property
    def _repeated_values(self) -> Values:
        """Range of the entries of a row after `repeat` has added negated rows.

        Bits become "any", because −1 is not a bit.
        """
        return "any" if self.row_values == "bits" and self.repeated else self.row_values

    @property
    def has_orthogonal_rows(self) -> bool:
        return self.is_hadamard or self.is_scaled_orthogonal

    @property
    def is_orthogonal(self) -> bool:
        return self.has_orthogonal_rows and not self.repeated

    @property
    def has_no_direction(self) -> bool:
        return self.isotropic or self.on_sphere

    @property
    def in_clusters(self) -> bool:
        """Whether every row that learners see belongs to a cluster. Negated rows belong to no cluster."""
        return self.class_count is not None and not self.repeated


class Matrix(Part, frozen=True, kw_only=True):
    """A family of matrices whose rows are the instances.

    Every family has two options. `repeat` q shows each row 2q times in succession, with the signs +, −, +, ….
    After the labels are drawn, `rotate` multiplies all instances of a replica by one Haar-random orthogonal
    U. The rotation does not change the predictions of a rotation-invariant learner. Source: WKA21 App. A;
    theory/conventions#matrices.

    Targets refer to features. In most families, the features of an instance are its entries. The features of
    −x are then the negated features of x. A family with other features computes them in the method `named`.
    """

    repeat: Annotated[
        Count | None,
        Meta(title="repeat", description="show every row this often with sign +, and as often with sign −"),
    ] = None
    rotate: Annotated[
        bool, Meta(title="rotate", description="multiply all instances by a random rotation")
    ] = False

    declares: ClassVar[frozenset[str]] = frozenset(("structure", "second_moment"))

    def structure(self) -> MatrixStructure:
        """Return the properties of the instances. Each family replaces fields of `super().structure()`.

        Raises: BadInput for an unusable file.
        """
        family = type(self)
        shows_rows = family.instances is Matrix.instances
        names_entries = family.named is Matrix.named
        takes_columns = names_entries and family.columns_of is Matrix.columns_of
        return MatrixStructure(
            repeated=self.repeat is not None,
            rotated=self.rotate,
            is_turned=self.rotate and shows_rows,
            features_are_linear=names_entries and shows_rows,
            features_are_odd=names_entries,
            features_are_seen=names_entries and shows_rows and not self.rotate,
            features_made=0 if takes_columns else self.feature_count(),
        )

    @property
    def second_moment(self) -> float | Floats | None:
        """Second moment Σ = E XᵀX/n [d, d] of the rows before rotation; σ² if Σ = σ²I; None if unknown.

        Σ is not a field of the structure, because Σ may be as large as the instances.
        """
        return None

    def size(self) -> tuple[int, int]:
        """Return the number of rows before repetition, and the number of entries of a row.

        Raises: BadInput for an unusable file.
        """
        raise NotImplementedError

    def shape(self) -> tuple[int, int]:
        """Return (n, d): the number of instances, and the number of entries of an instance.

        Raises: BadInput for an unusable file.
        """
        n, d = self.size()
        return n * 2 * (self.repeat or 0) or n, d

    def feature_count(self) -> int:
        """Return D, the number of features that targets can use."""
        return self.size()[1]

    def rows(self, streams: Streams) -> Rows:
        """Draw the rows for every replica, [R, n, d], in the order of training.

        The rows are not yet repeated or rotated.
        """
        raise NotImplementedError

    def row_numbers(self, streams: Streams) -> RowNumbers:
        """Return numbers that describe the rows that `rows` draws, such as their classes and clusters."""
        return RowNumbers()

    def arrangement(self, streams: Streams) -> Arrangement:
        """Return the indices and signs of the rows of Sylvester's matrix that `rows` draws.

        Only families with `is_sylvester` need this method.
        """
        raise NotImplementedError

    def named(self, rows: Rows) -> Rows:
        """Return the D features of all rows, [R, n, D], from which labels are computed.

        By default, the features are the entries of the rows.
        """
        return rows

    def columns_of(self, rows: Rows) -> Callable[[NDArray[np.int64]], Rows]:
        """Return a function that maps indices [R, m] of features to their values on all rows, [R, m, n]."""
        features = self.named(rows)
        return lambda places: np.stack(
            [of_replica.T[numbers] for of_replica, numbers in zip(features, places, strict=True)]
        )

    def instances(self, rows: Rows, streams: Streams) -> Rows:
        """Convert rows to instances [R, n, d]. If `rotate` is set, rotate them at random."""
        if not self.rotate:
            return rows
        gaussian = streams("rotate").normal(rows.shape[-1], rows.shape[-1])
        rotations = []
        for draw in gaussian:
            go_on()
            rotations.append(haar(draw))
        return rows @ np.stack(rotations).swapaxes(1, 2)

    def data_report(self) -> DataReport | None:
        """Return the report on the file of the rows, or None without a file."""
        return None


def drawn_rows(matrix: Matrix, streams: Streams) -> Rows:
    """Draw the rows of a matrix family, repeated if `repeat` is set, but not rotated: [R, n, d]."""
    return repeated(matrix.rows(streams), matrix.repeat)


def repeated(rows: Rows, times: int | None) -> Rows:
    """Return 2 · `times` copies of each row [R, n, …], one after another, with the signs +, −, +, ….

    Return the rows themselves if `times` is None.
    """
    if times is None:
        return rows
    signs = np.tile([1.0, -1.0], times).astype(rows.dtype)
    return (rows[:, :, None] * signs[:, None]).reshape(len(rows), -1, rows.shape[-1])
