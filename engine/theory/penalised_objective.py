"""The least penalised loss of nets with a scalar input."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas.relu_interpolation import Penalised, penalised
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure, only_square
from engine.theory.interpolation_norm import OfOneNumber, training_points


class WithPenalty(OfOneNumber, frozen=True):
    """Base class of theory lines about nets that minimise the mean square error + λ/2 Σ_j (a_j² + w_j²)."""

    def structure(self) -> LineStructure:
        return super().structure()._replace(per_learner=True)

    def holds(self, experiment: Setup) -> Finding:
        finding = super().holds(experiment)
        return (only_square(experiment) if finding.holds else None) or finding

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        finding, net = super().binds(learner, experiment), learner.architecture
        if finding.holds and net is not None and not net.layout(experiment.d).l2_penalty:
            return Finding(False, f"the line requires a penalty on the weights, and {learner.name} has none")
        return finding

    def least(self, at: At) -> list[Penalised | None]:
        """Return the least penalised loss of nets with one hidden layer and its minimiser, for each replica.

        A replica with two equal training rows has the entry None.
        """
        rate = at.learner.net.layout(at.experiment.d).l2_penalty
        rows = int(at.k.max(initial=0))
        return [penalised(x, y, rate) if len(x) == rows else None for x, y in training_points(at)]


class PenalisedObjective(WithPenalty, frozen=True, tag="penalised-objective"):
    """min_f (1/m) Σ_i (f(x_i) − y_i)² + λR(f): the least objective of all nets.

    R(f) is the least ½ Σ_j (a_j² + w_j²) of nets that compute f. Piecewise linear functions with kinks at the
    training points suffice, so the minimisation is a Lasso with an intercept. This Lasso is solved exactly by
    Lawson and Hanson's least-distance programming. All training inputs must be different. Source: SESS19;
    theory/implicit-bias#relu-interpolation.
    """

    title: ClassVar[str] = "least penalised objective"
    measure: ClassVar[str] = "objective"
    formula: ClassVar[str] = "min_f (1/m) Σ_i (f(x_i) − y_i)² + λR(f)"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def value(self, at: At) -> Floats:
        return np.array([[np.nan if best is None else best.objective] for best in self.least(at)])
