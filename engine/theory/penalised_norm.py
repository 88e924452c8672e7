"""The path norm of the nets with a scalar input that have the least penalised loss."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.theory import At, Floats
from engine.theory.penalised_objective import WithPenalty


class PenalisedNorm(WithPenalty, frozen=True, tag="penalised-norm"):
    """Σ_j |a_j w_j| of the nets with the least penalised loss (1/m) Σ_i (f(x_i) − y_i)² + λR.

    Nets have one hidden layer of ReLU units j, with input weights w_j and output weights a_j. R(f) is the
    least Σ_j |a_j w_j| of all nets that compute the function f. For small λ, the line is below the line
    `interpolation-norm`, the least norm of exact fits, by a multiple of λ. All training inputs must be
    different. Source: SESS19; theory/implicit-bias#relu-interpolation.
    """

    title: ClassVar[str] = "path norm of the penalised fit"
    measure: ClassVar[str] = "path-norm"
    formula: ClassVar[str] = "R(f), f = argmin (1/m) Σ_i (f(x_i) − y_i)² + λR(f)"

    def value(self, at: At) -> Floats:
        return np.array([[np.nan if best is None else best.norm] for best in self.least(at)])
