"""Lower bound on the radius of balls that together cover the points of a unit ball, from their volumes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure

UNLIKELY = 1e-3
"""Upper bound on the probability that the covering radius of random points is below the theory line. The line
is also lowered by this fraction.
"""


class CoveringVolume(Line, frozen=True, tag="covering-volume"):
    """2^(−b/d): lower bound on the radius of 2^b balls that cover the unit ball in d dimensions.

    Balls of a smaller radius have a smaller total volume than the unit ball.

    The measure covers n random points of the ball instead of the whole ball, so the line is a little lower.
    Suppose that K = 2^b balls around K of these points fill a share a of the volume. Then the balls contain
    all other points with probability at most a^(n−K). There are at most (en/K)^K choices of the K centres. So
    the probability that the balls of some choice contain all points is at most (en/K)^K a^(n−K). Let a be the
    share for which this number is 10⁻³. With probability 1 − 10⁻³ or more, the radius is then at least
    a^(1/d) 2^(−b/d). The line is 1 − 10⁻³ times this radius, which is a lower bound on the mean. Source:
    Cohen et al. 2021; theory/kernels-and-entropy#entropy.
    """

    title: ClassVar[str] = "bound by volume"
    measure: ClassVar[str] = "covering-radius"
    formula: ClassVar[str] = "2^(−b/d)"
    source: ClassVar[str] = "Cohen et al. 2021; theory/kernels-and-entropy#entropy"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return in_ball(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return Finding(True, f"the radius is a property of the instances, whatever {learner.name} learns")

    def value(self, at: At) -> Floats:
        n, d = at.experiment.n, at.experiment.d
        centres = 2.0 ** at.indices["bits"]
        choices = centres * (1 + np.log(n / centres))
        with np.errstate(divide="ignore"):
            share = np.exp((np.log(UNLIKELY) - choices) / (n - centres))
        bound: Floats = (1 - UNLIKELY) * (share / centres) ** (1 / d)
        return bound


def in_ball(setup: Setup) -> Finding:
    """Return whether the instances are drawn uniformly from the unit ball, and the reason."""
    matrix = setup.problem.matrix
    if not matrix.structure().in_ball:
        return Finding(False, f"requires uniform points of the unit ball, and the matrix is {matrix.kind}")
    return Finding(True, "instances are uniform points of the unit ball")
