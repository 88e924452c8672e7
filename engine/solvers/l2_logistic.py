"""Logistic regression with an L2 penalty."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import BadField, Verdict
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure

SHARE = 0.7
"""Share of the examples that are fitted to choose C. All other examples are used for validation."""

TOLERANCE = 1e-4
"""Largest slope of the objective that a solution may have, relative to a bound on the slope at w = 0."""

ON_BOUNDARY = 2.0**-26
"""Largest cosine with w at which an instance counts as orthogonal to w, because rounding decides its sign."""

Strength = Annotated[float, Meta(ge=1e-6, le=1e6)]
C = Annotated[
    Strength | None,
    Meta(
        title="strength C",
        description="weight of the loss relative to the penalty; none: the best on held-out examples",
    ),
]


class L2Logistic(Solver, frozen=True, tag="l2-logistic"):
    """L2-regularised logistic regression: w minimises C Σ_j ln(1 + e^(−y_j x_jᵀw)) + ½‖w‖₂².

    Labels are ±1, and the model has no bias. If `C` is not set, the powers of ten from `least` to `most` are
    tried for C. For each, w is fitted to the first 70 % of the examples. The C with the fewest mistakes on
    the remaining 30 % is then used to fit all examples. In a tie, the smallest C is used. scikit-learn's
    Newton method solves the problem in the span of the examples, anew for every k. The solver raises
    ArithmeticError if the slope at the solution is above 1e-4 of the bound max_i C Σ_j |x_ji|/2 on the slope
    at w = 0. Source: Ng 2004; theory/symmetry#half-spaces.
    """

    C: C = None
    least: Annotated[
        Strength, Meta(title="least C", description="smallest C to try, which means the strongest penalty")
    ] = 1e-4
    most: Annotated[
        Strength, Meta(title="most C", description="largest C to try, which means the weakest penalty")
    ] = 100.0

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", labels="signs")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self.least, self.most)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, self.solve)

    def size(self, n: int, d: int) -> int:
        rank = min(n, d)
        return 3 * n * d + 3 * rank * rank

    def invariance(self) -> Verdict:
        return Verdict(True, "‖w‖₂ and predictions depend only on inner products of the instances")

    def solve(self, X: Floats, y: Floats) -> Floats:
        """Return the weights [d] that fit instances X [k, d] and labels y [k] of ±1.

        Raises: ArithmeticError if scikit-learn does not find the weights.
        """
        Z = X * y[:, None]
        if len(Z) >= Z.shape[1]:
            return chosen(Z, self.C, strengths(self.least, self.most, (1,)), fitted)
        basis, lower = np.linalg.qr(Z.T)  # w is in the span of the examples
        w: Floats = basis @ chosen(lower.T, self.C, strengths(self.least, self.most, (1,)), fitted)
        return w


def check_range(least: float, largest: float) -> None:
    """Check that `least` is at most `largest`. Raises: BadField."""
    if least > largest:
        raise BadField(
            "least", f"{least:g} is above the largest C to try, {largest:g}; take at most {largest:g}"
        )


def strengths(least: float, largest: float, leading: tuple[int, ...]) -> list[float]:
    """Return the values of C to try: all numbers a·10^i from `least` to `largest`, for a in `leading`.

    If there is no such number, return only `least`.
    """
    strengths = (float(f"{digit}e{exponent}") for exponent in range(-6, 7) for digit in leading)
    return [strength for strength in strengths if least <= strength <= largest] or [least]


def chosen(
    Z: Floats, C: float | None, strengths: list[float], fit: Callable[[Floats, float], Floats]
) -> Floats:
    """Return the weights that fit the rows z_j = y_j x_j [k, d] with C, or with the best of `strengths`.

    If C is None, each strength is fitted to the first 70 % of the rows. The best strength makes the fewest
    mistakes on the remaining rows. A row on the decision boundary counts as half a mistake. In a tie, the
    smallest strength, which has the strongest penalty, is the best. A single row gets this strength, too.
    """
    if C is None:
        count = round(SHARE * len(Z))
        mistakes = [0.0]
        if 0 < count < len(Z):
            mistakes = []
            for strength in strengths:
                go_on()
                mistakes.append(_doubled_mistakes(Z[count:], fit(Z[:count], strength)))
        C = strengths[int(np.argmin(mistakes))]
    return fit(Z, C)


def _doubled_mistakes(Z: Floats, w: Floats) -> float:
    """Return twice the number of misclassified rows, for rows z_j = y_j x_j.

    A row counts as 2 if z_jᵀw < 0, and as 1 if z_jᵀw is 0 up to rounding.
    """
    margins = Z @ w
    boundary = ON_BOUNDARY * np.linalg.norm(Z, axis=1) * np.linalg.norm(w)
    return float((1 - np.sign(np.where(abs(margins) <= boundary, 0, margins))).sum())


def fitted(Z: Floats, C: float) -> Floats:
    """Return the w that minimises C Σ_j ln(1 + e^(−z_jᵀw)) + ½‖w‖₂² for rows z_j = y_j x_j of Z.

    Raises: ArithmeticError if scikit-learn does not find w.
    """
    w = logistic(Z, C=C, l1_ratio=0.0, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    slope = abs(C * slopes(Z, w) - w).max()
    if slope > TOLERANCE * C * abs(Z).sum(0).max(initial=0.0) / 2:
        raise ArithmeticError(f"l2-logistic, C = {C:g}, {len(Z)} examples: a slope of {slope:.1e} is left")
    return w


def slopes(Z: Floats, w: Floats) -> Floats:
    """Return Σ_j σ(−z_jᵀw) z_j for rows z_j = y_j x_j of Z, minus the gradient of the logistic loss.

    σ is the logistic function.
    """
    from scipy.special import expit  # type: ignore[import-untyped]

    descent: Floats = expit(-(Z @ w)) @ Z
    return descent


def logistic(Z: Floats, **settings: object) -> Floats:
    """Return the weights of scikit-learn's logistic regression for rows z_j = y_j x_j, without a bias.

    All rows z_j have the label +1, but scikit-learn requires two labels. A row of zeros with the label −1 is
    therefore added, which does not change w.
    """
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    model = LogisticRegression(fit_intercept=False, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # callers check the remaining slopes
        model.fit(np.vstack((Z, np.zeros(Z.shape[1]))), np.append(np.ones(len(Z)), -1))
    w: Floats = model.coef_[0]
    return w
