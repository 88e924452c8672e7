"""Drift along the floor of a valley towards its wider part, caused by the noise of single examples."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, descends, only_square, shown_once


class ValleyDrift(Line, frozen=True, tag="valley-drift"):
    """dv/dk = −η² σ² λ′(v)/(1 − ηλ(v)): drift of a position v on the floor of a valley, after k noisy steps.

    The valley is the loss L = λ(v) u² of two weights u and v, with λ = 1 + v² and the floor u = 0. Each step
    follows one example. Label noise of standard deviation σ keeps the mean ⟨u²⟩ of u² at ησ²/(1 − ηλ). So the
    mean gradient along the floor is λ′(v)⟨u²⟩, and v moves to smaller curvature. Wei and Schwab write the
    drift as −η²(α/2)λ′/(1 − ηλ). Here α = 2σ² is the ratio of the gradients' covariance to the Hessian 2λ.

    The solution satisfies ((1 − η)/2) ln v² − ηv²/2 = c − 2η²σ²k, where the start determines the constant c.
    Lambert's function W solves this equation for v². If ηλ ≥ 1 at the start, the line has no value for v.
    Training starts at u = 0, so at first the measured drift lags behind the line. The measure `layer-mean` is
    the mean over nets of each weight. For u, this mean is 0. Source: Wei, Schwab 2019;
    theory/noise-of-sgd#valleys.
    """

    title: ClassVar[str] = "drift along the valley"
    measure: ClassVar[str] = "layer-mean"
    formula: ClassVar[str] = "dv/dk = −η² σ² λ′(v)/(1 − ηλ(v)), λ = 1 + v²"
    source: ClassVar[str] = "Wei, Schwab 2019"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="asymptotic", limit="for small rates", per_learner=True, needs_k_rows=False
        )

    def holds(self, experiment: Setup) -> Finding:
        problem, protocol = experiment.problem, experiment.protocol
        for lacking in (only_square(experiment), shown_once(experiment)):
            if lacking is not None:
                return lacking
        if not problem.matrix.structure().entries_are_signs:
            return Finding(False, f"requires entries ±1, and the matrix is {problem.matrix.kind}")
        if not problem.target_structure.is_zero or problem.labels != "soft" or problem.noise == 0:
            return Finding(False, "requires labels that are Gaussian noise only, as with the target zero")
        if not protocol.schedule().online or protocol.departure_from_k_rows(self.measure) is not None:
            return Finding(False, "requires steps along single examples, each seen only once")
        return Finding(True, "every step follows the gradient of a new example with a noisy label")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if learner.architecture is None or learner.architecture.structure().valley_start is None:
            return Finding(
                False, f"the line requires the architecture `valley`, and {learner.name} has another one"
            )
        if (lacking := descends(learner, experiment)) is not None:
            return lacking
        if learner.trained.update.structure().stable_up_to != 2:
            return Finding(False, f"the line requires gradient descent without momentum, not {learner.name}")
        return Finding(True, f"{learner.name} starts on the floor of the valley and takes plain steps")

    def value(self, at: At) -> Floats:
        from scipy.special import lambertw  # type: ignore[import-untyped]

        assert at.learner.architecture is not None, "binds() admits no other learner"
        start = at.learner.architecture.structure().valley_start
        assert start is not None, "binds() admits no other architecture"
        rate, variance = at.rate, at.experiment.problem.noise**2
        across = np.zeros(len(at.k))
        if rate * (1 + start**2) >= 1:
            return np.stack((across, np.nan * across), 1)
        ratio = rate / (1 - rate)
        exponents = np.log(ratio * start**2) - ratio * start**2 - 4 * rate * ratio * variance * at.k
        squares = -lambertw(-np.exp(exponents)).real / ratio
        return np.stack((across, np.sqrt(squares)), 1)
