"""Solver for the largest margin in ‖·‖₁, ‖·‖_∞ or a Fourier norm, by linear programming."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.linear_algebra import length
from engine.core.parts import Verdict
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure

Complex = NDArray[np.complex128]

OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""Smallest tolerances that HiGHS accepts."""

GAP = 1e-9
"""Largest relative gap between Σ|c_f| of a solution and its lower bound, the optimum of a linear program."""

ACCEPTED = 1e-4
"""Largest relative gap that is accepted after all ROUNDS. With many minimisers, the gap closes slowly."""

SMALL = 0.1
"""Share of the mean gap that is allowed per Fourier coefficient c_f.

While the gap of a coefficient, |c_f| − t_f, is below this share, the coefficient gets no more constraints.
"""

ROUNDS = 20
"""Maximum number of linear programs that are solved to close the gap. Usually, 10 suffice."""

INFEASIBLE = 2
"""Status that scipy returns for a linear program without a solution."""


class LPMargin(Solver, frozen=True, tag="lp-margin"):
    """The w of least ‖w‖ with y_j x_jᵀw ≥ 1 on the examples so far, computed by linear programming.

    Of all directions, w has the largest margin min_j y_j x_jᵀw/‖w‖, which is 1/‖w‖. Labels are ±1, and the
    model has no bias. The norm ‖w‖ is one of three: ‖w‖₁ = Σ|w_i|, ‖w‖_∞ = max|w_i|, or Σ_f |c_f|, where c is
    the unitary discrete Fourier transform of w. The first two norms need one linear program. For the third
    norm, every |c_f| is the largest of Re(e^(−ia) c_f) over all angles a. A program with finitely many angles
    a gives a lower bound on Σ|c_f|. Programs with more and more angles are solved until this bound agrees
    with Σ|c_f| up to a relative difference of 1e-9. After 20 programs, a difference of up to 1e-4 is
    accepted, and a larger one raises ArithmeticError. HiGHS solves the programs, anew for every k. If no w
    separates the examples, w is NaN, and the learner counts as diverged. Source: Mangasarian 1999; Kelley
    1960; GLSS18b; theory/implicit-bias#optimisation-geometry.
    """

    q: Annotated[
        Literal["1", "max", "fourier"],
        Meta(title="q", description="norm of w: Σ|w_i|, max|w_i|, or Σ|c_f| over Fourier coefficients c"),
    ] = "1"

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", labels="signs", of_margins=True, names_norm=True)

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        return length(weights, self.q)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, partial(shortest, norm=self.q))

    def size(self, n: int, d: int) -> int:
        return 2 * n * d + 48 * d * d  # at most 3 ROUNDS + 4 cuts, of d/2 rows and 3d/2 columns each

    def invariance(self) -> Verdict:
        return Verdict(False, "the norm singles out fixed axes")


def shortest(X: Floats, y: Floats, norm: str) -> Floats:
    """Return the w of least norm with y_j x_jᵀw ≥ 1 for X [k, d] and y [k] of ±1, or NaN if none exists.

    For the Fourier norm, the optimum of every linear program is a lower bound on ‖w‖.

    Raises: ArithmeticError if HiGHS cannot solve a program, or if ‖w‖ exceeds the last of these lower bounds
    by more than ACCEPTED · ‖w‖.
    """
    unit = np.abs(X).max() or 1.0
    Z = X * y[:, None] / unit
    solve = {
        "1": _weights_of_least_sum,
        "max": _weights_of_least_maximum,
        "fourier": _weights_of_least_spectrum,
    }[norm]
    w = solve(Z)
    return np.full(X.shape[1], np.nan) if w is None else w / unit


def _weights_of_least_sum(Z: Floats) -> Floats | None:
    """Return the w of least ‖w‖₁ with Zw ≥ 1, or None if no such w exists.

    The rows of Z are z_j = y_j x_j. The linear program minimises Σ(w₊ + w₋) for w = w₊ − w₋.
    """
    d = Z.shape[1]
    solution = _solve_linear_program(np.ones(2 * d), np.hstack((-Z, Z)), np.full(len(Z), -1.0), (0, None))
    return None if solution is None else solution[:d] - solution[d:]


