"""The tangent kernel of two inputs in an untrained, infinitely wide net."""

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
    only_at_the_start,
    signals_at,
    signals_of,
    slope_function,
)


class TangentRecursion(LayerRecursion, frozen=True, tag="tangent-recursion"):
    """Θ(x, x′) ← K + C_w E σ′(z) σ′(z′) Θ(x, x′) for every layer: the tangent kernel of infinitely wide nets.

    x and x′ are the first two rows. The signals of a unit for these rows are z and z′, and K is their
    covariance. In the first layer, K = Θ = C_w x·x′/d. For every further layer, K ← C_w E σ(z) σ(z′) is
    computed before Θ. The line is about nets without biases in the parametrisation `ntk`, at the start, as
    the width n → ∞. For ReLU at C_w = 2, the factor is (π − arccos c)/π, where c is the correlation of z and
    z′. With one hidden layer, the line is the mean of Θ(x, x′) over starts at every width. Source: JGH18;
    theory/wide-nets#kernel-regime.
    """

    title: ClassVar[str] = "wide limit of the kernel"
    measure: ClassVar[str] = "tangent-product"
    formula: ClassVar[str] = "Θ ← K + C_w E σ′(z) σ′(z′) Θ, K ← C_w E σ(z) σ(z′)"
    source: ClassVar[str] = "JGH18"

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
        return Finding(True, "the kernel of a wide net depends only on inner products of instances")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        finding, signals = super().binds(learner, experiment), signals_of(learner)
        if signals is None:
            return finding
        if signals.unscaled or signals.has_biases or signals.joint_inputs is not None:
            requirement = "the line requires a net without biases in the parametrisation `ntk`"
            return Finding(False, f"{requirement}, unlike {learner.name}")
        return finding

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        rows = at.drawn.data.instances.rows[:, :2].double()
        covariances = signals.cw[0] * (rows @ rows.mT / rows.shape[-1]).cpu().numpy()  # [R or 1, 2, 2]
        kernels = wide_nets.tangent_kernels(
            as_function(signals), slope_function(signals), covariances, signals.cw[1:]
        )
        return only_at_the_start(at, float(np.mean(kernels)))
