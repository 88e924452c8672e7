"""The variance, over random starts, of the logarithm of the variance V_l of a layer's signals."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_fluctuation import of_one_input
from engine.theory.layer_log_mean import multiplies_chi_squares
from engine.theory.layer_recursion import only_at_the_start, signals_at


class LayerLogVariance(Line, frozen=True, tag="layer-log-variance"):
    """Var log V_l = Σ_j (E ψ′(b/2) + Var ψ(b/2)): variance of log V_l, where V_l is a variance of signals.

    V_l is the variance of a signal of layer l + 1 over draws of the weights of layer l + 1, for fixed outputs
    of layer l. The sum is over layers j ≤ l. Of the n_j units of layer j, b are active: b ~ Binomial(n_j, ½)
    for ReLU, b = n_j for linear nets. ψ is the digamma function. Like `layer-log-mean`, the line is about a
    single input of fixed length at the start, without biases. To first order in 1/n, the line is 5l/n for
    ReLU and 2l/n for linear nets. So the line is proportional to depth divided by width. Source: HN20;
    theory/wide-nets#criticality, theory/regions-and-random-matrices#paths,
    theory/regions-and-random-matrices#random-matrices.
    """

    title: ClassVar[str] = "exact variance of the logarithm"
    measure: ClassVar[str] = "layer-variance"
    formula: ClassVar[str] = "Σ_j (E ψ′(b/2) + Var ψ(b/2)), digamma function ψ, b active units in layer j"
    source: ClassVar[str] = "HN20"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", summary="log-variance", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return of_one_input(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return multiplies_chi_squares(learner)

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        _, variances = wide_nets.exact_log_moments(signals.activation == "relu", signals.widths)
        return only_at_the_start(at, variances)
