"""The relative variance, over random starts, of the squared derivative ∂ŷ/∂x_p of a net's prediction."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_fluctuation import has_homogeneous_weights, of_one_input
from engine.theory.layer_recursion import as_function, only_at_the_start, signals_at


class InputGradientFluctuation(Line, frozen=True, tag="input-gradient-fluctuation"):
    """E q²/(E q)² − 1 = 3 ∏_l (1 + 5/n_l) − 1 for q = (∂ŷ/∂x_p)² of ReLU nets.

    ∂ŷ/∂x_p is the derivative of a prediction with respect to entry p of its instance. The line is the
    variance of q over random starts, divided by the squared mean. For linear nets, 5 is replaced by 2. The
    line holds at the start, for a single instance and nets without biases, with layers of any widths n_l.
    Given all layers below the output, ∂ŷ/∂x_p is Gaussian, and each layer multiplies its variance by a random
    factor. E q² of ReLU nets is (12/d²) ∏(1 + 5/n_l), which grows exponentially with depth divided by width.
    Source: HN20; theory/regions-and-random-matrices#paths.
    """

    title: ClassVar[str] = "spread of squared slopes"
    measure: ClassVar[str] = "input-gradient"
    formula: ClassVar[str] = "3 ∏(1 + 5/n_l) − 1 for ReLU, 3 ∏(1 + 2/n_l) − 1 for linear nets"
    source: ClassVar[str] = "HN20"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="exact", summary="relative-variance", per_learner=True, needs_k_rows=False
        )

    def holds(self, experiment: Setup) -> Finding:
        return of_one_input(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return has_homogeneous_weights(learner)

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        of_layers = wide_nets.relative_variances(as_function(signals), signals.widths)[-1]
        return only_at_the_start(at, np.full(at.experiment.d, 3 * (1 + of_layers) - 1))
