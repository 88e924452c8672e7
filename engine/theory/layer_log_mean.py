"""The mean logarithm of the variance of a layer's signals at the start, at every width."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_fluctuation import of_one_input
from engine.theory.layer_recursion import infinite, only_at_the_start, signals_at, signals_of, starts_anew

SAFE_WIDTH = 32
"""Least width of ReLU layers. If all units of a layer are off, log V is −∞. At this width, this happens with
probability 2⁻³².
"""


class LayerLogMean(Line, frozen=True, tag="layer-log-mean"):
    """exp(E log V_l) = V_l^∞ exp(Σ_j E log(χ²_b/E χ²_b)): geometric mean of the signals' variance V_l.

    The mean is over random starts. V_l is the variance of a signal of layer l + 1 over draws of the weights
    of layer l + 1, for fixed outputs of layer l. V_l^∞ is the value of V_l in infinitely wide nets. b is the
    number of active units among the n_j units of layer j: b ~ Binomial(n_j, ½) for ReLU, b = n_j for linear
    nets. The line is about untrained nets without biases, for a single input of fixed length. A ReLU unit is
    on with probability ½, independently of the size of its signal. So a ReLU layer j multiplies V by (2/n_j)
    χ²_b, and a linear layer multiplies V by χ²_b/n_j. E log χ²_b = ψ(b/2) + ln 2. The line assumes b ≥ 1,
    which fails with probability 2⁻ⁿ at width n. `layer-recursion-finite` is this line to first order in 1/n.
    Source: HN20; theory/regions-and-random-matrices#paths,
    theory/regions-and-random-matrices#random-matrices.
    """

    title: ClassVar[str] = "exact mean logarithm"
    measure: ClassVar[str] = "layer-variance"
    formula: ClassVar[str] = "V_l^∞ exp(Σ_j E[ψ(b/2)] + ln(2/E b))"
    source: ClassVar[str] = "HN20"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", summary="geometric", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return of_one_input(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return multiplies_chi_squares(learner)

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        shift, _ = wide_nets.exact_log_moments(signals.activation == "relu", signals.widths)
        return only_at_the_start(at, infinite(at) * np.exp(shift))


def multiplies_chi_squares(learner: Learner) -> Finding:
    """Return whether each layer of a learner's net multiplies V by a mean of squared Gaussians at the start.

    V is the variance of the layer's signals. The net must have a Gaussian start, ReLU or linear units, and no
    biases. ReLU layers must have at least SAFE_WIDTH units. The returned finding also states the reason.
    """
    signals = signals_of(learner)
    if signals is None or signals.activation not in ("relu", "identity") or any(signals.cb):
        needed = "a Gaussian start and relu or identity without biases"
        return Finding(False, f"the line requires {needed}, not {learner.name}")
    if signals.activation == "relu" and min(signals.widths) < SAFE_WIDTH:
        fewest = f"the narrowest layer of {learner.name} has only {min(signals.widths)}"
        return Finding(
            False, f"the line requires {SAFE_WIDTH} or more ReLU units in each layer, and {fewest}"
        )
    return starts_anew(learner) or Finding(
        True, f"each layer of {learner.name} multiplies the variance by a mean of squared Gaussians"
    )
