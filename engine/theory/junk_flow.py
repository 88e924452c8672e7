"""Lower bound on the error of noisy gradient descent on one of many orthogonal targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from msgspec import structs

from engine.core.parts import Finding
from engine.formulas import catapult
from engine.learners.learner import Learner
from engine.measures.row_gradients import RowGradients
from engine.problems.targets.zero import Zero
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    Floats,
    Line,
    LineStructure,
    OtherRun,
    along_every_step,
    at_rate_lr,
    only_square,
    whole_cube,
)

JUNK = "junk"
"""Name of the run whose labels are fair coins. For square loss, its mean gradient equals the gradient on
labels 0.
"""

GRADIENTS = RowGradients(labels="coins")


class JunkFlow(Line, frozen=True, tag="junk-flow"):
    """½ − (1 + JF/σ)/(2√M): lower bound on the error of noisy gradient descent.

    The target is one of M orthogonal functions. The actual run trains on the labels of the target. The junk
    run has the same learner, start and noise, but its labels are fair coins. The junk flow JF is the sum of η
    (E‖∇ℓ‖²)^½ over the steps of the junk run. Here η is the rate, ∇ℓ is the gradient of the loss on a single
    row, and E is the mean over rows and coins. The mean gradient of the junk run is the gradient on labels 0,
    whatever the target is. Every step adds noise with standard deviation σ to every weight. This noise makes
    the two runs hard to distinguish. The bound holds in expectation over target, start and noise. Steps must
    follow the full gradient of square loss on all vectors of ±1, and the target must be drawn from all
    products of bits. The proof uses Pinsker's inequality for the two runs, and Bessel's inequality. With the
    Cauchy–Schwarz inequality instead of Bessel's, M^(−1/4) would replace M^(−1/2). Source: AS20;
    theory/parities-and-noise#parities.
    """

    title: ClassVar[str] = "junk-flow bound"
    measure: ClassVar[str] = "error"
    formula: ClassVar[str] = "½ − (1 + JF/σ)/(2√M), M possible targets, noise σ, junk flow JF"
    source: ClassVar[str] = "after AS20, by Bessel's inequality"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", per_learner=True, per_replica=True, along_runs=True)

    def holds(self, experiment: Setup) -> Finding:
        problem = experiment.problem
        if other := whole_cube(experiment):
            return other
        if not problem.target_structure.is_random_feature or problem.label_values != "signs":
            return Finding(
                False, f"requires a target drawn from all products of bits, not {problem.target.kind}"
            )
        if other := along_every_step(experiment):
            return other
        return only_square(experiment) or Finding(
            True, "the target is drawn from all products of bits, which are orthogonal on the cube"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        name, architecture, update = learner.name, learner.architecture, learner.update
        if (
            architecture is None
            or update is None
            or update.structure().stable_up_to != catapult.MONOTONE_BELOW
        ):
            return Finding(False, f"the line requires gradient descent, unlike {name}")
        if learner.noise is None or learner.noise.on != "weights" or learner.noise.sigma == 0:
            return Finding(
                False, f"the line requires noise on the weights after every step, and {name} has none"
            )
        if architecture.layout(experiment.d).l2_penalty or architecture.outputs > 1:
            return Finding(
                False, f"the line requires a separate net without penalty for each target, unlike {name}"
            )
        if (lacking := at_rate_lr(structs.replace(learner, noise=None), experiment)) is not None:
            return lacking
        return Finding(True, f"{name} is gradient descent with noise on all of its weights")

    def runs(self, learner: Learner, experiment: Setup) -> Mapping[str, OtherRun]:
        problem = structs.replace(experiment.problem, target=Zero(), labels="soft", noise=0.0)
        return {JUNK: OtherRun(learner, problem, (GRADIENTS,))}

    def value(self, at: At) -> Floats:
        assert at.learner.noise is not None, "binds() admits no other learner"
        lengths = at.rate * np.sqrt(at.runs[JUNK][GRADIENTS.name])  # [R, S]
        flow = np.cumsum(lengths, 1) - lengths
        targets = at.experiment.problem.matrix.feature_count()
        bound: Floats = 0.5 - (1 + flow / at.learner.noise.sigma) / (2 * np.sqrt(targets))
        return np.maximum(0, bound)
