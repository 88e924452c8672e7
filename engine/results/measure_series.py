"""Measured values along a curve: values of every replica, their mean and its standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_REPLICA_BYTES = 32 << 20
"""Maximum bytes of a series; a larger series stores only the first replica, besides mean and error."""


class Arrays(NamedTuple):
    """Values of a measure with indices at some records of a curve, for the first replica or for all."""

    x: Floats
    """Places on the x-axis of the measurements, [S]."""

    values: Floats
    """[S, R or 1, *index]."""

    def followed_by(self, later: Arrays) -> Arrays:
        """Return these arrays with `later` appended."""
        return Arrays(np.concatenate([self.x, later.x]), np.concatenate([self.values, later.values]))


class MeasureSeries:
    """Values of a measure at the records of a curve, for every replica, with their mean.

    NaN marks records without a measurement and diverged replicas. Mean and standard error are over the
    replicas that have a value. The mean is NaN if none has a value, and the error is NaN if fewer than two
    have.
    """

    def __init__(self, capacity: int, replicas: int) -> None:
        self.values = np.empty((capacity, replicas_kept(capacity, replicas)))
        """Values [S, R], or [S, 1] of the first replica if all would take more than MOST_REPLICA_BYTES."""

        # With one replica the mean is a view of its values: filling them fills it, at no memory of its own.
        self.mean: Floats = self.values[:, 0] if replicas == 1 else np.empty(capacity)
        self.stderr: Floats | None = None if replicas == 1 else np.empty(capacity)

    def fill(self, start: int, values: Floats) -> None:
        """Write values [S, R] from record `start` on."""
        place = slice(start, start + len(values))
        self.values[place] = values[:, : self.values.shape[1]]
        if self.stderr is not None:
            self.mean[place], self.stderr[place] = _moments(values)


def replicas_kept(records: int, replicas: int) -> int:
    """Return the number of replicas whose values a series keeps: all, or one."""
    return replicas if 8 * records * replicas <= MOST_REPLICA_BYTES else 1


def bytes_of(series: int, records: int, replicas: int) -> int:
    """Return an upper bound on the bytes of some series; it never falls as replicas are added."""
    # Above the limit `replicas_kept` falls to 1: bounding by the limit instead keeps the estimate monotone.
    replica_bytes = min(8 * records * replicas, max(8 * records, MOST_REPLICA_BYTES))
    moment_bytes = 16 * records if replicas > 1 else 0
    return series * (replica_bytes + moment_bytes)


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean [S] of values [S, R] and its standard error [S], ignoring NaN."""
    is_present = ~np.isnan(values)
    count = is_present.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(is_present, values, 0.0).sum(1) / count
        # Deviations from the mean, not the mean of squares minus a square: the difference would cancel near
        # convergence.
        squares = np.square(np.where(is_present, values - mean[:, None], 0.0)).sum(1)
        return mean, np.sqrt(squares / (count - 1)) / np.sqrt(count)
