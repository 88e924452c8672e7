"""Vectors of bits, and the products of their bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import BadField, Dimension
from engine.core.streams import Streams
from engine.problems.hadamard_matrices import sylvester
from engine.problems.matrices import Arrangement, Matrix, MatrixStructure, PermuteRows, Rows
from engine.problems.matrices.hadamard import arranged


class XOR(Matrix, frozen=True, tag="xor"):
    """All vectors of log₂ d bits ±1, with parities as targets: products of a subset of the bits.

    With `features` = bits, the learner sees the bits b. With `features` = products, the learner sees all d
    products φ(b)_I = ∏_{i∈I} b_i, which are a row of Sylvester's matrix. Targets refer to products in both
    cases. Product i multiplies the bits at the positions of the ones in the binary form of i. So product 0 is
    the constant 1, and bit j is product 2^j. If the learner sees the bits, `repeat` also shows each row with
    all bits negated. In a negated row, products of an even number of bits keep their sign. Source: WKA21 §4;
    theory/conventions#matrices.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of products and of rows: a power of two")] = (
        128
    )
    features: Annotated[
        Literal["bits", "products"],
        Meta(
            title="features",
            description="features that learners see: the log₂ d bits, or all d products of bits",
        ),
    ] = "bits"
    permute: PermuteRows = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d & (self.d - 1):
            below = 1 << (self.d.bit_length() - 1)
            raise BadField("d", f"{self.d} is not a power of two; take {below} or {2 * below}")

    def structure(self) -> MatrixStructure:
        products = self.features == "products"
        structure = super().structure()
        return structure._replace(
            features_are_odd=products,  # if all bits flip, products of an even number of bits stay
            features_are_seen=products and not self.rotate,
            features_made=self.d if products else self.bits,
            row_values="signs",
            constant_column=0,
            is_hadamard=products,
            is_sylvester=products and not self.rotate,
            is_cube=not products and self.repeat is None and not self.rotate,
            random_order=self.permute,
        )

    @property
    def bits(self) -> int:
        return self.d.bit_length() - 1

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        return self.d, self.bits if self.features == "bits" else self.d

    def feature_count(self) -> int:
        return self.d

    def arrangement(self, streams: Streams) -> Arrangement:
        return arranged(streams, self.d, self.permute, row_signs=False)

    def rows(self, streams: Streams) -> Rows:
        order = self.arrangement(streams).order
        if self.features == "bits":
            return np.float32(1) - 2 * (order[:, :, None] >> np.arange(self.bits) & 1).astype(np.float32)
        return sylvester(self.d).astype(np.float32)[order]

    def columns_of(self, rows: Rows) -> Callable[[NDArray[np.int64]], Rows]:
        if self.features == "products":
            return super().columns_of(rows)
        bits = range(self.bits)

        def product(of_replica: Rows, place: int) -> Rows:
            return np.asarray(of_replica[:, [bit for bit in bits if place >> bit & 1]].prod(1))

        return lambda places: np.stack(
            [
                [product(of_replica, place) for place in numbers]
                for of_replica, numbers in zip(rows, places, strict=True)
            ]
        )

    def named(self, rows: Rows) -> Rows:
        if self.features == "products":
            return rows
        products = np.ones_like(rows[:, :, :1])
        for bit in range(self.bits):
            products = np.concatenate((products, products * rows[:, :, bit, None]), axis=2)
        return products
