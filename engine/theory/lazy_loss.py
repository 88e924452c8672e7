"""Bound on the loss of nets in the kernel regime, if only the first layer is trained.

In this regime, the net is so wide that its tangent kernel hardly changes during training.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from engine.core.activations import GENTLE
from engine.core.lazy import torch
from engine.core.parts import Finding
from engine.hypotheses.mean_kernel import MeanKernel, mean_kernel
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, descends_by_first_layer, only_square


class LazyStart(NamedTuple):
    """Quantities of every replica at the start of training, from which the bounds are computed."""

    losses: Floats
    """Square losses L₀, [R]."""

    exponents: Floats
    """γλ₀/m, the least decrease of ln L in a step, [R]."""

    rates: Floats
    """Rates γ = 2η, [R]."""

    mean: MeanKernel
    """Mean tangent kernel of the first layer, and the quantities that bound the layer's gradients."""


class KernelRegime(Line, frozen=True):
    """Base class of bounds in the kernel regime, for gradient descent on the first layer of a wide net.

    The bounds are computed from the mean tangent kernel of the layer over random starts.
    """

    def holds(self, experiment: Setup) -> Finding:
        protocol, n = experiment.protocol, experiment.n
        if not protocol.schedule().full_batch or protocol.clock != "step":
            return Finding(False, f"requires steps along the whole gradient, not {protocol.kind}")
        if protocol.extent(n).most_examples < n:
            return Finding(False, "requires training on all rows")
        if experiment.m > 1:
            return Finding(False, f"requires one target, and there are {experiment.m}")
        return only_square(experiment) or Finding(
            True, "steps follow the gradient of the square loss of all rows"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        descends = descends_by_first_layer(learner, experiment)
        if not descends.holds:
            return descends
        name, net = learner.name, learner.net
        hidden = net.structure().hidden_layers
        if hidden is None or hidden.first is None or hidden.activation not in GENTLE:
            needs = f"a Gaussian first layer and a smooth σ with |σ′| ≤ 1: {', '.join(GENTLE)}"
            return Finding(False, f"the line requires {needs}, unlike {name}")
        if net.layout(experiment.d).l2_penalty:
            return Finding(False, f"the line requires a net without penalty, and {name} has a penalty")
        return descends

    def beginning(self, at: At) -> LazyStart:
        start, instances, labels = at.start, at.drawn.data.instances, at.drawn.data.labels
        with torch.no_grad():
            errors = start.predict(instances).double() - labels.double()
            mean = mean_kernel(start.architecture, start.tensors, instances)
        rate = torch.as_tensor(start.rates["W1"], dtype=torch.float64)
        rates = 2 * rate.expand_as(start.tensors["W1"])[:, 0, 0]
        exponents = rates * mean.least_eigenvalues / errors.shape[1]
        losses = errors.square().mean(1)
        return LazyStart(losses.cpu().numpy(), exponents.cpu().numpy(), rates.cpu().numpy(), mean)

    def losses(self, at: At, beginning: LazyStart) -> Floats:
        """Return the bound L₀ e^(−γλ₀t/m) on the loss, [R, S], after the t steps of each record."""
        decay: Floats = np.exp(-beginning.exponents[:, None] * at.clocks["step"])
        return beginning.losses[:, None] * decay


class LazyLoss(KernelRegime, frozen=True, tag="lazy-loss"):
    """L₀ e^(−γλ₀t/m), γ = 2η: bound on the loss in the kernel regime, after t steps.

    η is the rate, and m is the number of rows. λ₀ is the least eigenvalue of E K, the mean tangent kernel K
    of the first layer. The bound is proved for gradient flow at the time γt, as long as λ_min(K) ≥ λ₀/2. The
    loss of gradient descent differs by terms of order γ²/√n for n units. So the line is not a bound for
    gradient descent, but a value to compare with. The measure `sufficient-width` is the least width for which
    λ_min(K) ≥ λ₀/2 is proved. Source: DLL19; theory/wide-nets#kernel-regime.
    """

    title: ClassVar[str] = "loss bound of the kernel regime"
    formula: ClassVar[str] = "L₀ e^(−γλ₀t/m), γ = 2η"
    source: ClassVar[str] = "DLL19"

    def structure(self) -> LineStructure:
        return LineStructure(in_expectation=False, per_learner=True, per_replica=True, needs_k_rows=False)

    def value(self, at: At) -> Floats:
        return self.losses(at, self.beginning(at))
