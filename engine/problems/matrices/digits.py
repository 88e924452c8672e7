"""Handwritten digits, as they come with scikit-learn."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import SELDOM, BadField, Count
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, PermuteRows, Rows

COUNTS = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
"""How many images there are of every digit; 1797 in all."""

PIXELS = 64

Digit = Annotated[int, Meta(ge=0, le=9)]


class Digits(Matrix, frozen=True, tag="digits"):
    """Handwritten digits: the 1797 images of 8 × 8 pixels that come with scikit-learn.

    Pixels are standardised by one mean and one standard deviation, those of all pixels of the images chosen:
    (x − mean)/std. With `normalised` the mean image of those chosen is subtracted, and each is scaled to
    length 1. `digits` chooses those of some digits; n of them, or all, come in a random order or else in that
    of the collection, and with `in_turns` the digits take turns, as long as there are images of each. The
    target `classes` names them, in the order in which `digits` does.
    Source: Alpaydin, Kaynak 1998; theory-symmetry.md §23, theory-bias.md §45.
    """

    digits: Annotated[
        Annotated[tuple[Digit, ...], Meta(min_length=2, max_length=10)] | None,
        Meta(title="digits", description="which ones, two or more; none: all ten"),
    ] = None
    n: Annotated[Count | None, Meta(title="rows n", description="images; none: all there are")] = None
    permute: PermuteRows = True
    normalised: Annotated[
        bool,
        Meta(title="normalised", description="images less their mean, each scaled to length 1", extra=SELDOM),
    ] = False
    in_turns: Annotated[
        bool, Meta(title="in turns", description="digits take turns as long as there are", extra=SELDOM)
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self._digits)) < len(self._digits):
            raise BadField("digits", "one of them comes twice; give every digit once")
        if self.n is not None and self.n > self._available:
            raise BadField("n", f"{self.n} is more than the {self._available} images; take that or fewer")

    @property
    def _digits(self) -> tuple[int, ...]:
        return tuple(range(10)) if self.digits is None else self.digits

    @property
    def _available(self) -> int:
        return sum(COUNTS[digit] for digit in self._digits)

    @property
    def random_order(self) -> bool:
        return self.permute

    def size(self) -> tuple[int, int]:
        return self.n or self._available, PIXELS

    def class_count(self) -> int:
        return len(self._digits)

    def class_numbers(self, streams: Streams) -> NDArray[np.int64]:
        return self._numbers()[self._order(streams)]

    def rows(self, streams: Streams) -> Rows:
        images, shown = _collection()
        chosen = images[np.isin(shown, self._digits)]
        if self.normalised:
            scaled: Rows = chosen - chosen.mean(0)
            scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
        else:
            scaled = (chosen - chosen.mean()) / chosen.std()
        return scaled[self._order(streams)]

    def _order(self, streams: Streams) -> NDArray[np.int64]:
        """Which of the chosen images every replica sees at each step, [R, n]."""
        n, _ = self.size()
        if self.permute:
            orders = streams("order").permutation(self._available)
        else:
            orders = np.tile(np.arange(self._available), (len(streams.seeds), 1))
        if self.in_turns:
            orders = np.stack([order[self._turns(order)] for order in orders])
        return orders[:, :n]

    def _turns(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of images in an order, by how many of the same digit come before each of them."""
        numbers = self._numbers()[order]
        before = np.empty(len(order), np.int64)
        for digit in range(len(self._digits)):
            before[numbers == digit] = np.arange((numbers == digit).sum())
        return np.lexsort((numbers, before))

    def _numbers(self) -> NDArray[np.int64]:
        """The class of every image chosen, in the order of the collection."""
        return np.array([self._digits.index(digit) for digit in _collection()[1] if digit in self._digits])


@cache
def _collection() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All images [1797, 64], and the digit that each shows; loading scikit-learn takes a second."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    images, shown = load_digits(return_X_y=True)
    return images, shown
