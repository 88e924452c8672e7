"""Solver for the interpolating w of least maximum norm."""

from __future__ import annotations

import numpy as np

from engine.core.lazy import torch
from engine.core.linear_algebra import length
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure
from engine.solvers.basis_pursuit import TOLERANCE

MISFIT = 1e-6
"""Largest error of a fit, for labels of about size 1."""


class MinInfinity(Solver, frozen=True, tag="min-infinity"):
    """The w of least ‖w‖∞ = max_i |w_i| among all w with Xw = y on the examples so far.

    HiGHS solves the problem anew after each example, as a linear program in s = 1/‖w‖∞ and v = s w. The
    program maximises s subject to Xv = s y and −1 ≤ v_i ≤ 1. If several w have the least norm, HiGHS chooses
    one of them. If no w satisfies Xw = y, the labels y are replaced by the predictions XX⁺y of least squares.
    Sign descent, Adam and other rules with equal steps along all axes converge to a point near the solution.
    Source: theory/symmetry#modern-optimizers.
    """

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", names_norm=True)

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        return length(weights, "max")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, flattest, memoised=True)

    def size(self, n: int, d: int) -> int:
        return 2 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "‖w‖∞ singles out the coordinate axes")


def flattest(X: Floats, y: Floats) -> Floats:
    """Return the w of least ‖w‖∞ with Xw = y, for X [k, d] and y [k]. If no w fits y, fit XX⁺y instead.

    Raises: ArithmeticError if HiGHS cannot solve the program.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    n, d = X.shape
    largest, up = np.abs(X).max() or 1.0, np.abs(y).max() or 1.0
    rows, labels = X / largest, y / up
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    for fitted in (labels, rows @ np.linalg.lstsq(rows, labels)[0]):
        if np.abs(fitted).max() < TOLERANCE:
            return np.zeros(d)  # the largest s is infinite
        solved = linprog(
            np.append(np.zeros(d), -1.0),
            A_eq=np.column_stack((rows, -fitted)),
            b_eq=np.zeros(n),
            bounds=[(-1, 1)] * d + [(0, None)],
            method="highs",
            options=options,
        )
        if solved.x is not None and solved.x[d] > 0:
            v: Floats = solved.x[:d] / solved.x[d]
            # Without a w that fits, the largest s is 0 up to rounding.
            if np.abs(rows @ v - fitted).max() < MISFIT:
                return v * (up / largest)
    raise ArithmeticError(f"HiGHS on {n} examples of {d} features: {solved.message}")
