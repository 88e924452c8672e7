"""All randomness: one integer seed per replica, split into named streams that never disturb one another."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Stream:
    """The random numbers of one purpose, drawn for all replicas at once but from one generator each.

    Replica r draws exactly what a run with the single seed `seeds[r]` would draw. Numbers are made on the
    CPU in float64, so that a seed means the same data on every device and in every dtype.
    """

    def __init__(self, seeds: Sequence[int], name: str) -> None:
        salt = zlib.crc32(name.encode())
        self.replicas = len(seeds)
        self._generators = [np.random.default_rng([seed, salt]) for seed in seeds]

    def normal(self, *shape: int) -> Floats:
        """Independent N(0, 1) numbers [replicas, *shape]."""
        return np.stack([generator.standard_normal(shape) for generator in self._generators])

    def uniform(self, *shape: int) -> Floats:
        """Independent uniform numbers in [0, 1), [replicas, *shape]."""
        return np.stack([generator.random(shape) for generator in self._generators])

    def integers(self, below: int, *shape: int) -> NDArray[np.int64]:
        """Independent uniform integers 0 … below−1, [replicas, *shape]."""
        return np.stack([generator.integers(0, below, shape) for generator in self._generators])

    def signs(self, *shape: int) -> Floats:
        """Independent fair ±1 [replicas, *shape]."""
        return np.stack([2.0 * generator.integers(0, 2, shape) - 1.0 for generator in self._generators])

    def permutation(self, n: int) -> NDArray[np.int64]:
        """A uniformly random order of 0 … n−1 per replica, [replicas, n]."""
        return np.stack([generator.permutation(n) for generator in self._generators])


class Streams:
    """The named streams of an experiment: `streams("signs")` always starts from its own beginning."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = tuple(seeds)

    def __call__(self, name: str) -> Stream:
        return Stream(self.seeds, name)
