"""Standardisation of features by their means and deviations on the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def standardise(features: Floats, training: int) -> None:
    """Shift and scale columns in place, to mean 0 and standard deviation 1 on the training rows.

    A column that is constant on these rows becomes 0.

    Args:
        features: columns of the table, [n, d].
        training: number of training rows, which are the first rows.
    """
    mean, scale = moments(features[:training])
    features -= mean
    features *= scale


def moments(train: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each column, and the inverse of its standard deviation.

    For a constant column, the inverse is replaced by 0.
    """
    mean, deviation = train.mean(0), train.std(0)
    is_constant = deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))
    return mean, np.where(is_constant, 0.0, 1 / np.where(is_constant, 1.0, deviation))
