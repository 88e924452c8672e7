"""Basis pursuit."""

from __future__ import annotations

import numpy as np

from engine.hypothesis import Hypothesis
from engine.parts import Verdict
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver

TOLERANCE = 1e-10
"""How far the linear program may miss a label; the least that HiGHS accepts."""


class BasisPursuit(Solver, frozen=True, tag="basis-pursuit"):
    """Basis pursuit: the w of least ‖w‖₁ = Σ_i |w_i| among those with Xw = y on the examples so far.

    A linear program in w₊, w₋ ≥ 0, w = w₊ − w₋, solved anew by HiGHS for every k; where several w are
    equally short, HiGHS decides. Labels that no w fits are replaced by those that least squares fits.
    Source: Chen, Donoho, Saunders 1998; theory.md §4.
    """

    def begin(self, data: Data) -> Hypothesis:
        return Refit(data, shortest)

    def size(self, n: int, d: int) -> int:
        return 8 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "‖w‖₁ is measured along the coordinate axes, which singles them out")


def shortest(X: Floats, y: Floats) -> Floats:
    """The w of least ‖w‖₁ with Xw = y, X [k, d] and y [k], or with Xw = XX⁺y if there is none.

    Raises: ArithmeticError if HiGHS cannot solve the program.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    costs, both = np.ones(2 * X.shape[1]), np.hstack((X, -X))
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    solved = linprog(costs, A_eq=both, b_eq=y, method="highs", options=options)
    if solved.x is None:
        fitted = X @ np.linalg.lstsq(X, y)[0]
        solved = linprog(costs, A_eq=both, b_eq=fitted, method="highs", options=options)
    if solved.x is None:
        raise ArithmeticError(f"HiGHS on {X.shape[0]} examples of {X.shape[1]} features: {solved.message}")
    plus, minus = np.split(solved.x, 2)
    w: Floats = plus - minus
    return w
