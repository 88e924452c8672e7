"""Logistic regression with an L1 penalty."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure
from engine.solvers.l2_logistic import C, Strength, check_range, chosen, logistic, slopes, strengths

TOLERANCE = 1e-3
"""Largest violation of the optimality conditions that a solution may have.

It is relative to the slope of the penalty or, if larger, to the slope of the loss at w = 0.
"""

ITERATIONS = 300
"""Maximum number of liblinear's iterations.

About 100 iterations suffice. Without a maximum, rounding can keep liblinear from stopping.
"""


class L1Logistic(Solver, frozen=True, tag="l1-logistic"):
    """L1-regularised logistic regression: w minimises C Σ_j ln(1 + e^(−y_j x_jᵀw)) + ‖w‖₁.

    Labels are ±1, and the model has no bias. Every minimiser of the loss under a constraint ‖w‖₁ ≤ B is also
    a minimiser with a penalty, for some C. If `C` is not set, the values 10^i and 3·10^i from `least` to
    `most` are tried for C. For each, w is fitted to the first 70 % of the examples. The C with the fewest
    mistakes on the remaining 30 % is then used to fit all examples. In a tie, the smallest C is used.
    scikit-learn's liblinear solves the problem anew for every k. Let g be the gradient of C Σ_j ln(1 +
    e^(−y_j x_jᵀw)). At the optimum, |g_i| ≤ 1 if w_i = 0, and g_i = −sgn w_i otherwise. The solver raises
    ArithmeticError if these conditions are violated by more than 1e-3 max(1, G), where G is max_i |g_i| at w
    = 0. Source: Ng 2004; theory/symmetry#half-spaces.
    """

    C: C = None
    least: Annotated[
        Strength, Meta(title="least C", description="smallest C to try, which means the strongest penalty")
    ] = 0.1
    most: Annotated[
        Strength, Meta(title="most C", description="largest C to try, which means the weakest penalty")
    ] = 30.0

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", labels="signs")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self.least, self.most)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, self.solve)

    def size(self, n: int, d: int) -> int:
        return 6 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "‖w‖₁ singles out the coordinate axes")

    def solve(self, X: Floats, y: Floats) -> Floats:
        """Return the weights [d] that fit instances X [k, d] and labels y [k] of ±1.

        Raises: ArithmeticError if liblinear does not find the weights.
        """
        return chosen(X * y[:, None], self.C, strengths(self.least, self.most, (1, 3)), fitted)


def fitted(Z: Floats, C: float) -> Floats:
    """Return the w that minimises C Σ_j ln(1 + e^(−z_jᵀw)) + ‖w‖₁ for rows z_j = y_j x_j of Z.

    Raises: ArithmeticError if liblinear does not find w.
    """
    steepest = C * abs(Z.sum(0)).max(initial=0.0) / 2
    if steepest <= 1:
        return np.zeros(Z.shape[1])
    w = logistic(Z, C=C, l1_ratio=1.0, solver="liblinear", tol=1e-7, max_iter=ITERATIONS, random_state=0)
    slope = C * slopes(Z, w)
    excess = np.where(w == 0, abs(slope) - 1, abs(slope - np.sign(w))).max()
    if excess > TOLERANCE * max(1.0, steepest):
        raise ArithmeticError(f"l1-logistic, C = {C:g}, {len(Z)} examples: a slope of {excess:.1e} is left")
    return w
