"""What products of unknown signs say of other products: elimination over F₂."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class SignProducts:
    """r lists of unknown signs, of which products of one sign from each list come to be known.

    A product is a vector over F₂ with a 1 for each of its signs; it is known if it is a sum of those seen.
    Kept is a basis of all vectors to which those seen are orthogonal: `codes` has what every sign has in
    each of its members, so that a product is known if the codes of its signs add up to 0; and one solution.
    """

    def __init__(self, sizes: Sequence[int], answers: int = 1) -> None:
        """For lists of these sizes, and so many sets of unknown signs at once."""
        self._first = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        self._sizes = tuple(sizes)
        self._codes = np.eye(sum(sizes), dtype=bool)
        self._negative = np.zeros((sum(sizes), answers), bool)
        self.rank = 0
        """How many of the products seen are no sums of others."""

    def see(self, numbers: Numbers, negative: Bits) -> None:
        """Take in a product: which sign of every list [r], and in which sets it is −1, [answers]."""
        signs = self._first + numbers
        code = np.logical_xor.reduce(self._codes[signs])
        if not code.any():
            return
        pivot = int(code.argmax())
        along = self._codes[:, pivot].copy()
        wrong = np.logical_xor.reduce(self._negative[signs]) ^ negative
        self._negative ^= along[:, None] & wrong
        self._codes[along] ^= code
        self.rank += 1

    def known(self, numbers: Numbers) -> tuple[Bits, Bits]:
        """Which of some products [n, r] are known, [n], and where they are −1 then, [n, answers]."""
        signs = self._first + numbers
        words = self._words()
        left = np.bitwise_xor.reduce(words[signs], 1)
        return ~left.any(1), np.logical_xor.reduce(self._negative[signs], 1)

    def share(self) -> float:
        """The share of all products that are known."""
        words, left = self._words(), np.zeros((1, 1), np.uint64)
        for first, size in zip(self._first, self._sizes, strict=True):
            left = (left[:, None] ^ words[first : first + size]).reshape(-1, words.shape[1])
        return float(1 - left.any(1).mean())

    def _words(self) -> NDArray[np.uint64]:
        """The codes [signs, W], 64 members of the basis in a word."""
        there = self._codes[:, self._codes.any(0)]
        packed = np.packbits(there, 1)
        missing = max(8 - packed.shape[1], -packed.shape[1] % 8)
        return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)
