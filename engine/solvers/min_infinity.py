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


class MinInfinity(Solver, frozen=True, tag="min-infinity"):
    """The w of least ‖w‖∞ = max_i |w_i| among all w with Xw = y on the examples so far.

    HiGHS solves the problem anew for every k, as a linear program in w and t with −t ≤ w_i ≤ t. If several w
    have the least norm, HiGHS chooses one of them. If no w fits the labels, the solution fits the predictions
    of least squares instead. Update rules with equal steps along all axes, such as sign descent and Adam,
    converge to a point near this solution. Source: theory/symmetry#modern-optimizers.
    """

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", names_norm=True)

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        return length(weights, "max")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, flattest, memoised=True)

    def size(self, n: int, d: int) -> int:
        return 2 * n * d + 4 * d * d  # constraints: instances, and ±w_i ≤ t

    def invariance(self) -> Verdict:
        return Verdict(False, "‖w‖∞ is measured along the coordinate axes, which singles them out")


def flattest(X: Floats, y: Floats) -> Floats:
    """Return the w of least ‖w‖∞ with Xw = y, for X [k, d] and y [k]. If no w fits y, fit XX⁺y instead.

    Raises: ArithmeticError if HiGHS cannot solve the program.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    d = X.shape[1]
    largest = np.abs(X).max() or 1.0
    rows, up = X / largest, np.abs(y).max() or 1.0
    labels = y / up
    identity, above = np.eye(d), np.full((d, 1), -1.0)
    bounded = np.block([[identity, above], [-identity, above]])  # ±w_i − t ≤ 0
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    for fitted in (labels, rows @ np.linalg.lstsq(rows, labels)[0]):
        solved = linprog(
            np.append(np.zeros(d), 1.0),
            A_ub=bounded,
            b_ub=np.zeros(2 * d),
            A_eq=np.hstack((rows, np.zeros((len(rows), 1)))),
            b_eq=fitted,
            bounds=(None, None),
            method="highs",
            options=options,
        )
        if solved.x is not None:
            w: Floats = solved.x[:d] * (up / largest)
            return w
    raise ArithmeticError(f"HiGHS on {X.shape[0]} examples of {d} features: {solved.message}")