def _weights_of_least_maximum(Z: Floats) -> Floats | None:
    """Return the w of least ‖w‖_∞ with Zw ≥ 1, or None if no such w exists.

    The rows of Z are z_j = y_j x_j. The linear program minimises t, with |w_i| ≤ t.
    """
    n, d = Z.shape
    identity, above = np.eye(d), np.full((d, 1), -1.0)
    bounded = np.block([[identity, above], [-identity, above], [-Z, np.zeros((n, 1))]])
    solution = _solve_linear_program(
        np.append(np.zeros(d), 1.0), bounded, np.append(np.zeros(2 * d), np.full(n, -1.0))
    )
    return None if solution is None else solution[:d]


def _weights_of_least_spectrum(Z: Floats) -> Floats | None:
    """Return the w of least Σ_f t_f with |c_f| ≤ t_f and Zw ≥ 1, or None if no such w exists.

    c is the Fourier transform of w, and the rows of Z are z_j = y_j x_j. A linear program requires Re(e^(−ia)
    c_f) ≤ t_f for some angles a only. Angles are added until Σ|c_f| and the program's optimum agree.

    If |c_f| is above t_f, the angle of c_f lies about halfway between two earlier angles. The next program
    has this angle, too, and the angles in the middle of the two halves.
    """
    n, d = Z.shape
    transform = np.fft.rfft(np.eye(d), axis=0) / np.sqrt(d)  # [h, d]
    count = len(transform)
    times = np.full(count, 2.0)  # each coefficient also stands for its conjugate
    times[0] = 1.0
    if d % 2 == 0:
        times[-1] = 1.0
    which, angles = np.repeat(np.arange(count), 4), np.tile(np.arange(4) * np.pi / 2, count)
    cost, margins = np.append(np.zeros(d), times), np.hstack((-Z, np.zeros((n, count))))
    for _ in range(ROUNDS):
        go_on()
        rows = np.vstack((_linear_constraints(transform, which, angles), margins))
        sides = np.append(np.zeros(len(which)), np.full(n, -1.0))
        solution = _solve_linear_program(cost, rows, sides)
        if solution is None:
            return None
        w, least = solution[:d], solution[d:]
        coefficients = transform @ w
        sizes = np.abs(coefficients)
        bound, reached = float(times @ least), float(times @ sizes)
        if reached - bound <= GAP * reached:
            return w
        above = np.flatnonzero(sizes - least > SMALL * GAP * reached / count)
        at = np.angle(coefficients[above])
        off = np.array(
            [_distance_to_nearest_angle(angles[which == f], a) for f, a in zip(above, at, strict=True)]
        )
        which = np.concatenate((which, above, above, above))
        angles = np.concatenate((angles, at, at - off / 2, at + off / 2))
    if reached - bound <= ACCEPTED * reached:
        return w
    raise ArithmeticError(f"lp-margin on {n} examples: a gap of {reached / bound - 1:.1e} is left")


def _linear_constraints(transform: Complex, which: NDArray[np.int64], angles: Floats) -> Floats:
    """Return linear constraints Re(e^(−ia) c_f) ≤ t_f, for pairs of a frequency f and an angle a.

    The result [pairs, d + h] holds, for each constraint, the coefficients of w [d] and t [h] in Re(e^(−ia)
    c_f) − t_f. Here c [h] is the Fourier transform of w, and h is the number of its frequencies.
    """
    turned = np.exp(-1j * angles)[:, None] * transform[which]
    return np.hstack((turned.real, -np.eye(len(transform))[which]))


def _distance_to_nearest_angle(angles: Floats, to: float) -> float:
    return float(np.abs((angles - to + np.pi) % (2 * np.pi) - np.pi).min())


def _solve_linear_program(
    cost: Floats, rows: Floats, sides: Floats, bounds: tuple[float | None, float | None] = (None, None)
) -> Floats | None:
    """Return the x of least cost · x with rows · x ≤ sides, or None if no x satisfies this.

    Raises: ArithmeticError if HiGHS fails.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    solved = linprog(cost, A_ub=rows, b_ub=sides, bounds=bounds, method="highs", options=OPTIONS)
    if solved.status == INFEASIBLE:
        return None
    if solved.x is None:
        raise ArithmeticError(f"lp-margin: HiGHS cannot solve its program: {solved.message}")
    w: Floats = solved.x
    return w
