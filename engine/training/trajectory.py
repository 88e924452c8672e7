"""Gradient flow: its vector field, a solution in steps, and a solution whose accuracy is checked.

The checked solution ends where solutions with other tolerances differ from it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.architectures import Architecture, with_penalty
from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.params import Params
from engine.hypotheses.curvature import Curvature
from engine.problems.instances import Instances
from engine.updates import EUCLIDEAN, Mirror

if TYPE_CHECKING:
    from scipy.integrate import DenseOutput, OdeSolver  # type: ignore[import-untyped]


Floats = NDArray[np.float64]


class GradientField:
    """Vector field dθ/dt = −c ⊙ ∂L/∂w of one or several nets, for a mirror map from θ to the weights w.

    The vector θ holds the dual weights of all layers. The factor c is the speed of each layer. L is the mean
    loss of the given rows, plus L2 penalties.
    """

    def __init__(
        self,
        architecture: Architecture,
        mirror: Mirror,
        speeds: Mapping[str, float],
        dual: Params,
        fixed: Params,
        instances: Instances,
        labels: torch.Tensor,
        loss: Cost,
    ) -> None:
        """Store the nets and rows: `dual` and `fixed` [N, …], `instances` [1, n, d], `labels` [N·outputs, n].

        There are N nets with n common rows.
        """
        self._architecture, self._mirror, self._fixed = architecture, mirror, fixed
        self._instances, self._labels, self._loss = instances, labels, loss
        self._l2_penalties = architecture.layout(instances.d).l2_penalties
        self._shapes = {layer: theta.shape for layer, theta in dual.items()}
        self._nets = len(next(iter(dual.values())))
        sizes = [shape.numel() for shape in self._shapes.values()]
        self._parts = [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
        self._speeds = np.concatenate(
            [np.full(size, speeds[layer]) for layer, size in zip(self._shapes, sizes, strict=True)]
        )
        self.start = _joined_vector(dual).copy()
        # `velocity` copies its point into this vector, of which the layers are views. To make new tensors for
        # each point would take a quarter more time, if the net is small.
        self._point = self._labels.new_empty(len(self.start))
        self._layers = self._by_layer(self._point[None])

    def velocity(self, place: Floats) -> Floats:
        tensors = self._tensors_at(place)
        gradients = self._architecture.gradient(tensors, self._instances, self._slopes_of_mean)
        gradients = with_penalty(self._l2_penalties, tensors, gradients)
        return -self._speeds * _joined_vector({layer: gradients[layer] for layer in self._shapes})

    def weights(self, places: Floats) -> Params:
        """Convert S vectors of dual weights, [S, P], to the weights [S·N, …] of every layer."""
        return self._mirror.primal(self._by_layer(torch.from_numpy(places).to(self._labels)))

    def primal(self, place: Floats) -> Floats:
        """Convert dual weights [P] to the weights of all layers, as one vector [P]."""
        return _joined_vector(self.weights(place[None]))

    @property
    def has_jacobian(self) -> bool:
        """Whether `jacobian` can be called: it requires a single net whose weights w equal θ."""
        return self._mirror is EUCLIDEAN and self._nets == 1

    def jacobian(self, place: Floats) -> Floats:
        shares = torch.full_like(self._labels, 1 / self._instances.n)
        parts = self._tensors_at(place), self._instances, self._labels, shares, self._loss
        hessian: Floats = Curvature(self._architecture, *parts).matrices()[0].cpu().numpy()
        return -self._speeds[:, None] * hessian

    def _by_layer(self, vectors: torch.Tensor) -> Params:
        """Cut S vectors [S, P] into the tensors [S·N, …] of every layer."""
        layers = zip(self._shapes.items(), self._parts, strict=True)
        return {layer: vectors[:, part].reshape(-1, *shape[1:]) for (layer, shape), part in layers}

    def _tensors_at(self, place: Floats) -> Params:
        self._point.copy_(torch.from_numpy(place))
        return {**self._fixed, **self._mirror.primal(self._layers)}

    def _slopes_of_mean(self, predictions: torch.Tensor) -> torch.Tensor:
        return self._loss.slope(predictions, self._labels) / self._instances.n


def _joined_vector(tensors: Params) -> Floats:
    parts = [tensor.flatten() for tensor in tensors.values()]
    vector: Floats = (parts[0] if len(parts) == 1 else torch.cat(parts)).cpu().numpy()
    return vector


Method = Literal["dop853", "rk45", "bdf", "radau", "lsoda"]

NAMES: dict[Method, str] = {
    "dop853": "DOP853",
    "rk45": "RK45",
    "bdf": "BDF",
    "radau": "Radau",
    "lsoda": "LSODA",
}
"""scipy's names of the methods.

