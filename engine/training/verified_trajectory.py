"""A solution of a differential equation that ends where it differs from one of other tolerances."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.training import trajectory
from engine.training.gradient_field import GradientField
from engine.training.trajectory import EXPLICIT, Accuracy, Method, Trajectory

Floats = NDArray[np.float64]

LOOSER, LOOSEST, LOOSELY = 1e3, 1e-2, 0.02
"""The first comparison has tolerances so many times as large, with an rtol of at most LOOSEST.

The solution is confirmed while weights differ by at most the share LOOSELY of the longest weights so far:
most of that is the error of the comparison, which grows with its tolerances.
"""

TIGHTER, TIGHTEST, TIGHTLY = 0.1, 3e-14, 0.002
"""The second one has a tenth of the tolerances, and what differs is mostly the error of the solution.

scipy takes no rtol below 100 times the rounding of 1.
"""

FEW = 64
"""Up to so many parameters an implicit method is cheap, and takes long steps where explicit ones must not."""


class Reversed:
    """The same field with its coordinates in reverse order, in which other roundings are made.

    A symmetry of the flow may hide an instability for long, and rounding breaks it always to the same side.
    """

    def __init__(self, field: GradientField) -> None:
        self._field, self.has_jacobian = field, field.has_jacobian
        self.start = field.start[::-1].copy()

    def velocity(self, place: Floats) -> Floats:
        """dθ/dt [P] at θ [P]."""
        return self._field.velocity(place[::-1].copy())[::-1]

    def jacobian(self, place: Floats) -> Floats:
        """Its derivative [P, P]."""
        return self._field.jacobian(place[::-1].copy())[::-1, ::-1]


class VerifiedTrajectory:
    """The solution of dθ/dt = F(θ) at increasing times, which is NaN from where it is not to be trusted.

    Local errors are below the tolerances, but an unstable flow magnifies them, in the end beyond the weights
    themselves. Conserved quantities need not show it. So a second solution follows the first. It takes few
    steps, as its tolerances are loose. Once the two disagree, the loose one may be to blame: from the start
    on a solution with tighter tolerances takes its place. Where that one disagrees, too, accuracy is lost.
    Source: Hairer, Nørsett, Wanner 1993, II.4.
    """

    def __init__(self, field: GradientField, end: float, accuracy: Accuracy) -> None:
        self._field, self._end = field, end
        self._solution = Trajectory(field, end, accuracy)
        self.is_accurate = True
        self._comparisons = _comparisons(accuracy, len(field.start))
        self._start_comparison()
        self._longest = np.linalg.norm(field.primal(field.start))
        self._place = field.start

    @property
    def evaluations(self) -> int:
        """Evaluations of the field by the solution itself."""
        return self._solution.evaluations

    @property
    def place(self) -> Floats:
        """The solution at the time that `advance` has come to."""
        return self._place

    def advance(self, time: float) -> Iterator[None]:
        """Go on to a time; yields after each step of a solution. Raises: OutOfEvaluations."""
        if not self.is_accurate:
            return
        yield from _advance(self._solution, time)
        self._place = self._solution.at(time)
        if not np.isfinite(self._place).all():
            return
        weights = self._field.primal(self._place)
        self._longest = max(self._longest, np.linalg.norm(weights))
        while self.is_accurate:
            yield from _advance(self._compared, time)
            others = self._field.primal(self._compared.at(time)[::-1].copy())
            if np.linalg.norm(weights - others) <= self._agreement * self._longest:  # not where it is NaN
                return
            self._start_comparison()
        self._place = np.full_like(self._place, np.nan)

    def _start_comparison(self) -> None:
        """Start the next solution to compare with; without one the solution is not accurate."""
        accuracy, self._agreement = next(self._comparisons, (None, 0.0))
        if accuracy is None:
            self.is_accurate = False
        else:
            self._compared = Trajectory(Reversed(self._field), self._end, accuracy)


def _comparisons(accuracy: Accuracy, parameters: int) -> Iterator[tuple[Accuracy, float]]:
    """How the solutions are computed that one of so many parameters is compared with, and when they agree."""
    unlimited = accuracy._replace(evaluations=sys.maxsize)
    looser = min(LOOSER, LOOSEST / accuracy.rtol)
    if looser > 1 / TIGHTER:
        cheap: Method = "bdf" if parameters <= FEW and accuracy.method in EXPLICIT else accuracy.method
        yield _scaled(unlimited, looser)._replace(method=cheap), LOOSELY
    yield _scaled(unlimited, max(TIGHTER, TIGHTEST / accuracy.rtol)), TIGHTLY


def numbers_held(accuracy: Accuracy, parameters: int) -> int:
    """How many numbers a solution of so many parameters keeps, with the one that it is compared with."""
    compared = max(
        trajectory.numbers_held(one.method, parameters) for one, _ in _comparisons(accuracy, parameters)
    )
    return trajectory.numbers_held(accuracy.method, parameters) + compared


def _scaled(accuracy: Accuracy, factor: float) -> Accuracy:
    return accuracy._replace(rtol=accuracy.rtol * factor, atol=accuracy.atol * factor)


def _advance(solution: Trajectory, time: float) -> Iterator[None]:
    while not solution.reaches(time):
        solution.step()
        yield
