"""The edge of stability: the sharpness above which gradient descent diverges."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, descends


class TwoOverEta(Line, frozen=True, tag="two-over-eta"):
    """2/η: the sharpness above which gradient descent diverges on a quadratic, and near which nets stay.

    On a quadratic of curvature S, full-batch steps are stable if ηS < 2, or if ηS < 2(1 + μ) with heavy-ball
    momentum. During training, the sharpness of nets rises to 2/η and stays near this value while the loss
    still falls. Source: CKL21; theory/curvature#edge-of-stability.
    """

    title: ClassVar[str] = "stability threshold"
    measure: ClassVar[str] = "sharpness"
    formula: ClassVar[str] = "2/η, with momentum 2(1 + μ)/η"
    source: ClassVar[str] = "CKL21"

    def structure(self) -> LineStructure:
        return LineStructure(per_learner=True)

    def holds(self, experiment: Setup) -> Finding:
        if not experiment.protocol.schedule().full_batch:
            other = experiment.protocol.kind
            return Finding(False, f"requires steps along the gradient of all training rows, not {other}")
        return Finding(True, "every step follows the gradient of the loss on all training rows")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if (lacking := descends(learner, experiment)) is not None:
            return lacking
        return Finding(True, f"{learner.name} takes plain steps with one rate along the whole gradient")

    def value(self, at: At) -> Floats:
        stable_up_to = at.learner.trained.update.structure().stable_up_to
        assert stable_up_to is not None, "binds() admits no other rule"
        return np.array(stable_up_to / at.rate)