Two solvers of LSODA can run at the same time since scipy 1.17.
"""

EXPLICIT: tuple[Method, ...] = ("dop853", "rk45")
"""Explicit methods, which use no Jacobian."""

WITH_JACOBIAN: tuple[Method, ...] = ("bdf", "radau")
"""Methods that use the Jacobian of the field, if it has one.

LSODA needs a Jacobian only where the flow is stiff, and estimates it by differences. On nets with 30
parameters, this takes less time than the exact Jacobian.
"""

VECTORS: dict[Method, int] = {"dop853": 28, "rk45": 18, "bdf": 24, "radau": 18, "lsoda": 36}
"""Number of vectors [P] that each method stores for stages, differences and interpolation."""

MATRICES = 10
"""Largest number of matrices [P, P] that an implicit method stores.

These are the Jacobian, its real and complex factorisations, and copies.
"""


class Accuracy(NamedTuple):
    """Settings for solving a differential equation: the method and its tolerances."""

    method: Method
    rtol: float
    atol: float
    evaluations: int
    """Largest allowed number of evaluations of the vector field."""


HUGE = 1e100
"""Entry of the velocity that implicit methods get in place of an entry that is not finite.

Implicit methods reject a step with a huge velocity, and try a shorter step. From velocities that are not
finite, BDF and Radau compute a Jacobian that they cannot factorise. LSODA accepts steps that end in NaN, and
some of its steps never end.
"""


class OutOfEvaluations(Exception):
    """Error: a solution needs more evaluations of its field than allowed to advance beyond `time`."""

    def __init__(self, time: float) -> None:
        super().__init__(time)
        self.time = time


class VectorField(Protocol):
    """Vector field F of a differential equation dθ/dt = F(θ)."""

    @property
    def start(self) -> Floats:
        """Initial point θ [P], at t = 0."""

    @property
    def has_jacobian(self) -> bool: ...

    def velocity(self, place: Floats) -> Floats:
        """Return the velocity dθ/dt [P] at the point θ [P]."""

    def jacobian(self, place: Floats) -> Floats:
        """Return the derivative [P, P] of the velocity with respect to θ, at θ [P]."""


class Trajectory:
    """Solution of dθ/dt = F(θ) from t = 0 to `end`, computed step by step.

    The solution breaks off if the field is not finite, or if the tolerances require steps that are too small
    for float64. From then on, the solution is NaN.
    """

    def __init__(self, field: VectorField, end: float, accuracy: Accuracy) -> None:
        self._field, self._end, self._accuracy = field, end, accuracy
        self._solver: OdeSolver | None = None
        self._broken, self._last_finite = False, True
        self.evaluations = 0

    @property
    def time(self) -> float:
        """Time up to which the solution is computed."""
        return 0.0 if self._solver is None else float(self._solver.t)

    def reaches(self, time: float) -> bool:
        """Return whether the solution at `time` is known. A solution that has broken off is known as NaN."""
        return self._broken or self.time >= time

    def at(self, time: float) -> Floats:
        """Return θ [P] at a time within the last step, or NaN if the solution broke off before this time.

        Raises: OutOfEvaluations, because some methods evaluate the field to interpolate within a step.
        """
        if self._solver is None or self.time < time or not self._last_finite:
            return self._field.start if time == 0 else np.full_like(self._field.start, np.nan)
        with np.errstate(all="ignore"):
            return np.asarray(self._solver.y if time == self.time else self._dense_output(time))

    def step(self) -> None:
        """Make one step of the solver. Raises: OutOfEvaluations."""
        # The cached interpolant is valid for the previous step only.
        self.__dict__.pop("_dense_output", None)
        with np.errstate(all="ignore"):  # the method tries steps that may be too long and overflow
            if self._solver is None:
                self._create_solver()
            else:
                self._solver.step()
                # If even the shortest step fails, LSODA reports a step that does not advance. A step from
                # one huge velocity to the next can succeed, but its end is no place of the solution.
                stuck = self._solver.t == self._solver.t_old
                self._broken = stuck or not self._last_finite or self._solver.status == "failed"

    @cached_property
    def _dense_output(self) -> DenseOutput:
        assert self._solver is not None, "it has made a step"
        return self._solver.dense_output()

    def _create_solver(self) -> None:
        from scipy import integrate  # type: ignore[import-untyped]

        start, accuracy = self._field.start, self._accuracy
        if not np.isfinite(self._count_and_evaluate_velocity(0.0, start)).all():
            self._broken = True
            return
        more, velocity = {}, self._count_and_evaluate_velocity
        if accuracy.method in WITH_JACOBIAN:
            more["jac"] = self._jacobian_at if self._field.has_jacobian else None
        if accuracy.method not in EXPLICIT:
            velocity = self._finite_velocity
        if accuracy.method == "lsoda":
            # A failed step breaks the solution off; the warning would be printed into the app.
            warnings.filterwarnings("ignore", message="lsoda: ", category=UserWarning)
        make = getattr(integrate, NAMES[accuracy.method])
        self._solver = make(
            velocity,
            0.0,
            start,
            self._end,
            rtol=accuracy.rtol,
            atol=accuracy.atol,
            **more,
        )

    def _count_and_evaluate_velocity(self, time: float, place: Floats) -> Floats:
        if self.evaluations == self._accuracy.evaluations:
            raise OutOfEvaluations(self.time)
        self.evaluations += 1
        return self._field.velocity(place)

    def _finite_velocity(self, time: float, place: Floats) -> Floats:
        velocity = self._count_and_evaluate_velocity(time, place)
        self._last_finite = bool(np.isfinite(velocity).all())
        return velocity if self._last_finite else np.nan_to_num(velocity, nan=HUGE, posinf=HUGE, neginf=-HUGE)

    def _jacobian_at(self, time: float, place: Floats) -> Floats:
        return self._field.jacobian(place)


def numbers_held(method: Method, parameters: int) -> int:
    """Return the number of floats that a trajectory stores for a net with `parameters` parameters."""
    matrices = 0 if method in EXPLICIT else MATRICES * parameters**2
    return VECTORS[method] * parameters + matrices


LOOSER, LOOSEST, LOOSELY = 1e3, 1e-2, 0.02
"""Settings of the first comparison: factor of the tolerances, largest rtol, and allowed difference.

