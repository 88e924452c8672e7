"""The expected value of every feature of an instance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure


class ExpectedFeatures(Line, frozen=True, tag="expected-features"):
    """E x_i, the mean of feature i: the stationary probability that a walk on a ring is at site i.

    Feature i of an instance is 1 if the walk is at site i, and 0 otherwise. If the step length σ depends on
    the site, the stationary probability of a site is proportional to 1/σ². Steps have length 1 in the first
    half of the ring, and length 2 in the second half. On a large ring, the walk spends 4/5 of its time in the
    first half. On d sites, where d is a multiple of four, this share is 4d/(5d + 4). Source:
    theory/noise-of-sgd#valleys.
    """

    title: ClassVar[str] = "stationary distribution"
    measure: ClassVar[str] = "occupation"
    formula: ClassVar[str] = "E x_i"
    source: ClassVar[str] = "theory/noise-of-sgd#valleys"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        matrix = experiment.problem.matrix
        if matrix.structure().feature_means is None:
            return Finding(False, f"requires known means of features, and the matrix is {matrix.kind}")
        return Finding(True, "the mean of every feature is known")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return Finding(True, f"the mean is a property of the instances, whatever {learner.name} learns")

    def value(self, at: At) -> Floats:
        return np.array(at.experiment.problem.matrix.structure().feature_means)
