"""The loss of a net of two linear layers on one example after every step, for any learning rate."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from msgspec import structs

from engine.core.cost import divergence_limit
from engine.core.lazy import torch
from engine.core.parts import Finding
from engine.formulas import catapult
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, descends, only_square


class Beginning(NamedTuple):
    """Quantities of a net at the start of training, [R] each. All later losses follow from them."""

    errors: Floats
    """Errors r = ŷ − y."""

    kernels: Floats
    """Kernels λ = ‖∇ŷ‖²."""

    targets: Floats
    """Labels y."""

    shares: Floats
    """Shares q = ‖∂ŷ/∂W₁‖²/‖W₂‖². In the NTK parametrisation with width m, they are ‖x‖²/(md)."""

    rates: Floats
    """Rates γ = 2η."""


class TwoLinearLayers(Line, frozen=True):
    """Base class of theory lines about nets of two linear layers, trained by gradient descent on one example.

    The values of these lines follow from the state of the net at the start of training.
    """

    def structure(self) -> LineStructure:
        return LineStructure(per_learner=True, per_replica=True)

    def holds(self, experiment: Setup) -> Finding:
        problem, protocol = experiment.problem, experiment.protocol
        (n, _), targets = problem.matrix.shape(), problem.target.columns(problem.matrix)
        if n * targets > 1:
            return Finding(False, f"requires one example and one target, and there are {n} and {targets}")
        if not protocol.schedule().full_batch or protocol.clock != "step":
            return Finding(False, f"requires steps along the whole gradient, not {protocol.kind}")
        return only_square(experiment) or Finding(
            True, "steps follow the gradient of the square loss of one example"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        in_any_unit = structs.replace(learner, rate_unit="one")  # the line reads the resulting rates
        if (lacking := descends(in_any_unit, experiment)) is not None:
            return lacking
        name, (architecture, update) = learner.name, learner.trained
        if update.structure().stable_up_to != catapult.MONOTONE_BELOW:
            return Finding(
                False, f"the line requires gradient descent without momentum, and {name} uses {update.kind}"
            )
        linear_layers = architecture.structure_at(experiment.d).linear_layers
        if linear_layers != 2 or architecture.layout(experiment.d).l2_penalty:
            return Finding(False, f"the line requires a net of two linear layers without penalty, not {name}")
        return Finding(True, f"{name} is gradient descent on a net of two linear layers")

    def beginning(self, at: At) -> Beginning:
        start, data = at.start, at.drawn.data
        tensors, (first, second) = start.tensors, start.architecture.layers
        with torch.no_grad():
            predictions = start.predict(data.instances).double()[:, 0]
        slopes = start.architecture.gradient(tensors, data.instances, torch.ones_like)
        squares = {name: slope.double().square().sum((1, 2)) for name, slope in slopes.items()}
        labels = data.labels.double()[:, 0]
        lengths = tensors[second].double().square().sum((1, 2))
        rates = torch.as_tensor(start.rates[first], dtype=torch.float64).expand_as(tensors[first])[:, 0, 0]
        quantities = (
            predictions - labels,
            sum(squares.values()),
            labels,
            squares[first] / lengths,
            2 * rates,
        )
        return Beginning(*(torch.as_tensor(quantity).cpu().numpy() for quantity in quantities))

    def recursion(self, at: At, beginning: Beginning) -> catapult.Recursion:
        """Return the errors r = ŷ − y and the kernels λ = ‖∇ŷ‖² at every record, [S, R] each.

        From the record at which a replica has diverged, its values are NaN.
        """
        steps = at.clocks["step"].astype(int)
        errors, kernels = (
            trajectory[steps] for trajectory in catapult.recursion(*beginning, int(steps.max()))
        )
        with np.errstate(over="ignore", invalid="ignore"):
            sound = np.logical_and.accumulate(errors**2 <= divergence_limit(errors[0] ** 2), 0)
        return catapult.Recursion(np.where(sound, errors, np.nan), np.where(sound, kernels, np.nan))


class CatapultLoss(TwoLinearLayers, frozen=True, tag="catapult-loss"):
    """r², with r′ = r(1 − γλ + γ² q z r), λ′ = λ + γq(γλr² − 4zr) and γ = 2η: the loss after every step.

    r = z − y is the error of the prediction z, and λ = ‖∇z‖² is the kernel. A prime marks the values after a
    step. The recursion starts with the measured values, and is exact for every replica, up to rounding. q is
    ‖∂z/∂W₁‖²/‖w₂‖² for the weights W₁ and w₂ of the two layers. q does not change during training. In the NTK
    parametrisation, q = 1/m for m hidden units and instances of length √d. If γλ > 2, the loss rises until
    the terms in r² have reduced λ to γλ < 2. Source: LBD20; theory/curvature#catapult.
    """

    title: ClassVar[str] = "loss recursion"
    formula: ClassVar[str] = "r² of the error r, r′ = r(1 − γλ + γ²qzr), λ′ = λ + γq(γλr² − 4zr)"
    source: ClassVar[str] = "LBD20"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="exact", in_expectation=False)

    def value(self, at: At) -> Floats:
        return np.square(self.recursion(at, self.beginning(at)).errors).T
