"""Solver for the matrix of least nuclear norm that fits the examples."""

from __future__ import annotations

import math

import numpy as np

from engine.core.groups import TRIVIAL, rotations
from engine.core.lazy import torch
from engine.core.parts import Pair, Verdict, no_pair, pair_of
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure

GAP = 1e-6
"""Largest relative gap between ‖W‖_* and its lower bound from the dual problem."""

ACCEPTED = 1e-3
"""Largest relative gap that is accepted after all ITERATIONS. With many minimisers, the gap closes slowly."""

ITERATIONS = 1500

EVERY = 20
"""Number of iterations between two computations of the gap."""


class Nuclear(Solver, frozen=True, tag="nuclear"):
    """The W of least nuclear norm ‖W‖_* = Σ_i s_i(W) with x_tᵀWz_t = y_t on the examples so far.

    The field `factors` gives the numbers of rows and columns of W. Instances are matrices x zᵀ of the same
    shape, stored row by row. The solver is the Douglas–Rachford method, which alternates two steps. One step
    moves to the nearest W that fits the labels, and the other shrinks the singular values. The solver begins
    anew for every k, from the W of least Frobenius norm that fits. If there are several minimisers, the
    solution is the one to which this method converges. If instances are rotated, the solution is rotated with
    them. If no W fits the labels, the solution fits the predictions of least squares instead. The dual
    problem gives a lower bound on ‖W‖_* in every step. The solver raises ArithmeticError if this bound is
    finally more than 0.1 % below ‖W‖_*. Source: Fazel 2002; Candès, Recht 2009; Douglas, Rachford 1956;
    theory/hadamard#factors.
    """

    factors: Pair = None

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", names_norm=True)

    def refuses(self, d: int) -> str | None:
        return no_pair(self.factors, d)

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        rows, columns = pair_of(self.factors, weights.shape[1])
        norms: torch.Tensor = torch.linalg.svdvals(weights.double().view(-1, rows, columns)).sum(1)
        return norms

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        shape = pair_of(self.factors, data.instances.d)
        return Refit(data, lambda X, y: least(X, y, shape))

    def size(self, n: int, d: int) -> int:
        return 2 * n * d + 8 * d

    def invariance(self) -> Verdict:
        reason = "rotations of all entries of W change its singular values"
        group = TRIVIAL if self.factors is None else rotations(*self.factors)
        return Verdict(False, reason, group)


def least(X: Floats, y: Floats, shape: tuple[int, int]) -> Floats:
    """Return the w = vec W of least ‖W‖_* with Xw = y, for X [k, d] and y [k]. If no w fits y, fit XX⁺y.

    Raises: ArithmeticError if the relative gap between ‖W‖_* and its lower bound, from the dual problem, is
    above ACCEPTED.
    """
    shortest: Floats = np.asarray(np.linalg.lstsq(X, y)[0], np.float64)
    if not shortest.any():
        return shortest
    basis = _basis_of_row_space(X)  # [rank, d]
    step = float(np.linalg.norm(shortest.reshape(shape), 2))

    def fitted(w: Floats) -> Floats:
        """Return the vector nearest to w among the vectors that fit the labels."""
        nearest: Floats = w - basis.T @ (basis @ w) + shortest
        return nearest

    state, gap = shortest, math.inf
    for iteration in range(1, ITERATIONS + 1):
        go_on()
        w = fitted(state)
        reflected = 2 * w - state
        shrunk = _shrunk_singular_values(reflected, step, shape)
        state = state + shrunk - w
        if iteration % EVERY == 0:
            gap = _relative_duality_gap(w, (w - state) / step, basis, shape)
            if gap <= GAP:
                break
    if gap > ACCEPTED:
        raise ArithmeticError(f"nuclear on {len(X)} examples: a gap of {gap:.1e} is left")
    return fitted(state)


def _basis_of_row_space(X: Floats) -> Floats:
    _, singular_values, right_vectors = np.linalg.svd(X, full_matrices=False)
    basis: Floats = right_vectors[singular_values > max(X.shape) * np.finfo(float).eps * singular_values[0]]
    return basis


def _shrunk_singular_values(w: Floats, by: float, shape: tuple[int, int]) -> Floats:
    """Subtract `by` from all singular values of a matrix, and replace negative results by 0.

    The vector w contains the entries of the matrix, row by row. The result has the same form.
    """
    left_vectors, singular_values, right_vectors = np.linalg.svd(w.reshape(shape), full_matrices=False)
    shrunk: Floats = ((left_vectors * np.maximum(singular_values - by, 0)) @ right_vectors).ravel()
    return shrunk


def _relative_duality_gap(w: Floats, dual: Floats, basis: Floats, shape: tuple[int, int]) -> float:
    """Return (‖W‖_* − ⟨Λ, W⟩)/‖W‖_*, where ⟨Λ, W⟩ is a lower bound on the nuclear norm ‖W‖_*.

    Λ is the dual variable, projected onto the span of the instances and scaled to ‖Λ‖₂ ≤ 1. `basis` [r, d] is
    an orthonormal basis of this span.
    """
    along = basis.T @ (basis @ dual)
    along /= max(float(np.linalg.norm(along.reshape(shape), 2)), 1.0)
    norm = float(np.linalg.norm(w.reshape(shape), "nuc"))
    return 1 - float(along @ w) / norm
