"""Backend that uses the structure of the instances, such as orthogonality, in place of their matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import msgspec

from engine.backends import Backend, weight_vectors
from engine.problems.instances import ScaledIdentity
from engine.symmetry.verdict import verdict
from engine.training.descent import TrainingInputs
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.measures import Measure
    from engine.spec.experiment import Experiment

LARGE = 1 << 20
"""Number of matrix entries from which on an operator is faster than a matrix, for one weight vector."""

LARGE_RECORD = 1 << 22
"""Number of multiplications per record from which on an operator is faster, for many weight vectors."""


class Structured(Backend):
    """Backend that stores instances as an operator: a scaled identity, or the rows of a Sylvester matrix.

    If the instances are orthogonal, a rotation-invariant learner trains on a scaled identity in their place.
    An update rule that is invariant only on Hadamard data is replaced by a rotation-invariant rule that makes
    the same steps on Hadamard data. All other learners train on the rows of a Sylvester matrix. The backend
    refuses these learners if the instances are not such rows. It also refuses a solver that needs more than
    inner products and single rows of the instances.
    """

    place: ClassVar[int] = 30
    words: ClassVar[str] = "computed by an operator in place of the matrix of instances"
    knows: ClassVar[frozenset[str]] = Backend.knows | {"layer_rates", "solver"}

    def refuses(self, learner: Learner, experiment: Experiment) -> str | None:
        reason = why_not_rotated(learner, experiment)
        matrix = experiment.problem.matrix
        if reason is not None and matrix.structure().is_sylvester and _uses_only_products(learner):
            reason = None
        return reason or super().refuses(learner, experiment)

    def serves(self, measure: Measure) -> bool:
        needs = measure.needs()
        return not (needs.coordinates or needs.under)

    def pays(self, learner: Learner, experiment: Experiment) -> bool:
        if is_large(learner, experiment):
            return True
        hidden = learner.architecture is not None and learner.architecture.layout(experiment.d).units > 0
        return hidden and why_not_rotated(learner, experiment) is None

    def training_run(self, inputs: TrainingInputs, experiment: Experiment) -> TrainingRun:
        if why_not_rotated(inputs.learner, experiment) is None:
            inputs = rotated(inputs)
        return experiment.protocol.training_run(inputs)


def _uses_only_products(learner: Learner) -> bool:
    return learner.solver is None or learner.solver.structure().by_products


def is_large(learner: Learner, experiment: Experiment) -> bool:
    """Return whether the matrix of instances is so large that an operator is faster."""
    n, d = experiment.n, experiment.d
    return n * d >= LARGE or n * d * weight_vectors(learner, experiment) >= LARGE_RECORD


def why_not_rotated(learner: Learner, experiment: Experiment) -> str | None:
    """Return why a learner cannot train on a scaled identity in place of the experiment's instances.

    A rotation maps orthogonal instances to the coordinate axes, which form a scaled identity. The result is
    None if the replacement changes nothing.
    """
    matrix = experiment.problem.matrix
    if learner.solver is not None:
        return "this backend replaces the instances by a multiple of the identity, but a solver needs them"
    if learner.architecture is not None and learner.architecture.structure().by_inner_products:
        return "this backend replaces the instances, but the learner computes features from them"
    if not matrix.structure().is_orthogonal:
        return f"with these settings, the instances of {matrix.kind} are not orthogonal"
    if verdict(learner, experiment).invariant is False:
        return "this backend rotates the instances, but the learner is not rotation invariant"
    return None


def rotated(inputs: TrainingInputs) -> TrainingInputs:
    """Rotate orthogonal instances to the coordinate axes, for a rotation-invariant learner.

    An update rule that is invariant only on Hadamard data is replaced by a rotation-invariant rule that makes
    the same steps on Hadamard data.
    """
    learner, data = inputs.learner, inputs.data
    if learner.update is not None and (rule := learner.update.structure().invariant_counterpart):
        learner = msgspec.structs.replace(learner, update=rule)
    along_axes = replace(data, instances=ScaledIdentity(data.instances), w_star=None)
    return replace(inputs, learner=learner, data=along_axes)


BACKEND = Structured()
