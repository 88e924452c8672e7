"""Bound on the rank of the weights of learners that treat all features alike."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.groups import PERMUTATIONS
from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    ByVerdict,
    Floats,
    LineStructure,
    about_one_target,
    largest_rank,
    more_than_one_target,
    shares_layers,
)


class RankDoubling(ByVerdict, frozen=True, tag="rank-doubling"):
    """2^k: the largest rank of the weights of all targets, if entries of instances have only two values.

    The weights of all targets form a matrix with one column per target. The bound applies to learners that
    treat all features alike, and start with equal weights for all features. If two features agree on all k
    instances seen, exchanging the two features does not change these instances. So such a learner gives both
    features equal weights. Group the features by their entries in the k instances. There are at most 2^k
    groups, and every weight vector is constant on each group. So the weight vectors lie in a space of at most
    2^k dimensions. Multiplicative updates such as EGU attain the rank 2^k. Gradient descent from 0 also
    satisfies the bound, but its weight vectors have at most the rank k. Source: the talk on WKA21, "rank
    grows exponentially fast"; theory/hadamard#all-targets.
    """

    title: ClassVar[str] = "doubling bound"
    measure: ClassVar[str] = "rank"
    formula: ClassVar[str] = "2^k"
    source: ClassVar[str] = "talk, Interlude"

    def structure(self) -> LineStructure:
        return LineStructure(direction="upper", group=PERMUTATIONS, in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        matrix = experiment.problem.matrix
        if matrix.structure().entry_values not in ("signs", "bits"):
            return Finding(False, f"requires entries of two values, and the matrix is {matrix.kind}")
        return more_than_one_target(experiment)

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        name, architecture = learner.name, learner.architecture
        if architecture is None or learner.update is None:
            return Finding(
                False, f"the line requires weights that an update rule trains, and {name} has no such weights"
            )
        if not architecture.structure().starts_alike:
            other = f"{name} is {architecture.kind}"
            return Finding(False, f"the line requires weights that start alike for all features, and {other}")
        if shares_layers(learner):
            return Finding(False, about_one_target(learner))
        if learner.noise is not None:
            return Finding(False, f"the noise of {name} differs between features")
        if not judged.group >= PERMUTATIONS:
            return Finding(False, f"{name} does not treat all features alike: {judged.reason}")
        return Finding(
            True, f"{name} treats all features alike, and cannot distinguish two features with equal values"
        )

    def value(self, at: At) -> Floats:
        rank_limit = largest_rank(at.experiment)
        return np.minimum(np.exp2(np.minimum(at.k, np.log2(rank_limit))), rank_limit)
