"""The singular values of learners' weights across targets, and how many are not 0, as a view has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.measures.spectrum import SingularValues
from engine.pictures.picture import Picture
from engine.pictures.view import View
from engine.spec.experiment import Experiment, of_run

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


def picture_of_spectra(experiment: Experiment) -> Picture:
    """The picture of a run over its clock and the number of the singular value."""
    return structs.replace(of_run(experiment, SingularValues().name, SingularValues.label), y="j")


def spectra(found: View) -> dict[str, Spectrum]:
    """The spectra of a view of that picture, by the names of the curves; of those that have one."""
    return {heat.learner: Spectrum(heat.x, heat.z.T) for heat in found.heats}
