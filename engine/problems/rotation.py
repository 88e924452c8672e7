"""Random rotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.core.one_thread import one_thread


def haar(gaussian: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Haar-random orthogonal matrix [d, d] made from a matrix of independent N(0, 1) numbers.

    The Q of its QR decomposition, columns signed so that R has a positive diagonal. Source: Mezzadri 2007.
    """
    with one_thread(len(gaussian)):
        q, r = np.linalg.qr(gaussian)
    rotation: NDArray[np.float64] = q * np.sign(np.diag(r))
    return rotation
