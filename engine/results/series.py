"""What was measured along a curve: every replica's values, their mean and its standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_REPLICA_BYTES = 32 << 20
"""A series that would take more keeps the values of its first replica only, beside mean and error."""


class Arrays(NamedTuple):
    """What a measure with indices was at some of the records of a curve, for its first replica or for all."""

    x: Floats
    """Where on the x-axis it was measured, [S]."""

    values: Floats
    """[S, R or 1, *index]."""

    def followed_by(self, later: Arrays) -> Arrays:
        """These and later ones."""
        return Arrays(np.concatenate([self.x, later.x]), np.concatenate([self.values, later.values]))


class MeasureSeries:
    """The values of a measure at the records of a curve, for every replica, with their mean.

    NaN stands where nothing was measured: not at this record, or not any more, since the replica diverged.
    Mean and standard error are over the replicas that have a value. Where none has both are NaN, and where
    one has the error is. A single replica has no standard error at all.
    """

    def __init__(self, capacity: int, replicas: int) -> None:
        self.values = np.empty((capacity, replicas_kept(capacity, replicas)))
        """[S, R], or [S, 1] of the first replica where all would take more than MOST_REPLICA_BYTES."""

        self.mean: Floats = self.values[:, 0] if replicas == 1 else np.empty(capacity)
        self.stderr: Floats | None = None if replicas == 1 else np.empty(capacity)

    def fill(self, start: int, values: Floats) -> None:
        """Enter values [S, R] from record `start` on."""
        place = slice(start, start + len(values))
        self.values[place] = values[:, : self.values.shape[1]]
        if self.stderr is not None:
            self.mean[place], self.stderr[place] = _moments(values)


def replicas_kept(records: int, replicas: int) -> int:
    """Of how many replicas a series of so many records keeps the values: of all, or of the first."""
    return replicas if 8 * records * replicas <= MOST_REPLICA_BYTES else 1


def bytes_of(series: int, records: int, replicas: int) -> int:
    """The bytes of so many series, at most; more replicas never need fewer."""
    values = min(8 * records * replicas, max(8 * records, MOST_REPLICA_BYTES))
    moments = 16 * records if replicas > 1 else 0
    return series * (values + moments)


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and its standard error [S] of values [S, R], NaN left out."""
    is_present = ~np.isnan(values)
    count = is_present.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(is_present, values, 0.0).sum(1) / count
        squares = np.square(np.where(is_present, values - mean[:, None], 0.0)).sum(1)
        return mean, np.sqrt(squares / (count - 1)) / np.sqrt(count)
