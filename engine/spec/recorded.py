"""Where a measure of a learner makes sense."""

from __future__ import annotations

from engine.learners.learner import Learner
from engine.measures import Measure
from engine.spec.setup import Setup


def missing(measure: Measure, experiment: Setup, learner: Learner) -> str | None:
    """Where a measure is recorded, if not here: "it is measured only where …"."""
    if measure.needs().parameters and learner.architecture is None:
        return "the learner has parameters, as those with an architecture do"
    if measure.needs().curvature and (reason := no_hessian(experiment, learner)):
        return reason
    return measure.refuses(learner, experiment.problem)


def no_hessian(experiment: Setup, learner: Learner) -> str | None:
    """Where the loss of a net has a Hessian of its own, if not here: "…only where …"."""
    loss, outputs = experiment.loss, _outputs(learner)
    if not loss.joint or outputs == experiment.m:
        return None
    return f'one net predicts all that {loss.kind} loss couples, as a dense net with outputs = "m"'


def _outputs(learner: Learner) -> int:
    return 1 if learner.architecture is None else learner.architecture.outputs
