"""A lower bound on the loss of rotation-invariant learners if labels are noisy."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    Floats,
    LineStructure,
    RotationInvariant,
    linear_labels,
    without_direction,
)


class Noise(RotationInvariant, frozen=True, tag="noise"):
    """(1 − k/n)(σ² + max(1 − k/d, (d−1)σ²/(k + (d−1)σ²))): lower bound on the loss for label noise σ².

    The bound holds in expectation over instances and noise. It requires Gaussian instances or points of a
    sphere, ‖w*‖ = 1 and square loss on the noisy labels. The expected loss of weights ŵ on an unseen row is
    σ² + ‖ŵ − w*‖². For a rotation-invariant learner, w* is effectively uniform on the sphere, so the
    learner's error is at least that of Bayes' rule. By van Trees' inequality on the sphere, this error is at
    least (d−1)σ²/(k + (d−1)σ²), which is about dσ²/k for many examples. The other term, 1 − k/d, is the bound
    for labels without noise, as in `ri-gaussian`. The argument with a uniform w* is from NOISE25; this curve
    and its proof are derived here. Source: NOISE25; Gill, Levit 1995; theory/hadamard#bounds.

    Proof: let w = w* be uniform on the sphere, ŵ the learner's weights, and e_i the unit vectors. The k
    instances seen are the rows of X, and y are their labels. Let ξ_i = ⟨e_i − w_i w, Xᵀ(y − Xw)⟩/σ² − (d − 1)
    w_i. Partial integration over the sphere along the fields e_i − w_i w gives Σ_i E(ŵ_i − w_i) ξ_i = d − 1.
    The same method gives Σ_i E ξ_i² = (d − 1) k/σ² + (d − 1)². By the Cauchy–Schwarz inequality, (d − 1)² ≤
    E‖ŵ − w‖² Σ_i E ξ_i².
    """

    title: ClassVar[str] = "bound with label noise"
    formula: ClassVar[str] = "(1 − k/n)(σ² + max(1 − k/d, (d−1)σ²/(k + (d−1)σ²)))"
    source: ClassVar[str] = "after NOISE25, by van Trees' inequality"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        if other := without_direction(experiment):
            return other
        if experiment.problem.noise == 0:
            return Finding(False, "requires noisy labels, and the noise σ is 0")
        return linear_labels(experiment) or Finding(
            True, "instances have no preferred direction, and noise hides part of the target"
        )

    def value(self, at: At) -> Floats:
        n, d = at.experiment.n, at.experiment.d
        variance = at.experiment.problem.noise**2  # underflows to 0 for the smallest σ
        spread = (d - 1) * variance
        hidden = np.divide(spread, at.k + spread, out=np.ones_like(at.k), where=at.k + spread > 0)
        return (1 - at.k / n) * (variance + np.maximum(1 - at.k / d, hidden))
