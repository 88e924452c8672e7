"""The cross-entropy of collapsed features with an L2 penalty."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.updates import EUCLIDEAN


class CollapsedCrossEntropy(Line, frozen=True, tag="collapsed-cross-entropy"):
    """CE∞ = −ln(1 − (m − 1)λ): the cross-entropy of every minimiser in the unconstrained-features model.

    In this model, W and the features H minimise (1/N) Σ CE(W h_i) + λ/2 ‖W‖² + λ/(2n) ‖H‖², for λ < 1/m.
    There are m classes of n instances each, and N = mn. Every minimiser collapses exactly: logits are β(I −
    11ᵀ/m) with e^(−β) = λ/(1 − (m − 1)λ). For λ ≥ 1/m, the minimum is at 0, with cross-entropy ln m. The line
    is the limit of many steps of gradient descent. Source: Papyan, Han, Donoho 2020; derived on
    theory/curvature#collapse.
    """

    title: ClassVar[str] = "collapsed features"
    measure: ClassVar[str] = "loss"
    formula: ClassVar[str] = "−ln(1 − (m − 1)λ)"
    source: ClassVar[str] = "PHD20"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic", limit="for many steps", per_learner=True, in_expectation=False
        )

    def holds(self, experiment: Setup) -> Finding:
        problem, protocol = experiment.problem, experiment.protocol
        if problem.matrix.structure().unconstrained is None:
            return Finding(
                False, f"requires a separate coordinate for each instance, unlike {problem.matrix.kind}"
            )
        if not problem.one_hot or experiment.m != problem.matrix.structure().class_count:
            return Finding(False, "requires a one-hot target for each class")
        if protocol.loss != "cross-entropy":
            return Finding(False, f"requires cross-entropy, and the loss is {protocol.loss}")
        if not protocol.schedule().full_batch or protocol.extent(experiment.n).rows < experiment.n:
            return Finding(False, "requires steps along the gradient of all rows")
        return Finding(
            True, "each instance has a separate coordinate, so training can choose its features freely"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        net, update, name = learner.architecture, learner.update, learner.name
        hidden = None if net is None else net.structure().hidden_layers
        if net is None or hidden is None or update is None or update.mirror is not EUCLIDEAN:
            return Finding(False, f"the line requires gradient descent on a net, unlike {name}")
        layout, classes = net.layout(experiment.d), experiment.m
        is_factored = hidden.activation == "identity" and net.layers == ("W1", "W2")
        if not is_factored or set(layout.shapes) != {"W1", "W2"} or net.outputs != classes:
            return Finding(False, f"the line requires two linear layers without biases, unlike {name}")
        if layout.shapes["W1"][0] < classes:
            return Finding(False, f"the line requires as many hidden units as classes, and {name} has fewer")
        if not layout.l2_penalty:
            return Finding(False, f"the line requires an L2 penalty, and {name} has none")
        return Finding(True, f"{name} trains features and weights with one L2 penalty")

    def value(self, at: At) -> Floats:
        rate, classes = at.learner.net.layout(at.experiment.d).l2_penalty, at.experiment.m
        chance = max(1 / classes, 1 - (classes - 1) * rate)
        return np.full(len(at.k), -math.log(chance))
