"""Largest loss after a step of automatic gradient descent, from the derivation of its learning rate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.measures import Measure
from engine.measures.gradient_summary import GradientSummary
from engine.measures.loss import AverageLoss
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, along_every_step, only_square


class ByDerivation(Line, frozen=True):
    """Base class of theory lines that follow from the derivation of automatic gradient descent's rate.

    Layer l of L has d_{l−1} inputs and d_l outputs. The derivation assumes ReLU, instances of length √d₀ and
    labels y of length √d_L. The derivation also assumes that at every step, ‖W_l‖₂ = √(d_l/d_{l−1}) and
    gradients have stable rank 1. Finally, the change of predictions that is not linear in the step must be
    orthogonal to the residual. Training satisfies the assumptions about steps only approximately. So these
    lines are values to compare with, not bounds.
    """

    source: ClassVar[str] = "BMHY23, constants corrected"

    def structure(self) -> LineStructure:
        return LineStructure(per_learner=True, per_replica=True, along_runs=True)

    def holds(self, experiment: Setup) -> Finding:
        return (
            along_every_step(experiment)
            or only_square(experiment)
            or Finding(True, "every step follows the gradient of the measured loss")
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        name, net, update = learner.name, learner.architecture, learner.update
        loss_scale = None if update is None else update.structure().automatic
        if net is None or loss_scale is None:
            return Finding(
                False, f"the line requires automatic gradient descent, and {name} is something else"
            )
        if net.outputs != experiment.m:
            return Finding(
                False, f"the line requires one net for all targets, and {name} has one for each target"
            )
        if not np.isclose(2 * net.outputs * loss_scale, 1):
            half = f"loss_scale = 1/(2m) = {1 / (2 * net.outputs):.4g}"
            return Finding(
                False, f"the line requires {half}, and the loss_scale of {name} is {loss_scale:.4g}"
            )
        own_rates, penalty = learner.has_layer_rates(experiment.d), net.layout(experiment.d).l2_penalty
        if penalty or own_rates or not learner.plain_steps:
            return Finding(False, f"the line requires plain steps without penalty, unlike those of {name}")
        return Finding(True, f"{name} computes its rate from the gradient of half the mean square error")

    def measures(self, learner: Learner, experiment: Setup) -> tuple[Measure, ...]:
        return AverageLoss(), GradientSummary()


class AGDMajoriser(ByDerivation, frozen=True, tag="agd-majoriser"):
    """2(ℓ − ηG + ½(e^η − 1)²): the largest loss after a step of automatic gradient descent.

    The loss is the mean square error, and ℓ is half the loss before the step. G is the size of the gradient
    of ℓ, averaged over layers (see the measure `gradient-summary`). The rate is η = ln((1 + √(1 + 4G))/2).
    Under the assumptions from which this rate is derived, a step lowers ℓ by at least φ(G) = ηG − ½(e^η −
    1)². φ is 0 for G = 0 and at least G²/4.52 for G ≤ 2. The bound G²/11 of Bernstein et al. is not sharp. At
    the start, the line equals the measured loss. Source: Bernstein et al. 2023;
    theory/automatic-descent#majoriser.
    """

    title: ClassVar[str] = "AGD majoriser"
    measure: ClassVar[str] = "loss"
    formula: ClassVar[str] = "2ℓ − 2φ(G) with the loss 2ℓ and the gradient size G before the step"

    def value(self, at: At) -> Floats:
        losses, G = at.measured[AverageLoss().name], np.sqrt(at.measured[GradientSummary().name]) / 2
        after: Floats = losses - 2 * lowered(G)
        return np.concatenate((losses[:, :1], after[:, :-1]), 1)


def lowered(G: Floats) -> Floats:
    """Return φ(G) = ηG − ½(e^η − 1)², the least decrease of half the mean square error in a step of size η.

    `AGDMajoriser` states the assumptions. The step size is η = ln((1 + √(1 + 4G))/2), and G is the size of
    the gradients. For this η, e^η − 1 = 2G/(1 + √(1 + 4G)).
    """
    grown = 2 * G / (1 + np.sqrt(1 + 4 * G))
    decrease: Floats = np.log1p(grown) * G - grown**2 / 2
    return decrease
