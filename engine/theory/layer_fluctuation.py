"""How much the variance of a layer's signals varies between random starts of a net, at every width."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.formulas import wide_nets
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.layer_recursion import as_function, only_at_the_start, signals_at, signals_of, starts_anew
from engine.theory.layer_recursion_finite import HOMOGENEOUS


class LayerFluctuation(Line, frozen=True, tag="layer-fluctuation"):
    """Var V_l/(E V_l)² = ∏(1 + 5/n_j) − 1 over layers j ≤ l for ReLU, ∏(1 + 2/n_j) − 1 for linear nets.

    The line holds for a single input of fixed length at the start, at every width. V_l is the variance of a
    signal of layer l + 1 over draws of the weights of layer l + 1, for fixed outputs of layer l. The line is
    the variance of V_l over random starts, divided by the squared mean of V_l. Each layer j multiplies the
    variance by C_w times the mean of n_j independent numbers σ(g)², with g ~ N(0, 1). The variance of these
    numbers is 5 times their squared mean for ReLU, and 2 times for linear σ. Given the last hidden layer L,
    the output z is N(0, V_L). So at l = L, the line is also E z⁴/(3 (E z²)²) − 1, which measures how far z is
    from a Gaussian. The line requires a positively homogeneous σ and no biases. Source: RYH ch. 4;
    theory/wide-nets#infinite-width.
    """

    title: ClassVar[str] = "product over layers"
    measure: ClassVar[str] = "layer-variance"
    formula: ClassVar[str] = "∏(1 + 5/n_j) − 1 for ReLU, ∏(1 + 2/n_j) − 1 for linear nets"
    source: ClassVar[str] = "RYH ch. 4"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="exact", summary="relative-variance", per_learner=True, needs_k_rows=False
        )

    def holds(self, experiment: Setup) -> Finding:
        return of_one_input(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return is_homogeneous(learner)

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        return only_at_the_start(at, wide_nets.relative_variances(as_function(signals), signals.widths))


def is_homogeneous(learner: Learner) -> Finding:
    """Return whether every layer multiplies the signals' variance by an independent random factor.

    The finding contains the reason. Layers do so in untrained nets with a Gaussian start, no biases, and a
    positively homogeneous transfer function. Every replica must draw its own start.
    """
    signals = signals_of(learner)
    if signals is None or signals.activation not in HOMOGENEOUS or any(signals.cb):
        needed = "a Gaussian start and relu, leaky_relu or identity without biases"
        return Finding(False, f"the line requires {needed}, not {learner.name}")
    return starts_anew(learner) or Finding(
        True, f"each layer of {learner.name} multiplies the variance by a factor"
    )


def has_homogeneous_weights(learner: Learner) -> Finding:
    """Return whether a learner satisfies `is_homogeneous`, and computes its signals from weights.

    The finding contains the reason. The architecture `layer-by-layer` has no weights: it draws the signals at
    random.
    """
    finding, signals = is_homogeneous(learner), signals_of(learner)
    if signals is not None and signals.joint_inputs is not None:
        return Finding(
            False, f"the line requires a net with weights, and {learner.name} draws signals at random"
        )
    return finding


def of_one_input(setup: Setup) -> Finding:
    """Return whether a problem has one target and one instance, of the same length in every replica.

    The finding contains the reason.
    """
    if setup.n > 1 or setup.m > 1:
        return Finding(False, f"requires one input and one target, and there are {setup.n} and {setup.m}")
    if not setup.problem.matrix.structure().on_sphere:
        return Finding(
            False, "requires an input of the same length in every replica; take the matrix `sphere`"
        )
    return Finding(True, "there is a single input, of the same length in every replica")
