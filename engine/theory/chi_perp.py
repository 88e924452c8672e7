"""The factor by which layers of an untrained, infinitely wide net separate nearby inputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure
from engine.theory.layer_recursion import (
    LayerRecursion,
    averaged,
    only_at_the_start,
    signals_at,
    slope_function,
)


class ChiPerp(LayerRecursion, frozen=True, tag="chi-perp"):
    """χ⊥ = C_w E σ′(z)², z ~ N(0, K_l): layer l multiplies squared distances of nearby inputs by χ⊥.

    C_w is the variance of the weights of layer l + 1 times the number of a unit's inputs. K_l is the variance
    of the signals z of layer l. The line is the limit as the width n → ∞, at the start of training, averaged
    over the instances. If χ⊥ = 1, the net is critical. If χ⊥ < 1, nearby inputs approach each other with
    depth. If χ⊥ > 1, nearby inputs separate. For ReLU, χ⊥ is C_w/2 at every depth. At finite width, the mean
    of χ⊥ over starts equals the line at layer 1, where signals are Gaussian with known variance. In later
    layers, this variance depends on the weights, so the line is not exact there. An exception is ReLU, for
    which E σ′² does not depend on the variance. Then the line is exact, apart from starts in which all units
    of a layer are off. Source: RYH ch. 5; theory/wide-nets#criticality.
    """

    title: ClassVar[str] = "recursion of χ⊥"
    measure: ClassVar[str] = "susceptibility"
    formula: ClassVar[str] = "χ⊥ = C_w E σ′(z)², z ~ N(0, C_b + V_{l−1}); 1 is critical"
    source: ClassVar[str] = "RYH ch. 5"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="for wide nets",
            per_learner=True,
            needs_k_rows=False,
            of="wide nets",
        )

    def holds(self, experiment: Setup) -> Finding:
        return super().holds(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return super().binds(learner, experiment)

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        steepness = slope_function(signals)

        def of_layers(first: float, variances: Floats) -> Floats:
            incoming = [first, *(variances[:-1] + signals.cb[1:-1])]
            pairs = zip(signals.cw[1:], incoming, strict=True)
            return np.array([wide_nets.chi_perp(steepness, cw, variance) for cw, variance in pairs])

        return only_at_the_start(at, averaged(at, of_layers))
