"""The loss under gradient flow, if the tangent kernel of a net keeps its initial value."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, only_square
from engine.training.descent import speeds_of
from engine.updates import EUCLIDEAN


class LazyFlow(Line, frozen=True, tag="lazy-flow"):
    """L(t) = (1/n) Σ_j (u_jᵀy)² e^(−4cλ_j t/n), XXᵀ = Σ_j λ_j u_j u_jᵀ: loss with a fixed kernel c xᵀx̃.

    L(t) is the loss at time t of gradient flow from predictions 0, if the tangent kernel of instances x and
    x̃ keeps its initial value c xᵀx̃. c is a sum over layers. The term of a layer is proportional to its rate
    factor in `layer_rates`. For example, c = 2D²α^(2D − 2) for nets with the weights u^D − v^D, the start u =
    v = α, and rate factors 1. The line is exact for a linear neuron, because the neuron's kernel is constant.
    Nets follow the line as α → ∞. Nets that deviate from the line learn features. Source: WGL20;
    theory/implicit-bias#kernel-and-rich.
    """

    title: ClassVar[str] = "lazy gradient flow"
    formula: ClassVar[str] = "(1/n) Σ_j (u_jᵀy)² exp(−4cλ_j t/n), XXᵀ = Σ_j λ_j u_j u_jᵀ"
    source: ClassVar[str] = "WGL20"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic",
            limit="for large α",
            in_expectation=False,
            per_learner=True,
            per_replica=True,
        )

    def holds(self, experiment: Setup) -> Finding:
        protocol, n = experiment.protocol, experiment.n
        if not protocol.schedule().flows:
            return Finding(False, f"requires gradient flow, not {protocol.kind}")
        if protocol.extent(n).most_examples < n:
            return Finding(False, "requires training on all rows")
        return only_square(experiment) or Finding(
            True, "learners follow gradient flow on the square loss of all rows"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        name, architecture, update = learner.name, learner.architecture, learner.update
        if architecture is None or update is None or update.mirror is not EUCLIDEAN:
            return Finding(False, f"the line requires gradient flow, unlike {name}")
        if architecture.layout(experiment.d).l2_penalty:
            return Finding(
                False, f"the line requires gradient flow of the loss alone, and {name} has a penalty"
            )
        if architecture.structure_at(experiment.d).kernel_at_start is None:
            requirement = "a net that starts with predictions 0 and a tangent kernel proportional to xᵀx̃"
            return Finding(False, f"the line requires {requirement}, and {name} is not such a net")
        return Finding(True, f"{name} starts with predictions 0 and a tangent kernel proportional to xᵀx̃")

    def value(self, at: At) -> Floats:
        data = at.drawn.data
        rates = speeds_of(at.learner, data.instances.d)
        parts = at.learner.net.structure_at(data.instances.d).kernel_at_start
        assert parts is not None, "binds() admits no other start"
        scale = sum(part * rates[layer] for layer, part in parts.items())
        rows = data.instances.rows.double().cpu().numpy()
        eigenvalues, vectors = np.linalg.eigh(rows @ rows.swapaxes(1, 2))  # [R, n], [R, n, n]
        labels = data.labels.double().view(data.replicas, data.targets, -1).cpu().numpy()
        squares = np.square(labels @ vectors).mean(1)  # [R, n]
        n = rows.shape[1]
        decay = np.exp(-4 * scale / n * at.clocks["time"][:, None] * np.maximum(eigenvalues, 0)[:, None])
        losses: Floats = (decay * squares[:, None]).sum(2) / n
        return losses
