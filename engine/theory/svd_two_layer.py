"""A lower bound on the loss of two linear layers, from the singular values of the labels."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    Floats,
    Line,
    LineStructure,
    about_one_target,
    described,
    several_targets,
    shares_layers,
)


class SVDTwoLayer(Line, frozen=True, tag="svd-two-layer"):
    """1 − (2k+1)/d: lower bound for two linear layers on the mean loss of all targets, after k examples.

    The examples are rows of a d × d Hadamard matrix H, and the targets are the columns of [H, −H]. The layers
    W₁ and w₂ are fully connected, and all targets share an arbitrary start. A step on an example x adds a
    multiple of w₂xᵀ to W₁ and a multiple of W₁x to w₂. Let A = W₁(0)ᵀW₁(0). After k examples, the weights
    W₁ᵀw₂ for every target lie in the span of 2k + 1 vectors: x_t and A x_t for each example, and W₁(0)ᵀw₂(0).
    So the weights of all targets have at most the rank 2k + 1. On other rows, the bound is (1/nm) Σ_{i>2k+1}
    s_i(Y)² for the matrix Y of the labels of n rows and m targets. Here s_1(Y), s_2(Y), … are the singular
    values of Y, largest first. Both bounds hold for any feature map. A conjecture said that the bound also
    holds with k + 1 in place of 2k + 1. `two-layer-gap` refutes the conjecture with a constructed feature map
    and start. Source: WKA21 Thm 12.
    """

    title: ClassVar[str] = "two-layer bound"
    formula: ClassVar[str] = "(1/nm) Σ_{i>2k+1} s_i(Y)², singular values s_i of labels Y"
    source: ClassVar[str] = "WKA21 Thm 12"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return several_targets(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        architecture, update = learner.architecture, learner.update
        if architecture is None or update is None:
            other = "a solver" if learner.solver is not None else "not trained"
            return Finding(False, f"the line requires nets with two layers, and {learner.name} is {other}")
        if shares_layers(learner):
            return Finding(False, about_one_target(learner))
        declared = architecture.structure_at(experiment.d)
        if 2 not in (declared.linear_layers, declared.layers_on_features):
            other = f"{learner.name} is {described(architecture)}"
            return Finding(False, f"the line requires two fully connected linear layers, and {other}")
        if architecture.layout(experiment.d).l2_penalty:
            return Finding(
                False,
                f"the line requires steps along gradients of the loss, and {learner.name} has a penalty",
            )
        if not learner.plain_steps:
            return Finding(
                False,
                f"the line requires steps along gradients, and the steps of {learner.name} are modified",
            )
        if not update.structure().along_gradients:
            steps = update.invariance(experiment.problem.matrix, experiment.protocol.schedule().single)
            if steps.invariant is False:
                return Finding(False, f"{learner.name} does not move along gradients alone: {steps.reason}")
            return Finding(False, f"{learner.name} gives the weights of one layer different rates")
        return Finding(True, f"{learner.name} has two linear layers, which move along their gradients")

    def value(self, at: At) -> Floats:
        return at.labels.rank_bound(2 * at.k + 1)
