"""The solution of a differential equation, step by step."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.integrate import DenseOutput, OdeSolver  # type: ignore[import-untyped]

Floats = NDArray[np.float64]
Method = Literal["dop853", "rk45", "bdf", "radau"]

NAMES: dict[Method, str] = {"dop853": "DOP853", "rk45": "RK45", "bdf": "BDF", "radau": "Radau"}
"""What scipy calls the methods. LSODA is not among them: before scipy 1.17 two cannot run at a time."""

EXPLICIT: tuple[Method, ...] = ("dop853", "rk45")
"""The methods without a Jacobian."""

VECTORS: dict[Method, int] = {"dop853": 28, "rk45": 18, "bdf": 24, "radau": 18}
"""How many vectors each method keeps, for stages, differences and interpolation."""

MATRICES = 10
"""How many matrices implicit methods keep at most: the Jacobian, its factors, real and complex, copies."""


class Accuracy(NamedTuple):
    """How a solution is computed."""

    method: Method
    rtol: float
    atol: float
    evaluations: int
    """Of the field, at most."""


class OutOfEvaluations(Exception):
    """A solution needs more evaluations of its field than are allowed; it has come to a `time`."""

    def __init__(self, time: float) -> None:
        super().__init__(time)
        self.time = time


class Field(Protocol):
    """What dθ/dt is."""

    @property
    def start(self) -> Floats:
        """θ at the start [P]."""

    @property
    def has_jacobian(self) -> bool:
        """Whether `jacobian` is known."""

    def velocity(self, place: Floats) -> Floats:
        """dθ/dt [P] at θ [P]."""

    def jacobian(self, place: Floats) -> Floats:
        """The derivative [P, P] of the velocity."""


class Trajectory:
    """The solution of dθ/dt = F(θ) from t = 0 to an end, as far as it has come.

    It breaks off where it cannot go on: where the field is not finite, or the steps that the tolerances need
    for are too small for float64. From there on it is NaN.
    """

    def __init__(self, field: Field, end: float, accuracy: Accuracy) -> None:
        self._field, self._end, self._accuracy = field, end, accuracy
        self._solver: OdeSolver | None = None
        self._broken = False
        self.evaluations = 0

    @property
    def time(self) -> float:
        """How far it has come."""
        return 0.0 if self._solver is None else float(self._solver.t)

    def reaches(self, time: float) -> bool:
        """Whether it has come so far, or will not come further."""
        return self._broken or self.time >= time

    def at(self, time: float) -> Floats:
        """The solution at a time of the last step; NaN where it has broken off before.

        Raises: OutOfEvaluations, for some methods evaluate between two times once more.
        """
        if self._solver is None or self.time < time:
            return self._field.start if time == 0 else np.full_like(self._field.start, np.nan)
        with np.errstate(all="ignore"):
            return np.asarray(self._solver.y if time == self.time else self._interpolant(time))

    def step(self) -> None:
        """Go one step of the method further. Raises: OutOfEvaluations."""
        self.__dict__.pop("_interpolant", None)
        with np.errstate(all="ignore"):  # steps that are tried and too long may overflow
            if self._solver is None:
                self._begin()
            else:
                self._solver.step()
                self._broken = self._solver.status == "failed"

    @cached_property
    def _interpolant(self) -> DenseOutput:
        """The solution along the last step."""
        assert self._solver is not None, "it has made a step"
        return self._solver.dense_output()

    def _begin(self) -> None:
        from scipy import integrate  # type: ignore[import-untyped]

        start, accuracy = self._field.start, self._accuracy
        if not np.isfinite(self._velocity(0.0, start)).all():
            self._broken = True
            return
        more = {}
        if accuracy.method not in EXPLICIT:
            more["jac"] = self._jacobian if self._field.has_jacobian else None
        make = getattr(integrate, NAMES[accuracy.method])
        self._solver = make(
            self._velocity, 0.0, start, self._end, rtol=accuracy.rtol, atol=accuracy.atol, **more
        )

    def _velocity(self, time: float, place: Floats) -> Floats:
        if self.evaluations == self._accuracy.evaluations:
            raise OutOfEvaluations(self.time)
        self.evaluations += 1
        return self._field.velocity(place)

    def _jacobian(self, time: float, place: Floats) -> Floats:
        return self._field.jacobian(place)


def numbers_held(method: Method, parameters: int) -> int:
    """How many numbers a trajectory of so many parameters keeps."""
    matrices = 0 if method in EXPLICIT else MATRICES * parameters**2
    return VECTORS[method] * parameters + matrices
