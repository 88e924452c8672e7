"""The correlation of two inputs in the layers of an untrained, infinitely wide net."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure
from engine.theory.layer_recursion import (
    ROUNDING,
    LayerRecursion,
    as_function,
    only_at_the_start,
    signals_at,
    signals_of,
)


class CorrelationRecursion(LayerRecursion, frozen=True, tag="correlation-recursion"):
    """c_l = K₁₂/√(K₁₁ K₂₂), K_ab ← C_b + C_w E σ(z_a) σ(z_b), (z₁, z₂) ~ N(0, K): correlation of two inputs.

    c_l is the correlation of a layer's signals on two inputs, the first two rows. The means E are over random
    weights. C_w is the variance of the weights times the number of a unit's inputs, and C_b is the variance
    of the biases. K is the covariance of the signals of a layer on both inputs. The line is the limit as the
    width n → ∞, at the start of training. χ⊥ is the factor by which a layer multiplies squared distances of
    nearby inputs (`chi-perp`). If χ⊥ < 1, the signals of all inputs merge exponentially fast with depth, c_l
    → 1 (order). If χ⊥ > 1, the signals stay apart (chaos). ReLU nets are critical at C_w = 2, where 1 − c_l ≃
    9π²/(2l²). In a tanh net at C_w = 1, the correlation stays below 1. Source: RYH ch. 5;
    theory/wide-nets#criticality.
    """

    title: ClassVar[str] = "wide limit of correlations"
    measure: ClassVar[str] = "layer-correlation"
    formula: ClassVar[str] = "c_l = K₁₂/√(K₁₁ K₂₂), K: covariance of the signals"
    source: ClassVar[str] = "RYH ch. 5"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="for wide nets",
            per_learner=True,
            needs_k_rows=False,
            of="two inputs",
        )

    def holds(self, experiment: Setup) -> Finding:
        if experiment.n < 2:
            return Finding(False, "requires two inputs, and there is one row")
        return Finding(
            True, "the distribution of signals at the start depends on inner products of instances"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        finding, signals = super().binds(learner, experiment), signals_of(learner)
        if signals is not None and signals.joint_inputs == 1:
            return Finding(
                False, f"the line is about two inputs, and {learner.name} draws signals for each separately"
            )
        return finding

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        rows = at.drawn.data.instances.rows[:, :2].double()
        products = (rows @ rows.mT / rows.shape[-1]).flatten(1).cpu().numpy()
        digits = ROUNDING[at.drawn.data.instances.rows.dtype.itemsize]
        different, counts = np.unique(products.round(digits), axis=0, return_counts=True)
        first = signals.cb[0] + signals.cw[0] * different.reshape(-1, 2, 2)
        correlations = wide_nets.layer_correlations(
            as_function(signals), first, signals.cw[1:], signals.cb[1:]
        )
        mean: Floats = counts @ correlations / counts.sum()
        return only_at_the_start(at, mean)
