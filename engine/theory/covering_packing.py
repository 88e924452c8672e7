"""An upper bound on the radius of a farthest-point covering, by packing."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.covering_volume import in_ball

LARGEST = 3.0
"""Upper bound on r √K for a farthest-point covering of the disc by K = 2^b balls of radius r.

For K ≥ 8, take K + 1 points at distances of at least r. The discs of radius r/2 around them are disjoint and
lie in a disc of radius 1 + r/2, so that r ≤ 2/(√(K + 1) − 1). For smaller K, consider the K + 1 points of the
disc whose least distance is as large as possible. For 2, 3 and 5 points, this distance is 2, √3 and 2 sin
36°.
"""


class CoveringPacking(Line, frozen=True, tag="covering-packing"):
    """3 · 2^(−b/2): upper bound on the radius of 2^b balls that cover points in the unit disc.

    Each further centre is the point at the largest distance from its nearest centre so far. After 2^b
    centres, let p be the next centre. The radius r is the distance of p from its nearest centre. All
    distances between p and the centres are at least r. So the discs of radius r/2 around these 2^b + 1 points
    are disjoint. All these discs lie in a disc of radius 1 + r/2, so 2^b + 1 ≤ (1 + 2/r)². The bound follows
    for b ≥ 3. For b < 3, two of any 2^b + 1 points of the disc have a distance below the bound. Source: Cohen
    et al. 2021; theory/kernels-and-entropy#entropy.
    """

    title: ClassVar[str] = "bound by packing"
    measure: ClassVar[str] = "covering-radius"
    formula: ClassVar[str] = "3 · 2^(−b/2)"
    source: ClassVar[str] = "Cohen et al. 2021; theory/kernels-and-entropy#entropy"

    def structure(self) -> LineStructure:
        return LineStructure(direction="upper", in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        finding = in_ball(experiment)
        if finding.holds and experiment.d != 2:
            return Finding(False, f"requires points of a disc, d = 2, and d is {experiment.d}")
        return finding

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return Finding(True, f"the radius is a property of the instances, whatever {learner.name} learns")

    def value(self, at: At) -> Floats:
        bound: Floats = LARGEST * 2 ** (-at.indices["bits"] / 2)
        return bound
