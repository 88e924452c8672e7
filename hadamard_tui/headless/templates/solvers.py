"""A solver of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Refit, Solver


class MyPart(Solver, frozen=True, tag="my-part"):
    """Ridge regression: w minimises Σ_j (x_jᵀw − y_j)² + λ‖w‖². Source: Hoerl, Kennard 1970."""

    lam: Annotated[
        float, Meta(gt=0, le=1e6, title="penalty λ", description="factor of ‖w‖² in the minimised sum")
    ] = 1.0

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Refit(data, partial(solution, lam=self.lam))


def solution(X: NDArray[Any], y: NDArray[Any], lam: float) -> NDArray[Any]:
    """Return the weights [d] for examples X [k, d] and their labels y [k]."""
    weights: NDArray[Any] = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ y)
    return weights


def naive_my_part(solver: MyPart, X: NDArray[Any], y: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return a solver's predictions for `rows` after it has seen examples X [k, d] with labels y [k].

    They are computed by another method than the solver uses, to test the solver.
    """
    coefficients = np.linalg.inv(X @ X.T + solver.lam * np.eye(len(X))) @ y
    predictions: NDArray[Any] = rows @ X.T @ coefficients
    return predictions
