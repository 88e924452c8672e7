"""Upper bound on the correlation of gradients with a target, for starts that treat all bits alike."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.parts import Finding, Verdict
from engine.formulas import alignment
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, ByVerdict, Floats, LineStructure, whole_cube


class Alignment(ByVerdict, frozen=True, tag="alignment"):
    """C = max_k W_k/(n choose k): bound on the squared correlation of gradients with the labels.

    The label is a function f(x) on the cube {±1}ⁿ. W_k is the sum of the squared Fourier coefficients of f of
    degree k. Let g be a random permutation of the bits with random sign flips. C is the alignment of f, C =
    sup_h E_g(E_x f(gx) h(x))² over all functions h with E h² = 1. Suppose that the maps g do not change the
    distribution of the starting weights. Let ŷ be the predictions. Then the mean of ‖E_x f ∇ŷ‖² over starts
    is the same for f and x ↦ f(gx). So on average over starts, the share ‖E_x f ∇ŷ‖²/E_x ‖∇ŷ‖² is at most C
    if E f² = 1. For a parity of k bits, C = 1/(n choose k). Source: AB22; theory/symmetry#alignment.
    """

    title: ClassVar[str] = "alignment bound"
    measure: ClassVar[str] = "gradient-alignment"
    formula: ClassVar[str] = "max_k W_k/(n choose k), W_k: weight of degree k"
    source: ClassVar[str] = "Abbe, Boix-Adserà 2022"

    def structure(self) -> LineStructure:
        return LineStructure(direction="upper", group=SIGNED_PERMUTATIONS)

    def holds(self, experiment: Setup) -> Finding:
        problem = experiment.problem
        if other := whole_cube(experiment):
            return other
        if problem.target.columns(problem.matrix) > 1:
            return Finding(False, "requires a single target, and here there are several")
        if experiment.protocol.schedule().trains:
            return Finding(
                False, f"requires a learner at its start, and {experiment.protocol.kind} trains it"
            )
        return Finding(True, "the rows are all vectors of ±1, and learners are at their start")

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        bound = judged.group >= SIGNED_PERMUTATIONS
        treatment = "treats all bits and signs alike" if bound else "may treat bits or signs differently"
        return Finding(bound, f"{learner.name} {treatment}: {judged.reason}")

    def value(self, at: At) -> Floats:
        data = at.drawn.data
        pairs = zip(
            data.instances.rows.double().cpu().numpy(), data.labels.double().cpu().numpy(), strict=True
        )
        mean: Floats = np.array([np.mean([alignment.signed_permutations(*pair) for pair in pairs])])
        return mean
