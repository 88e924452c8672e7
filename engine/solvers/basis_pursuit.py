"""Basis pursuit."""

from __future__ import annotations

import numpy as np

from engine.core.lazy import torch
from engine.core.linear_algebra import length
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure

TOLERANCE = 1e-10
"""Tolerance of the linear program, for labels of about size 1. It is the smallest that HiGHS accepts."""


class BasisPursuit(Solver, frozen=True, tag="basis-pursuit"):
    """Basis pursuit: the w of least ‖w‖₁ = Σ_i |w_i| among all w with Xw = y on the examples so far.

    HiGHS solves the problem anew for every k, as a linear program in w₊, w₋ ≥ 0 with w = w₊ − w₋. If several
    w have the least norm, HiGHS chooses one of them. If no w fits the labels, the solution fits the
    predictions of least squares instead. Source: Chen, Donoho, Saunders 1998;
    theory/conventions#update-rules.
    """

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", names_norm=True)

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        return length(weights, "1")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, shortest, memoised=True)

    def size(self, n: int, d: int) -> int:
        return 8 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "‖w‖₁ singles out the coordinate axes")


def shortest(X: Floats, y: Floats) -> Floats:
    """Return the w of least ‖w‖₁ with Xw = y, for X [k, d] and y [k]. If no w fits y, fit XX⁺y instead.

    Raises: ArithmeticError if HiGHS cannot solve the program.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    across, up = _power_of_two_near(X), _power_of_two_near(y)
    both, labels = np.hstack((X, -X)) / across, y / up
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    solved = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=labels, method="highs", options=options)
    if solved.x is None:
        fitted = X / across @ np.linalg.lstsq(X / across, labels)[0]
        solved = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=fitted, method="highs", options=options)
    if solved.x is None:
        raise ArithmeticError(f"HiGHS on {X.shape[0]} examples of {X.shape[1]} features: {solved.message}")
    plus, minus = np.split(solved.x, 2)
    w: Floats = (plus - minus) * (up / across)
    return w


def _power_of_two_near(numbers: Floats) -> float:
    """Return a power of two near the largest absolute value of `numbers`.

    The caller divides all numbers by this power. The largest number is then about 1, as the absolute
    tolerance of HiGHS requires.
    """
    _, exponent = np.frexp(np.abs(numbers).max())
    return float(np.ldexp(1.0, int(exponent) - 1))
