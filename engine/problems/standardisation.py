"""Standardisation of features by the training rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def standardise(features: Floats, training: int) -> None:
    """Shift and scale columns in place, to mean 0 and standard deviation 1 on the first rows.

    A column that is constant on these rows becomes 0.

    Args:
        features: [n, d].
        training: number of first rows from which means and deviations are taken.
    """
    mean, scale = moments(features[:training])
    features -= mean
    features *= scale


def moments(train: Floats) -> tuple[Floats, Floats]:
    """Return the means of columns, and the factors that make their standard deviation 1; 0 for constants."""
    mean, deviation = train.mean(0), train.std(0)
    is_constant = deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))
    return mean, np.where(is_constant, 0.0, 1 / np.where(is_constant, 1.0, deviation))
