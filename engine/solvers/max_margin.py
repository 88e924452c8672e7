"""Solver for the largest margin: the hard-margin support vector machine without a bias."""

from __future__ import annotations

import numpy as np

from engine.core.lazy import torch
from engine.core.linear_algebra import length
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure

TOLERANCE = 1e-8
"""Largest relative error: how far a margin may be below 1, and ‖w‖ above its lower bound from the dual."""

NONE = 1e-9
"""Smallest margin, for examples of length at most 1, with which they count as separable."""


class MaxMargin(Solver, frozen=True, tag="max-margin"):
    """The hard-margin support vector machine: the w of least ‖w‖₂ with y_j x_jᵀw ≥ 1 on the examples so far.

    Of all directions, w has the largest margin min_j y_j x_jᵀw/‖w‖₂, which is 1/‖w‖₂. Labels are ±1, and the
    model has no bias. Lawson and Hanson's non-negative least squares computes w anew for every k. If no w
    separates the examples, w is NaN, and the learner counts as diverged. Source: Vapnik 1982; Lawson, Hanson
    1974 ch. 23; theory/symmetry#half-spaces.
    """

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", labels="signs", of_margins=True, names_norm=True)

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        return length(weights, "2")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, widest, memoised=True)

    def size(self, n: int, d: int) -> int:
        return 3 * n * (min(n, d) + 1) + n * d

    def invariance(self) -> Verdict:
        return Verdict(
            True,
            "w = Σ_j a_j x_j with coefficients a that depend only on labels and inner products",
        )


def widest(X: Floats, y: Floats) -> Floats:
    """Return the w of least ‖w‖₂ with y_j x_jᵀw ≥ 1 for X [k, d] and y [k] of ±1, or NaN if none exists.

    Let z_j = y_j x_j be the rows of Z, and let a ≥ 0 minimise ‖Zᵀa‖² + (Σ_j a_j − 1)². Then a is 0 except for
    support vectors, whose margins are 1. The minimum is 0 if and only if no such w exists. Every a ≥ 0 gives
    the lower bound ‖w‖ ≥ Σ_j a_j/‖Zᵀa‖.

    Raises: ArithmeticError if a margin is below 1, or ‖w‖ above this bound, by more than 1e-8 (relative).
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    unit = np.linalg.norm(X, axis=1).max()
    Z = X * y[:, None] / (unit or 1.0)
    turned = np.linalg.qr(Z.T, mode="r")  # [min(k, d), k]; keeps inner products
    stacked = np.vstack((turned, np.ones(len(Z))))
    a, residual = nnls(stacked, np.append(np.zeros(len(turned)), 1.0), maxiter=100 + 30 * len(Z))
    if residual <= NONE:
        return np.full(X.shape[1], np.nan)
    support = Z[a > 0]
    w: Floats = np.linalg.pinv(support).sum(1)
    margin, bound = (Z @ w).min(), a.sum() / np.linalg.norm(a @ Z)
    if margin < 1 - TOLERANCE or np.linalg.norm(w) > bound * (1 + TOLERANCE):
        raise ArithmeticError(f"max-margin on {len(Z)} examples: the least margin is {margin:.9f}, not 1")
    w /= unit
    return w
