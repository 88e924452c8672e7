"""Matrix families: where the instances come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import Count, Part, Values
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.problems.transformations import haar

if TYPE_CHECKING:
    from engine.problems.class_labels import Labels
    from engine.problems.data_report import DataReport

Rows = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]

PermuteRows = Annotated[bool, Meta(title="permute rows", description="rows in random order")]
RowSigns = Annotated[bool, Meta(title="row signs", description="flip (x, y) together at random")]


VECTORS = 5
"""Numbers per row of Sylvester's matrix while it is drawn: order, signs, and the feature that labels it."""

ROTATED = 3
"""Matrices [d, d] in float64 that a rotation is made of."""


class Arrangement(NamedTuple):
    """Rows of Sylvester's matrix: which come, with which signs, for R replicas."""

    order: NDArray[np.int64]
    """The number of every row, [R, n]."""

    signs: NDArray[np.int8]
    """What every row is multiplied by, [R, n]."""

    shifted: bool = False
    """Whether the instances are ½(s h + 1)."""

    def repeated(self, times: int) -> Arrangement:
        """Every row so often with sign + and so often with −, one after the other."""
        order = self.order.repeat(2 * times, axis=1)
        signs = self.signs.repeat(2 * times, axis=1)
        signs[:, 1::2] *= -1
        return Arrangement(order, signs)


