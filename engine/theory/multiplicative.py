"""An upper bound on the loss of multiplicative updates on features 0 and 1."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, at_rate_lr

RATES = {1 / 3: 3.0, 1 / 2: 2.0}
"""Factor of ln d in the bound, for each multiplicative rate η."""


class Multiplicative(Line, frozen=True, tag="multiplicative"):
    """min(1, c ln d / k): EGU and the spindly net learn one 0/1 feature from about log d examples.

    EGU is the unnormalised exponentiated gradient, and the spindly net has the weights w = u². c = 3 for the
    rate η = 1/3 and c = 2 for η = 1/2 (EGU: lr = η; spindly net: lr = η/4). The bound is on the mean loss of
    k hypotheses, learned from 0, 1, …, k − 1 examples, in expectation over k independent examples. The bound
    requires features and labels in [0, 1], predictions clipped to [0, 1], w = 1/d at the start, and no noise.
    Each learner has a separate line, with the c for the rate of this learner. The relative entropy between
    the target and the weights is ln d at the start. Each example lowers this entropy by at least 1/c times
    the square loss on the example. Source: AW20 Thms 6–7; theory/hadamard#multiplicative.
    """

    title: ClassVar[str] = "multiplicative-update bound"
    formula: ClassVar[str] = "min(1, c ln d / k)"
    source: ClassVar[str] = "AW20 Thms 6–7"

    def structure(self) -> LineStructure:
        return LineStructure(direction="upper", per_learner=True, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        problem, schedule = experiment.problem, experiment.protocol.schedule()
        structure = problem.matrix.structure()
        if structure.entry_values != "bits" or not structure.features_are_seen:
            return Finding(False, "requires instances whose entries are features with the values 0 and 1")
        feature = problem.target_structure.fixed_feature
        if feature is None or problem.noise > 0 or problem.labels != "soft":
            return Finding(False, "requires one feature without noise as the target")
        if not (experiment.loss.is_square and schedule.single):
            return Finding(False, "requires square loss and one pass, one example at a time")
        if not (schedule.drawn_independently and schedule.averages_hypotheses and schedule.clips_at == 1.0):
            return Finding(
                False,
                "requires independent examples, averaged hypotheses and clipped predictions: "
                "set `replacement`, `average` and clip = 1",
            )
        return Finding(True, "features and predictions lie in [0, 1], and the examples are independent")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        eta = _multiplicative_rate(learner)
        if eta is None:
            return Finding(
                False, f"the line requires EGU or the spindly net from w = 1/d, unlike {learner.name}"
            )
        if (lacking := at_rate_lr(learner, experiment)) is not None:
            return lacking
        if _constant_of_bound(learner) is None:
            return Finding(False, f"{learner.name} has the rate {eta:.4g}, and the theorem needs 1/3 or 1/2")
        return Finding(
            True, f"{learner.name} has multiplicative updates with the rate {eta:.4g}, from w = 1/d"
        )

    def formula_in(self, experiment: Setup) -> str:
        bound = (learner for learner in experiment.learners if self.binds(learner, experiment).holds)
        factors = {_constant_of_bound(learner) for learner in bound}
        if len(factors) == 1:
            return self.formula.replace("c", f"{factors.pop():g}")
        return f"{self.formula}, c = 3 for η = 1/3 and 2 for η = 1/2"

    def value(self, at: At) -> Floats:
        factor = _constant_of_bound(at.learner)
        assert factor is not None, "it binds no other learner"
        d = at.experiment.d
        bound: Floats = np.minimum(1.0, factor * math.log(d) / np.maximum(at.k, 1e-9))
        return bound


def _multiplicative_rate(learner: Learner) -> float | None:
    """Return the rate of EGU that corresponds to the learner's rate, or None.

    The result is None for learners that are neither EGU nor equivalent to EGU for small steps. It is also
    None if the rate is not a fixed number.
    """
    if learner.update is None or learner.architecture is None:
        return None
    exponentiates, rate = learner.update.structure().exponentiates, learner.rate_choice
    factor = 1.0 if exponentiates == "weights" else learner.architecture.structure().rate_of_weights
    return rate * factor if isinstance(rate, float) and exponentiates and factor is not None else None


def _constant_of_bound(learner: Learner) -> float | None:
    """Return the constant c of the bound c ln d / k, or None if the theorem has no c for the rate."""
    eta = _multiplicative_rate(learner)
    if eta is None:
        return None
    return next((factor for rate, factor in RATES.items() if math.isclose(eta, rate, rel_tol=1e-6)), None)
