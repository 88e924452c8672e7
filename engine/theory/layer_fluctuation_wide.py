"""How much the variance of a layer's signals varies between random starts, to first order in 1/n."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_fluctuation import of_one_input
from engine.theory.layer_recursion import (
    as_function,
    averaged,
    only_at_the_start,
    signals_at,
    signals_of,
    slope_function,
    starts_anew,
)


class LayerFluctuationWide(Line, frozen=True, tag="layer-fluctuation-wide"):
    """Var V_l/(E V_l)² ≃ F_l/(n v_l²), F_l = C_w² (E σ⁴ − (E σ²)²) + χ∥² F_{l−1}, χ∥ = C_w E[z σ σ′]/K.

    V_l is the variance of a signal of layer l + 1 over draws of the weights of layer l + 1, for fixed outputs
    of layer l. C_w is the variance of the weights times the number of a unit's inputs, and C_b is the
    variance of the biases. The line is the variance of V_l over random starts, divided by the squared mean of
    V_l. Means are over z ~ N(0, K), K = C_b + v_{l−1}. v_l = C_w E σ² is the value of V_l in infinitely wide
    nets, as in `layer-recursion`, and F_0 = 0. The line is correct to first order in 1/n for the width n, and
    for any σ. The line is about a single input of fixed length, at the start of training. F_l has two terms.
    The first term is due to the variance of a mean of n numbers. The second term is due to the deviations of
    V_{l−1}, which layer l multiplies by χ∥ = dv_l/dv_{l−1}. Source: RYH ch. 4;
    theory/wide-nets#infinite-width.
    """

    title: ClassVar[str] = "first order in 1/n"
    measure: ClassVar[str] = "layer-variance"
    formula: ClassVar[str] = "F_l/(n v_l²), F_l = C_w² (E σ⁴ − (E σ²)²) + χ∥² F_{l−1}"
    source: ClassVar[str] = "RYH ch. 4"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="for wide nets",
            summary="relative-variance",
            per_learner=True,
            needs_k_rows=False,
        )

    def holds(self, experiment: Setup) -> Finding:
        return of_one_input(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if signals_of(learner) is None:
            return Finding(
                False, f"the line requires a fully connected net with a Gaussian start, not {learner.name}"
            )
        return starts_anew(learner) or Finding(True, f"{learner.name} starts with Gaussian weights")

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        functions = as_function(signals), slope_function(signals)

        def of_layers(first: float, variances: Floats) -> Floats:
            incoming = [first, *(variances[:-1] + signals.cb[1:-1])]
            sizes = signals.cw[1:], signals.widths
            return wide_nets.first_order_variances(*functions, incoming, *sizes)

        return only_at_the_start(at, averaged(at, of_layers))
