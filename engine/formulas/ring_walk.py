"""The stationary distribution of a walk on a ring with short steps on one half and long steps on the other.

Source: theory-nets.md §36.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LONG = 2
"""Length of the steps that start on the second half; those that start on the first have length 1."""


def lengths(sites: int) -> NDArray[np.int64]:
    """Return the length of the steps that start at each of the sites."""
    return np.where(np.arange(sites) < sites // 2, 1, LONG)


def stationary(sites: int) -> NDArray[np.float64]:
    """Return the probabilities p of the sites with pT = p, for steps forwards or backwards by a fair coin."""
    starts, steps = np.arange(sites), lengths(sites)
    balance = -np.eye(sites)  # (Tᵀ − I) p = 0
    for sign in (1, -1):
        np.add.at(balance, ((starts + sign * steps) % sites, starts), 0.5)
    balance[0] = 1  # Σ p = 1 in place of an equation that follows from the others
    probabilities: NDArray[np.float64] = np.linalg.solve(balance, np.eye(sites)[0])
    return probabilities
