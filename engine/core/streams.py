"""Random numbers: independent streams for different purposes, derived from one seed per replica."""

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
"""Bytes of the random generators of a replica. Only a few generators exist at the same time."""

DRAWN = ("matrix", "target", "labels", "noise")
"""Names of the streams that draw data: rows, labels and noise."""

PIECE = 1 << 14
"""Number of random signs drawn in one call. Each sign is drawn as 8 bytes, but stored as 1 byte."""

LONG_PIECE = 1 << 22
"""Largest number of random numbers drawn in one call. Drawing them takes about 0.05 s."""

UNCHECKED = 1 << 16
"""Number of random numbers after which drawing checks for cancellation."""


class Stream:
    """Random numbers for one purpose, such as the noise of labels.

    One call draws for all replicas, with a separate generator for each replica. Replica r gets the numbers
    that a run with the single seed `seeds[r]` would get. Numbers are drawn on the CPU in float64, so that a
    seed gives the same data on every device and in every dtype.
    """

    def __init__(self, seeds: Sequence[int | Sequence[int]], name: str) -> None:
        self._seeds, self._salt = seeds, zlib.crc32(name.encode())
        self.replicas = len(seeds)

    @cached_property
    def _generators(self) -> list[np.random.Generator]:
        """Random generators of the replicas, created at the first draw, because each takes 20 µs."""
        return [np.random.default_rng([seed, self._salt]) for seed in self._seeds]

    def normal(self, *shape: int) -> Floats:
        """Draw independent N(0, 1) numbers, [replicas, *shape]."""
        return self._drawn_numbers(shape, np.random.Generator.standard_normal)

    def uniform(self, *shape: int) -> Floats:
        """Draw independent uniform numbers from [0, 1), [replicas, *shape]."""
        return self._drawn_numbers(shape, np.random.Generator.random)

    def integers(self, below: int, *shape: int) -> NDArray[np.int64]:
        """Draw independent uniform integers 0 … `below` − 1, [replicas, *shape]."""
        return np.stack([generator.integers(0, below, shape) for generator in self._generators])

    def _drawn_numbers(self, shape: tuple[int, ...], draw: Callable[..., Floats]) -> Floats:
        numbers = np.empty((self.replicas, math.prod(shape)))
        unchecked = UNCHECKED
        for generator, row in zip(self._generators, numbers, strict=True):
            for first in range(0, len(row), LONG_PIECE):
                if unchecked >= UNCHECKED:
                    go_on()
                    unchecked = 0
                piece = row[first : first + LONG_PIECE]
                draw(generator, out=piece)
                unchecked += len(piece)
        return numbers.reshape(self.replicas, *shape)

    def signs(self, *shape: int) -> NDArray[np.int8]:
        """Draw independent random signs, [replicas, *shape]: +1 or −1 with probability ½ each."""
        signs = np.empty((self.replicas, math.prod(shape)), np.int8)
        for generator, row in zip(self._generators, signs, strict=True):
            for first in range(0, len(row), PIECE):
                go_on()
                piece = row[first : first + PIECE]
                # with other integer types, the generator draws different numbers
                piece[:] = generator.integers(0, 2, len(piece))
        signs *= 2
        signs -= 1
        return signs.reshape(self.replicas, *shape)

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Draw a random order of 0 … n−1 for each replica, [replicas, n]."""
        orders = np.tile(np.arange(n), (self.replicas, 1))
        unchecked = UNCHECKED
        for generator, order in zip(self._generators, orders, strict=True):
            if unchecked >= UNCHECKED:
                go_on()
                unchecked = 0
            generator.shuffle(order)
            unchecked += n
        return orders


class Streams:
    """Streams of random numbers for an experiment, one for each purpose, by name.

    Each call of `streams("signs")` returns a new stream that starts at its first number. After a
    cancellation, all methods of a stream except `integers` raise Stopped.
    """

    def __init__(self, seeds: Sequence[int], single: bool = False) -> None:
        """Store the seeds, one for each replica.

        With `single`, one generator for each replica, `default_rng(seed)`, draws all data of this replica.
        """
        self.seeds, self._single = tuple(seeds), single

    def __call__(self, name: str) -> Stream:
        return Stream(self.seeds, name)

    def printed(self, seed: Sequence[int]) -> Stream:
        """Return a stream that gives every replica the same numbers, those of `default_rng(seed)`.

        A run can thus repeat the random draw of a script or paper that states its seed.
        """
        return Unnamed([seed] * len(self.seeds), "")

    def of_data(self) -> Streams:
        """Return the streams from which a problem draws its data, each starting at its first number."""
        return Together(self.seeds) if self._single else self


class Together(Streams):
    """Streams for runs in which one generator, `default_rng(seed)`, draws all data of a replica.

    The streams in DRAWN share this generator; all other streams are separate. The generator draws the rows
    first, then the labels, then the noise. A script that draws from one generator in this order gets the same
    data.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__(seeds)
        self._together = Unnamed(seeds, "")

    def __call__(self, name: str) -> Stream:
        return self._together if name in DRAWN else super().__call__(name)


class Unnamed(Stream):
    """Stream that draws the numbers of `default_rng(seed)` for each replica.

    Several purposes may share this stream. The numbers for a purpose then follow the numbers for the previous
    purpose.
    """

    @cached_property
    def _generators(self) -> list[np.random.Generator]:
        return [np.random.default_rng(seed) for seed in self._seeds]

    def signs(self, *shape: int) -> NDArray[np.int8]:
        return np.where(self.uniform(*shape) < 0.5, 1, -1).astype(np.int8)
