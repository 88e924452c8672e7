"""The mean, over random starts, of the tangent kernel of an instance with itself."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_fluctuation import has_homogeneous_weights
from engine.theory.layer_recursion import infinite, only_at_the_start, signals_at, signals_of


class TangentNormMean(Line, frozen=True, tag="tangent-norm-mean"):
    """E Θ(x, x) = E ŷ² Σ_l r_l: mean squared length of the gradient of a prediction ŷ, over random starts.

    Θ(x, x) is the tangent kernel of an instance x with itself. Θ(x, x) equals the squared length of the
    gradient of ŷ. The sum is over the L + 1 layers of a net with L hidden layers. In the parametrisation
    `ntk`, r_l is 1. In `standard`, r_l is n_{l−1}/C_w for a layer with n_{l−1} inputs and weights of variance
    C_w/n_{l−1}. The formula is exact at every width, before training. The formula requires a positively
    homogeneous activation, and no biases. Even biases that start at 0 add to Θ. The theory line is the
    average over all instances. For ReLU at C_w = 2 in the parametrisation `ntk`, the formula is 2 (L + 1)
    ‖x‖²/d. Layer l contributes r_l E ŷ² to the mean. Source: HN20; theory/regions-and-random-matrices#paths.
    """

    title: ClassVar[str] = "exact mean of the kernel"
    measure: ClassVar[str] = "tangent-norm"
    formula: ClassVar[str] = "E Θ(x, x) = E ŷ² Σ_l r_l, 2 (L + 1) ‖x‖²/d for ReLU"
    source: ClassVar[str] = "HN20"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return Finding(
            True, "the distribution of a net's signals at the start depends only on the lengths of instances"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        finding, signals = has_homogeneous_weights(learner), signals_of(learner)
        if finding.holds and signals is not None and signals.has_biases:
            return Finding(
                False, f"the line requires a net without biases, and {learner.name} has trained biases"
            )
        return finding

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        fans = np.array([at.experiment.d, *signals.widths]) / signals.cw
        factors = fans if signals.unscaled else np.ones(len(fans))
        return only_at_the_start(at, float(infinite(at)[-1] * factors.sum()))
