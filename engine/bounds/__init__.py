"""Bounds: what theory proves (or conjectures) for a combination of problem, protocol and learner."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from engine.catalogue import members
from engine.experiment import Experiment, Learner
from engine.invariance import verdict
from engine.parts import Finding, Part

Floats = NDArray[np.float64]
Labels = NDArray[np.floating[Any]]


class Bound(Part, frozen=True):
    """A curve of average loss against the number k of examples, and the conditions under which it holds."""

    sense: ClassVar[Literal["lower", "upper", "conjecture"]]
    formula: ClassVar[str]
    source: ClassVar[str]

    def on(self, experiment: Experiment) -> Finding:
        """Whether the problem and the protocol satisfy the theorem's conditions, and why or why not."""
        raise NotImplementedError

    def binds(self, learner: Learner, experiment: Experiment) -> Finding:
        """Whether the learner satisfies the theorem's conditions, and why or why not."""
        raise NotImplementedError

    def curve(self, experiment: Experiment, labels: Labels, k: Floats) -> Floats:
        """The bound at every k, for the labels [R, m, n] that were drawn."""
        raise NotImplementedError


class RotationInvariant(Bound, frozen=True):
    """A lower bound for every learner whose predictions do not change when all instances are rotated."""

    def binds(self, learner: Learner, experiment: Experiment) -> Finding:
        invariant, reason = verdict(learner, experiment)
        if invariant is False:
            return Finding(False, f"{learner.name} is not rotation invariant: {reason}")
        return Finding(True, f"{learner.name} is rotation invariant: {reason}")


def loss_constant(experiment: Experiment) -> float:
    """c = min_ŷ ½[L(ŷ, −1) + L(ŷ, +1)] of the experiment's loss."""
    constant: float = members("losses")[experiment.protocol.loss].constant  # type: ignore[attr-defined]
    return constant


def unit_target(experiment: Experiment, reason: str) -> Finding:
    """Whether every target has ‖w*‖ = 1 and the loss is square; `reason` is given where they are."""
    if experiment.problem.matrix.repeat is not None:
        return Finding(False, "it is about rows that are seen once, and here they are repeated")
    if experiment.problem.labels != "soft":
        return Finding(False, f"its labels are linear, and here they are {experiment.problem.labels}")
    if not experiment.problem.target.single_feature:
        return Finding(False, f"its target is a feature, and here it is {experiment.problem.target.kind}")
    if experiment.protocol.loss != "square":
        return Finding(False, f"it is about square loss, and the loss is {experiment.protocol.loss}")
    return Finding(True, reason)


def product_curve(experiment: Experiment, k: Floats) -> Floats:
    """(1 − k/n)(1 − k/d), 0 beyond k = d: the unseen share of rows times what each of them costs."""
    n, d = experiment.problem.matrix.shape()
    return (1 - k / n) * np.maximum(0, 1 - k / d)
