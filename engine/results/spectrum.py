"""The singular values of a curve's weights across targets, and how many are not 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.measures.spectrum import SingularValues
from engine.results.trace import Curve

Floats = NDArray[np.float64]


class Spectrum(NamedTuple):
    """Singular values of the weight matrix across targets of the first replica, at some of the records.

    Those that rounding alone could have made are 0.
    """

    x: Floats
    """Where on the x-axis they were computed, [S]."""

    values: Floats
    """Largest first, [S, r]."""

    @property
    def rank(self) -> NDArray[np.int64]:
        """The numerical rank [S]."""
        return np.asarray(np.count_nonzero(self.values, axis=1))


def spectrum_of(curve: Curve) -> Spectrum | None:
    """The spectrum of a curve; None if it was not measured."""
    found = curve.array(SingularValues().name)
    return None if found is None else Spectrum(found.x, found.values[:, 0])
