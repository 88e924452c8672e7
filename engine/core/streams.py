"""All randomness: an integer seed per replica, split into independent named streams."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.core.stopping import go_on

Floats = NDArray[np.float64]

GENERATORS = 2 * 1400
"""Bytes of the random generators of a replica; few streams exist at a time."""

DRAWN = ("matrix", "target", "labels", "noise")
"""Streams of rows, labels and noise."""

PIECE = 1 << 14
"""Number of random numbers drawn in one call, if they are stored in fewer bytes than they are drawn in."""

LONG_PIECE = 1 << 22
"""Number of random numbers drawn between two checks for cancellation, in about a twentieth of a second."""


class Stream:
    """The random numbers of one purpose: one call draws for all replicas, each from a separate generator.

    Replica r draws exactly what a run with the single seed `seeds[r]` would draw. Numbers are made on the
    CPU in float64, so that a seed means the same data on every device and in every dtype.
    """

    def __init__(self, seeds: Sequence[int | Sequence[int]], name: str) -> None:
        self._seeds, self._salt = seeds, zlib.crc32(name.encode())
        self.replicas = len(seeds)

    @cached_property
    def _generators(self) -> list[np.random.Generator]:
        """Generators, created at the first draw. A start may draw nothing, and each takes 20 µs to create."""
        return [np.random.default_rng([seed, self._salt]) for seed in self._seeds]

    def normal(self, *shape: int) -> Floats:
        """Return independent N(0, 1) numbers [replicas, *shape]."""
        return self._filled(shape, np.random.Generator.standard_normal)

    def uniform(self, *shape: int) -> Floats:
        """Return independent uniform numbers in [0, 1), [replicas, *shape]."""
        return self._filled(shape, np.random.Generator.random)

    def integers(self, below: int, *shape: int) -> NDArray[np.int64]:
        """Return independent uniform integers 0 … below−1, [replicas, *shape]."""
        return np.stack([generator.integers(0, below, shape) for generator in self._generators])

    def _filled(self, shape: tuple[int, ...], draw: Callable[..., Floats]) -> Floats:
        """Return numbers [replicas, *shape] that each generator draws in order."""
        numbers = np.empty((self.replicas, math.prod(shape)))
        for generator, row in zip(self._generators, numbers, strict=True):
            for first in range(0, len(row), LONG_PIECE):
                go_on()
                draw(generator, out=row[first : first + LONG_PIECE])
        return numbers.reshape(self.replicas, *shape)

    def signs(self, *shape: int) -> NDArray[np.int8]:
        """Return independent fair ±1 [replicas, *shape]."""
        signs = np.empty((self.replicas, math.prod(shape)), np.int8)
        for generator, row in zip(self._generators, signs, strict=True):
            for first in range(0, len(row), PIECE):
                go_on()
                piece = row[first : first + PIECE]
                piece[:] = generator.integers(0, 2, len(piece))  # of 64 bits: others are other numbers
        signs *= 2
        signs -= 1
        return signs.reshape(self.replicas, *shape)

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return a uniformly random order of 0 … n−1 per replica, [replicas, n]."""
        orders = np.tile(np.arange(n), (self.replicas, 1))
        for generator, order in zip(self._generators, orders, strict=True):
            go_on()
            generator.shuffle(order)
        return orders


class Streams:
    """The named streams of an experiment: `streams("signs")` always starts from its own beginning.

    Draws raise Stopped after a cancellation.
    """

    def __init__(self, seeds: Sequence[int], single: bool = False) -> None:
        """Store the seeds.

        With `single`, the data of a replica come from one generator, `default_rng(seed)`.
        """
        self.seeds, self._single = tuple(seeds), single

    def __call__(self, name: str) -> Stream:
        return Stream(self.seeds, name)

    def printed(self, seed: Sequence[int]) -> Stream:
        """Return draws of `default_rng(seed)` that all replicas share, to reproduce a printed draw."""
        return Unnamed([seed] * len(self.seeds), "")

    def of_data(self) -> Streams:
        """Return the streams from which a problem is drawn, all at their beginning."""
        return Together(self.seeds) if self._single else self


class Together(Streams):
    """Named streams that share one generator per replica, `default_rng(seed)`, if they are in DRAWN.

    Draws come in the order of the requests: rows, then labels, then noise. A script that draws from one
    generator in this order has the same data.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__(seeds)
        self._together = Unnamed(seeds, "")

    def __call__(self, name: str) -> Stream:
        return self._together if name in DRAWN else super().__call__(name)


class Unnamed(Stream):
    """The random numbers of `default_rng(seed)`, which several purposes use in order."""

    @cached_property
    def _generators(self) -> list[np.random.Generator]:
        return [np.random.default_rng(seed) for seed in self._seeds]

    def signs(self, *shape: int) -> NDArray[np.int8]:
        """Return +1 where a uniform number is below ½, else −1."""
        return np.where(self.uniform(*shape) < 0.5, 1, -1).astype(np.int8)
