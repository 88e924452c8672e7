"""The mean, over random starts, of the squared derivative ∂ŷ/∂x_p of a net's prediction."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_fluctuation import has_homogeneous_weights
from engine.theory.layer_recursion import as_function, only_at_the_start, signals_at


class InputGradientMean(Line, frozen=True, tag="input-gradient-mean"):
    """E (∂ŷ/∂x_p)² = (1/d) ∏_l C_w E σ′²: 2/d for ReLU at C_w = 2, at every width and depth.

    ∂ŷ/∂x_p is the derivative of a prediction with respect to entry p of its instance. The line holds at the
    start, for nets with positively homogeneous σ and without biases. C_w is the variance of the weights times
    the number of a unit's inputs. The product is over the L + 1 layers, and the output has no σ′. For ReLU, E
    σ′² = ½, because a unit is on with probability ½. Source: HN20; theory/regions-and-random-matrices#paths.
    """

    title: ClassVar[str] = "exact mean of squared slopes"
    measure: ClassVar[str] = "input-gradient"
    formula: ClassVar[str] = "(1/d) ∏_l C_w E σ′², C_w: weight variance × fan-in"
    source: ClassVar[str] = "HN20"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return Finding(
            True, "at the start, the distribution of a homogeneous net's slopes is the same for all instances"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return has_homogeneous_weights(learner)

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        transfer = as_function(signals)
        mean_square = wide_nets.gaussian_mean(lambda z: transfer(z) ** 2, 1.0)
        mean = np.prod(signals.cw) * mean_square ** len(signals.widths) / at.experiment.d
        return only_at_the_start(at, np.full(at.experiment.d, mean))