The difference of the weights is divided by the largest norm of the weights so far. The solution is confirmed
while this ratio is at most LOOSELY. Most of the difference is the error of the comparison, because its
tolerances are larger.
"""

TIGHTER, TIGHTEST, TIGHTLY = 0.1, 3e-14, 0.002
"""Settings of the second comparison: factor of the tolerances, least rtol, and allowed difference.

With a tenth of the tolerances, most of the difference is the error of the solution itself. scipy accepts no
rtol below 100 times the machine epsilon.
"""

FEW = 64
"""Number of parameters up to which implicit methods are cheap.

On stiff problems, implicit methods can take longer steps.
"""


class Reversed:
    """A vector field with its coordinates in reversed order, so that rounding errors are different.

    An unstable symmetric solution amplifies rounding errors: nearby solutions leave it in a direction that
    the rounding errors determine. Two solvers with the same rounding errors would leave it in the same
    direction, and wrongly confirm each other. With reversed coordinates, the rounding errors are different.
    """

    def __init__(self, field: GradientField) -> None:
        self._field, self.has_jacobian = field, field.has_jacobian
        self.start = field.start[::-1].copy()

    def velocity(self, place: Floats) -> Floats:
        return self._field.velocity(place[::-1].copy())[::-1]

    def jacobian(self, place: Floats) -> Floats:
        return self._field.jacobian(place[::-1].copy())[::-1, ::-1]


class VerifiedTrajectory:
    """Solution of dθ/dt = F(θ) at increasing times, which is NaN once it is no longer accurate.

    Local errors are below the tolerances, but an unstable flow amplifies them until they exceed the weights.
    Conserved quantities may not show this. So the class compares the solution with a second solution, which
    has loose tolerances and takes few steps. If the two solutions disagree, either of them may be wrong. A
    third solution, with tighter tolerances, is then computed from t = 0, and replaces the second. If the
    third solution also disagrees with the first, the first solution counts as inaccurate. Source: Hairer,
    Nørsett, Wanner 1993, II.4.
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
        """Number of evaluations of the vector field, without those for comparison solutions."""
        return self._solution.evaluations

    @property
    def place(self) -> Floats:
        """Point θ [P] at the time that `advance` has reached."""
        return self._place

    def advance(self, time: float) -> Iterator[None]:
        """Advance the solution to `time`, and compare it there with a second solution.

        Yield after each step of the solver, in both solutions, so that callers can stop the computation.

        Raises: OutOfEvaluations.
        """
        if not self.is_accurate:
            return
        yield from _advance_past(self._solution, time)
        self._place = self._solution.at(time)
        if not np.isfinite(self._place).all():
            return
        weights = self._field.primal(self._place)
        self._longest = max(self._longest, np.linalg.norm(weights))
        while self.is_accurate:
            yield from _advance_past(self._compared, time)
            # The comparison is solved in reversed coordinates. The copy is needed because torch accepts no
            # array with a negative stride.
            compared = self._field.primal(self._compared.at(time)[::-1].copy())
            if np.linalg.norm(weights - compared) <= self._agreement * self._longest:  # False if it is NaN
                return
            self._start_comparison()
        self._place = np.full_like(self._place, np.nan)

    def _start_comparison(self) -> None:
        """Start the next comparison solution.

        If all accuracies of `_comparisons` were tried, the solution itself counts as inaccurate.
        """
        accuracy, self._agreement = next(self._comparisons, (None, 0.0))
        if accuracy is None:
            self.is_accurate = False
        else:
            self._compared = Trajectory(Reversed(self._field), self._end, accuracy)


