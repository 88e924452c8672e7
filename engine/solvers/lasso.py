"""The Lasso."""

from __future__ import annotations

import warnings
from typing import Annotated

from msgspec import Meta

from engine.core.parts import Verdict
from engine.core.stopping import go_on
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver

GAP = 1e-12
"""The duality gap at which a solution counts as found, as a share of the loss of w = 0."""

ITERATIONS = 100_000
"""At most so many rounds over the coordinates for one solution."""

PIECE = 1000
"""So many of them, of which the next go on from where the last ended, in one call of scikit-learn."""


class Lasso(Solver, frozen=True, tag="lasso"):
    """The Lasso: w minimises (1/k) Σ_j (x_jᵀw − y_j)² + λ‖w‖₁ over the k examples so far.

    The mean of the square loss, without ½, is weighed against λ = `lam`, so scikit-learn's `alpha`, which
    belongs to half of it, is λ/2. Solved anew by scikit-learn's coordinate descent for every k, without an
    intercept. As λ → 0 it becomes `basis-pursuit`. Source: Tibshirani 1996; theory.md §4.
    """

    lam: Annotated[float, Meta(gt=0, title="penalty λ", description="weight of ‖w‖₁")] = 0.1

    def begin(self, data: Data) -> Hypothesis:
        return Refit(data, self.solve)

    def size(self, n: int, d: int) -> int:
        return 4 * n * d

    def invariance(self) -> Verdict:
        return Verdict(False, "‖w‖₁ is measured along the coordinate axes, which singles them out")

    def solve(self, X: Floats, y: Floats) -> Floats:
        """The weights [d] for instances X [k, d] and labels y [k]."""
        from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
        from sklearn.linear_model import Lasso as Model  # type: ignore[import-untyped]

        model = Model(alpha=self.lam / 2, fit_intercept=False, tol=GAP, max_iter=PIECE, warm_start=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for _ in range(ITERATIONS // PIECE):
                go_on()
                if model.fit(X, y).n_iter_ < PIECE:
                    break
        w: Floats = model.coef_
        return w
