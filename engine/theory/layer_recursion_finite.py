"""The typical variance of a layer's signals at the start, to first order in 1/n for layers of n units."""

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
    as_function,
    infinite,
    only_at_the_start,
    signals_at,
    signals_of,
)

HOMOGENEOUS = ("identity", "relu", "leaky_relu")


class LayerRecursionFinite(LayerRecursion, frozen=True, tag="layer-recursion-finite"):
    """exp(E log V_l) ≃ v_l exp(−5l/(2n)) for ReLU, v_l exp(−l/n) for linear nets: a typical net's V_l.

    V_l is the variance of a signal of layer l + 1 over draws of the weights of layer l + 1, for fixed outputs
    of layer l. v_l is the value of V_l in infinitely wide nets, as in `layer-recursion`. The line is correct
    to first order in 1/n, for positively homogeneous σ and no biases. The mean of V_l equals v_l. If 5l/n is
    large, rare draws of the weights dominate this mean. Then medians over replicas follow this line, and
    means follow `layer-recursion`. Source: RYH ch. 5; theory/wide-nets#criticality.
    """

    title: ClassVar[str] = "typical draw"
    formula: ClassVar[str] = "v_l exp(−5l/(2n)) for ReLU, v_l exp(−l/n) for linear nets, v_l at width n → ∞"
    source: ClassVar[str] = "RYH ch. 5"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="for wide nets",
            summary="median",
            per_learner=True,
            needs_k_rows=False,
            of="the signals' variances",
        )

    def holds(self, experiment: Setup) -> Finding:
        return super().holds(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        finding, signals = super().binds(learner, experiment), signals_of(learner)
        if signals is None:
            return finding
        if signals.activation not in HOMOGENEOUS or any(signals.cb):
            return Finding(
                False, f"the line requires relu, leaky_relu or identity without biases, not {learner.name}"
            )
        return finding

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        shift, _ = wide_nets.log_moments(as_function(signals), signals.widths)
        return only_at_the_start(at, infinite(at) * np.exp(shift))