def _comparisons(accuracy: Accuracy, parameters: int) -> Iterator[tuple[Accuracy, float]]:
    """Yield the accuracy of each comparison solution, and the largest accepted relative difference."""
    # Only the solution itself has a limit of evaluations, because the cost of comparisons must not decide
    # whether the solution is confirmed.
    unlimited = accuracy._replace(evaluations=sys.maxsize)
    looser = min(LOOSER, LOOSEST / accuracy.rtol)
    # If the looser tolerances are close to those of the solution, this comparison costs as much and says
    # little. Then the tighter comparison is the first.
    if looser > 1 / TIGHTER:
        cheap: Method = "bdf" if parameters <= FEW and accuracy.method in EXPLICIT else accuracy.method
        yield _scaled_accuracy(unlimited, looser)._replace(method=cheap), LOOSELY
    yield _scaled_accuracy(unlimited, max(TIGHTER, TIGHTEST / accuracy.rtol)), TIGHTLY


def verified_numbers_held(accuracy: Accuracy, parameters: int) -> int:
    """Return the largest number of floats that a verified solution and one comparison solution store."""
    compared = max(
        numbers_held(comparison.method, parameters) for comparison, _ in _comparisons(accuracy, parameters)
    )
    return numbers_held(accuracy.method, parameters) + compared


def _scaled_accuracy(accuracy: Accuracy, factor: float) -> Accuracy:
    return accuracy._replace(rtol=accuracy.rtol * factor, atol=accuracy.atol * factor)


def _advance_past(solution: Trajectory, time: float) -> Iterator[None]:
    while not solution.reaches(time):
        solution.step()
        yield
