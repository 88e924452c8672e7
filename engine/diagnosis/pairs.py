"""Learners of the diagnosis and their pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.diagnosis import descents, library_learners
from engine.diagnosis.descents import Rule
from engine.diagnosis.library_learners import Fitting


class DiagnosisLearner(NamedTuple):
    """A learner of the diagnosis."""

    name: str
    """Name of the learner in pairs and in JSON output."""

    title: str
    sees_axes: bool
    """Whether the learner favours the feature axes. If not, rotated features serve only as a control."""

    judged: bool
    """Whether the learner belongs to a pair that gets a verdict."""


LEARNERS = (
    DiagnosisLearner("l1", "L1", True, True),
    DiagnosisLearner("l2", "L2", False, True),
    DiagnosisLearner("trees", "extra trees", True, True),
    DiagnosisLearner("rbf", "RBF machine", False, True),
    DiagnosisLearner("egu", "EGU±", True, False),
    DiagnosisLearner("gd", "GD", False, False),
    DiagnosisLearner("spindly", "spindly net", True, False),
    DiagnosisLearner("dense", "dense net", False, False),
    DiagnosisLearner("additive", "additive kernel", True, False),
    DiagnosisLearner("boosted", "boosted trees", True, False),
    DiagnosisLearner("mlp", "MLP (Adam)", False, False),
)

FITTINGS: Mapping[str, Fitting] = {
    "l1": library_learners.l1,
    "l2": library_learners.l2,
    "trees": library_learners.extra_trees,
    "rbf": library_learners.rbf,
    "additive": library_learners.additive,
    "boosted": library_learners.boosted_trees,
    "mlp": library_learners.mlp,
}

DESCENTS: Mapping[str, Rule] = {
    "gd": descents.GD,
    "egu": descents.EGU,
    "dense": descents.DENSE_NET,
    "spindly": descents.SPINDLY_NET,
}


class LearnerPair(NamedTuple):
    """Pair of learners: one depends on the feature axes, and the other depends on them less or not at all."""

    name: str
    axes: str
    partner: str
    judged: bool
    bias: str
    """Name of the first learner's inductive bias, for use in answers."""

    @property
    def names(self) -> tuple[str, str]:
        return self.axes, self.partner


PAIRS = (
    LearnerPair("linear", "l1", "l2", True, "few features with linear effects"),
    LearnerPair("trees", "trees", "rbf", True, "thresholds on single features"),
    LearnerPair("multiplicative", "egu", "gd", False, "multiplicative steps"),
    LearnerPair("nets", "spindly", "dense", False, "weights that are products of parameters"),
    LearnerPair("kernels", "additive", "rbf", False, "sums over single features"),
    LearnerPair("deep", "boosted", "mlp", False, "small trees"),
)


def learner_called(name: str) -> DiagnosisLearner:
    """Return the learner with this name among the learners of the diagnosis."""
    return next(learner for learner in LEARNERS if learner.name == name)
