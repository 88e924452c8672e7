"""The gradient of an untrained two-layer ReLU net, if the labels are a parity."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas import parities
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, whole_cube
from engine.theory.layer_recursion import only_at_the_start, signals_at, signals_of, starts_anew


class ParityGradient(Line, frozen=True, tag="parity-gradient"):
    """C_w (k λ⁰_{k−1} + (n − k) λ⁰_{k+1}), h C_w λ¹_k: squared gradients of the first and the second layer.

    The formulas are means over random starts. The net has h ReLU units with Gaussian weights and no biases,
    and the rows are all vectors of n bits. The label is the product of k bits. C_w of a layer is the variance
    of its weights times the number of a unit's inputs. The gradient of the first layer contains C_w of the
    second layer, and vice versa. λ⁰ and λ¹ are the eigenvalues, by degree, of the kernels of step units and
    ReLU units with Gaussian weights. For odd k ≥ 3, both gradients are 0. Source:
    theory/parities-and-noise#parities.
    """

    title: ClassVar[str] = "exact initial gradient"
    measure: ClassVar[str] = "label-gradient"
    formula: ClassVar[str] = "first layer: C_w (k λ⁰_{k−1} + (n − k) λ⁰_{k+1}); second layer: h C_w λ¹_k"
    source: ClassVar[str] = "derived for this program, theory/parities-and-noise#parities"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        problem = experiment.problem
        if other := whole_cube(experiment):
            return other
        if problem.target_structure.fixed_feature is None:
            return Finding(
                False, f"requires one product of bits as the target, and the target is {problem.target.kind}"
            )
        if problem.labels == "bernoulli" or problem.noise > 0:
            return Finding(False, "requires labels without noise, and these labels are noisy")
        return Finding(True, "the rows are all vectors of ±1, and the target is a product of some bits")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        signals = signals_of(learner)
        if signals is None or signals.activation != "relu" or len(signals.widths) != 1 or any(signals.cb):
            return Finding(
                False, f"the line requires one layer of ReLU units without biases, not {learner.name}"
            )
        if not signals.unscaled:
            return Finding(
                False, f"the line requires the standard parametrisation, not that of {learner.name}"
            )
        return starts_anew(learner) or Finding(
            True, f"{learner.name} is one layer of ReLU units with a Gaussian start"
        )

    def value(self, at: At) -> Floats:
        signals = signals_at(at)
        number = at.experiment.problem.target_structure.fixed_feature
        assert number is not None, "holds() admits no other target"
        bits, degree = at.experiment.problem.matrix.size()[1], number.bit_count()
        (width,), (first, _) = signals.widths, signals.cw
        output = width * first * parities.relu_eigenvalue(bits, degree)
        return only_at_the_start(at, np.array([signals.cw[1] * parities.first_layer(bits, degree), output]))