class Matrix(Part, frozen=True, kw_only=True):
    """A family of matrices whose rows are the instances.

    Every family has two options. `repeat` q shows each row q times with sign + and q times with −, one after
    the other. `rotate` multiplies all instances by one Haar-random orthogonal U after the labels are drawn:
    a rotation-invariant learner does not notice. Source: WKA21 App. A; theory.md §2.

    Targets name features. In most families these are the entries of an instance, and both change sign
    together; a family whose targets name something else says what by `named`.
    """

    repeat: Annotated[
        Count | None, Meta(title="repeat", description="shows each row so often with each sign")
    ] = None
    rotate: Annotated[bool, Meta(title="rotate", description="instances times a random rotation")] = False

    constant_column: ClassVar[int | None] = None
    """The feature that is 1 on every row before row signs, if the family has one."""

    drawn: ClassVar[Values] = "any"
    """What every entry of `rows` is."""

    declares: ClassVar[frozenset[str]] = frozenset(
        (
            "constant_column",
            "drawn",
            "is_hadamard",
            "is_shifted_hadamard",
            "isotropic",
            "has_no_direction",
            "independent_signs",
            "random_order",
            "random_signs",
            "entry_values",
            "feature_values",
            "is_orthogonal",
            "has_orthogonal_rows",
            "sign_factors",
            "in_halves",
            "is_cube",
            "on_sphere",
            "rows_are_given",
            "is_sylvester",
            "features_are_seen",
            "features_are_odd",
            "is_turned",
            "second_moment",
            "private_entries",
            "fixed_points",
            "span",
            "entries_of",
        )
    )

    @property
    def named_sizes(self) -> Mapping[str, int]:
        """Sizes beside d and n that expressions outside the matrix may name."""
        return {}

    @property
    def is_hadamard(self) -> bool:
        """Whether the instances are the d rows of a Hadamard matrix, up to order and rotation.

        And up to signs of rows, which are all independent if there are any.
        """
        return False

    @property
    def is_shifted_hadamard(self) -> bool:
        """Whether they are the d − 1 rows ½(s h + 1) of one without a constant row, up to order and rotation.

        The s are ±1, and the same for a row and its label.
        """
        return False

    @property
    def is_cube(self) -> bool:
        """Whether the instances are all vectors of ±1, each once, in some order."""
        return False

    @property
    def on_sphere(self) -> bool:
        """Whether instances are independent uniform points of a sphere around 0."""
        return False

    @property
    def independent_signs(self) -> bool:
        """Whether all entries of the instances are independent fair signs, up to rotation."""
        return False

    @property
    def random_order(self) -> bool:
        """Whether the rows come in a uniformly random order."""
        return False

    @property
    def random_signs(self) -> bool:
        """Whether a fair coin of its own flips every row, and with it the features that targets name."""
        return False

    @property
    def entry_values(self) -> Values:
        """What every entry of an instance is."""
        return "any" if self.rotate or (self.drawn == "bits" and self.repeat is not None) else self.drawn

    @property
    def entries_are_signs(self) -> bool:
        """Whether every entry of an instance is +1 or −1."""
        return self.entry_values == "signs"

    @property
    def features_are_linear(self) -> bool:
        """Whether the features that targets name are entries of the instances, up to their rotation."""
        return type(self).named is Matrix.named and type(self).instances is Matrix.instances

    @property
    def features_are_odd(self) -> bool:
        """Whether the features that targets name change sign with the row."""
        return type(self).named is Matrix.named

    @property
    def feature_values(self) -> Values:
        """What every feature is that a target can name."""
        return "any" if self.drawn == "bits" and self.repeat is not None else self.drawn

    @property
    def is_orthogonal(self) -> bool:
        """Whether there are as many instances as features, orthogonal ones of length √d."""
        return self.has_orthogonal_rows and self.repeat is None

    @property
    def has_orthogonal_rows(self) -> bool:
        """Whether there are, before repetition, as many rows as features, orthogonal ones of length √d."""
        return self.is_hadamard

    @property
    def sign_factors(self) -> tuple[int, ...]:
        """d₁ … d_r if the instances are all x¹ ⊗ … ⊗ xʳ of the rows of Hadamard matrices of these orders.

        Every row of every factor has a fair sign of its own, and labels change with them; () if not.
        """
        return ()

    @property
    def in_halves(self) -> bool:
        """Whether the rows are Sylvester's, in the order 0, d/2, 1, 2, …, d/2 − 1, d/2 + 1, …, d − 1."""
        return False

    @property
    def isotropic(self) -> bool:
        """Whether instances are independent Gaussian vectors N(0, σ²I), which have no preferred direction."""
        return False

    @property
    def has_no_direction(self) -> bool:
        """Whether instances are independent vectors of one law, which no rotation changes."""
        return self.isotropic or self.on_sphere

    @property
    def second_moment(self) -> float | Floats | None:
        """Σ [d, d], the mean of (1/n) Σ_j x_j x_jᵀ over the n rows before rotation, or σ² where it is σ²I.

        None if it is not known.
        """
        return None

    @property
    def private_entries(self) -> int:
        """How many entries an instance has that are 0 in all others, beside those that all have."""
        return 0

    @property
    def fixed_points(self) -> Floats | None:
        """The instances [n], if they have one entry each and are the same in every replica."""
        return None

    @property
    def span(self) -> tuple[float, float] | None:
        """The ends of the interval of which instances of one entry are points, in every replica."""
        return None

    @property
    def entries_of(self) -> tuple[int, int] | None:
        """Rows and columns of a matrix if the instances are its entries, each once and row by row."""
        return None

    @property
    def rows_are_given(self) -> bool:
        """Whether the rows are somebody's own, in the `order` of a file, so that labels can be given too."""
        return False

    @property
    def is_sylvester(self) -> bool:
        """Whether `arrangement` says all there is to the instances."""
        return False

    @property
    def features_are_seen(self) -> bool:
        """Whether a learner sees the very features that targets name."""
        return self.features_are_linear and not self.rotate

    @property
    def is_turned(self) -> bool:
        """Whether learners see all rows times one Haar-random rotation of every replica, drawn by itself."""
        return self.rotate and type(self).instances is Matrix.instances

    def size(self) -> tuple[int, int]:
        """Rows, before repetition, and the entries of each. Raises BadInput for an unusable file."""
        raise NotImplementedError

    def bytes_drawn(self, item: int, as_matrix: bool) -> int:
        """Bytes that the instances of a replica take while they are drawn, with `item` bytes a number.

        Args:
            as_matrix: whether somebody needs them as a matrix, where they can do without one.
        """
        n, d = self.shape()
        if not self.is_sylvester:
            drawn = n * (d * (8 + item) + 8 * self.features_made)
        else:
            drawn = n * 8 * VECTORS + (n * 3 * d * item if as_matrix else 0)
        return drawn + (8 * d * (ROTATED * d + n) if self.rotate else 0)

    def bytes_kept(self, item: int, as_matrix: bool) -> int:
        """Bytes that they take once they are drawn."""
        n, d = self.shape()
        if self.is_sylvester and not as_matrix:
            return n * (8 + item)
        return n * d * item

    def rows(self, streams: Streams) -> Rows:
        """The rows, before repetition and rotation, in the order in which they are seen: [R, n, d]."""
        raise NotImplementedError

    def order(self, streams: Streams) -> NDArray[np.int64]:
        """The number of the row given that every replica sees at each step, [R, n], where rows are given."""
        raise NotImplementedError

    def tuples(self, streams: Streams) -> NDArray[np.int64]:
        """The numbers of the rows whose product is seen at each step, [R, n, r], where there are factors."""
        raise NotImplementedError

    def arrangement(self, streams: Streams) -> Arrangement:
        """The rows, before repetition, as rows of Sylvester's matrix, where they are such."""
        raise NotImplementedError

    def named(self, rows: Rows) -> Rows:
        """The features of rows that a target can name, [R, n, D]. By default the rows themselves."""
        return rows

    def columns_of(self, rows: Rows) -> Callable[[NDArray[np.int64]], Rows]:
        """What has the features [R, m, n] on these rows for their numbers [R, m]."""
        features = self.named(rows)
        return lambda places: np.stack([each.T[some] for each, some in zip(features, places, strict=True)])

    @property
    def features_made(self) -> int:
        """How many features are made at once while labels are made of some of them, in `columns_of`.

        None where these are the rows themselves.
        """
        made = any(getattr(type(self), name) is not getattr(Matrix, name) for name in ("named", "columns_of"))
        return self.feature_count() if made else 0

    def shape(self) -> tuple[int, int]:
        """(n, d): the number of instances and of their entries. Raises BadInput for an unusable file."""
        n, d = self.size()
        return n * 2 * (self.repeat or 0) or n, d

    def feature_count(self) -> int:
        """D: the number of features that a target can name."""
        return self.size()[1]

    def class_count(self) -> int | None:
        """K: how many classes the rows fall into; None if the family knows of none."""
        return None

    @property
    def in_clusters(self) -> bool:
        """Whether `cluster_numbers` has every row that is seen: it has no negatives of rows."""
        return self.class_count() is not None and self.repeat is None

    def class_numbers(self, streams: Streams) -> NDArray[np.int64]:
        """The class 0 … K−1 of every row, before repetition, in the order in which they are seen: [R, n]."""
        raise NotImplementedError

    def given_labels(self) -> Labels | None:
        """The labels that the file of the rows has, in its order; None without such."""
        return None

    def data_report(self) -> DataReport | None:
        """How the rows were read from a file; None if they come from no file."""
        return None

    def cluster_numbers(self, streams: Streams) -> NDArray[np.int64]:
        """The cluster of every row, before repetition: [R, n]; its class where families know of no others."""
        return self.class_numbers(streams)

    def draw(self, streams: Streams) -> Rows:
        """The rows with their repetitions, before rotation: [R, n, d]."""
        return self.repeated(self.rows(streams))

    def repeated(self, rows: Rows) -> Rows:
        """Rows [R, n, …] each so often with sign + and so often with −, where they are repeated at all."""
        if self.repeat is None:
            return rows
        signs = np.tile([1.0, -1.0], self.repeat).astype(rows.dtype)
        return (rows[:, :, None] * signs[:, None]).reshape(len(rows), -1, rows.shape[-1])

    def instances(self, rows: Rows, streams: Streams) -> Rows:
        """What a learner sees of the rows: themselves, or rotated; [R, n, d]."""
        if not self.rotate:
            return rows
        gaussian = streams("rotate").normal(rows.shape[-1], rows.shape[-1])
        rotations = []
        for one in gaussian:
            go_on()
            rotations.append(haar(one))
        return rows @ np.stack(rotations).swapaxes(1, 2)
