"""Measured values along a curve: values of every replica, their mean and its standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_REPLICA_BYTES = 32 << 20
"""Largest size in bytes of the values of all replicas in a series.

If these values would be larger, the series stores only the values of the first replica, and the mean and
standard error over all replicas.
"""


class Arrays(NamedTuple):
    """Array-valued measurements at some evaluation points of a curve, for one replica or for all."""

    x: Floats
    """Positions of the measurements on the x-axis [S]."""

    values: Floats
    """Values [S, R or 1, *index], with one dimension for each index of the measure."""

    def followed_by(self, later: Arrays) -> Arrays:
        return Arrays(np.concatenate([self.x, later.x]), np.concatenate([self.values, later.values]))


class MeasureSeries:
    """Values of a measure for every replica at each record (evaluation point) of a curve, with their mean.

    At records without a measurement, and for diverged replicas, the value is NaN. The mean and its standard
    error are computed over the replicas that have a value. The mean is NaN if no replica has a value. The
    standard error is NaN if fewer than two replicas have a value.
    """

    def __init__(self, capacity: int, replicas: int) -> None:
        self.values = np.empty((capacity, replicas_kept(capacity, replicas)))
        """Values [S, R], or [S, 1] if the values of all replicas would exceed MOST_REPLICA_BYTES."""

        # With one replica, the mean is a NumPy view of the values: it needs no memory and no computation.
        self.mean: Floats = self.values[:, 0] if replicas == 1 else np.empty(capacity)
        self.stderr: Floats | None = None if replicas == 1 else np.empty(capacity)

    def fill(self, start: int, values: Floats) -> None:
        """Write the values [S, R] of S records. The first record has the index `start`."""
        place = slice(start, start + len(values))
        self.values[place] = values[:, : self.values.shape[1]]
        if self.stderr is not None:
            self.mean[place], self.stderr[place] = _mean_and_error(values)


def replicas_kept(records: int, replicas: int) -> int:
    """Return for how many replicas the values of a measure are stored: all replicas, or only the first."""
    return replicas if 8 * records * replicas <= MOST_REPLICA_BYTES else 1


def bytes_of(series: int, records: int, replicas: int) -> int:
    """Return an upper bound on the bytes of `series` measure series.

    The bound never decreases as `replicas` increases.
    """
    # Above the limit, only one replica is stored. The estimate then uses the limit itself, to stay monotone.
    replica_bytes = min(8 * records * replicas, max(8 * records, MOST_REPLICA_BYTES))
    moment_bytes = 16 * records if replicas > 1 else 0
    return series * (replica_bytes + moment_bytes)


def _mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean [S] of values [S, R] over replicas, and its standard error [S], ignoring NaN."""
    is_present = ~np.isnan(values)
    count = is_present.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(is_present, values, 0.0).sum(1) / count
        # Sum squared deviations from the mean. The difference E[v²] − E[v]² would lose all digits near
        # convergence, where replicas have nearly equal values.
        squares = np.square(np.where(is_present, values - mean[:, None], 0.0)).sum(1)
        return mean, np.sqrt(squares / (count - 1)) / np.sqrt(count)
