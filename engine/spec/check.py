"""Whether the members of an experiment fit one another."""

from __future__ import annotations

from engine.core.parts import MOST, BadInput
from engine.learners.learner import Learner
from engine.losses import Loss
from engine.measures import named
from engine.problems.problem import Problem
from engine.solvers import Solver
from engine.spec.check_claims import check_claims, check_places
from engine.spec.check_pictures import check_pictures
from engine.spec.experiment import Experiment
from engine.spec.recorded import missing, no_hessian


def check(experiment: Experiment) -> None:
    """See that the members of an experiment fit one another; types and ranges were checked when it was read.

    Raises: BadInput with the place, what is wrong there, and what would be right.
    """
    problem, matrix, target = experiment.problem, experiment.problem.matrix, experiment.problem.target
    n, d = matrix.shape()
    if n > (most := max(d, MOST)):
        raise BadInput("problem.matrix", f"{n} instances are too many; take at most {most}")
    target.check(matrix)
    if problem.labels != "soft" and target.structure(matrix).values == "bits":
        raise BadInput(
            "problem.labels",
            f"labels of {matrix.kind} are 0 and 1, and {problem.labels} is for others; take soft",
        )
    loss = experiment.loss
    _check_loss(loss, problem)
    experiment.protocol.check(n, problem.label_values)
    names: dict[str, Learner] = {}
    for number, learner in enumerate(experiment.learners):
        if learner.name in names:
            raise BadInput(f"learners[{number}].name", f"{learner.name!r} is taken by another learner")
        names[learner.name] = learner
    for number, learner in enumerate(experiment.learners):
        _check_learner(f"learners[{number}]", learner, experiment, loss)
    for number, measure in enumerate(experiment.run.measures):
        lacks = [missing(measure, experiment, learner) for learner in experiment.learners]
        if all(lacks):
            what = f"{measure.name} is measured only where {lacks[0]}"
            raise BadInput(f"run.measures[{number}]", what)
    ending = experiment.protocol.schedule().ends_early
    if ending is not None and ending.measure is not None:
        lacks = [missing(named()[ending.measure], experiment, learner) for learner in experiment.learners]
        if all(lacks):
            raise BadInput("protocol.until", f"{ending.measure} is measured only where {lacks[0]}")
    if not experiment.axes:  # of several runs together the sweep knows what there is
        check_pictures([experiment], list(names))
        check_claims(experiment, list(names))
        check_places(experiment)


def _check_loss(loss: Loss, problem: Problem) -> None:
    where = f"{problem.matrix.kind} with target {problem.target.kind}"
    if loss.labels not in ("any", problem.label_values):
        needed = {"signs": "+1 and −1", "bits": "0 and 1"}[loss.labels]
        why = "noise makes them real" if problem.noise > 0 else f"{where} has others"
        raise BadInput("protocol.loss", f"{loss.kind} loss needs labels {needed}, and {why}; take square")
    if loss.joint and not problem.one_hot:
        needed = "three classes or more as targets"
        raise BadInput(
            "protocol.loss", f"{loss.kind} loss needs {needed}, and {where} has others; take square"
        )


def _check_learner(place: str, learner: Learner, experiment: Experiment, loss: Loss) -> None:
    problem, architecture = experiment.problem, learner.architecture
    if experiment.protocol.schedule().trains and learner.update is None and learner.solver is None:
        raise BadInput(f"{place}.update", "missing; a learner has an architecture and an update, or a solver")
    if reason := experiment.protocol.refuses(learner):
        raise BadInput(f"{place}.update", reason)
    if learner.update is not None and (reason := learner.update.refuses_loss(loss)):
        raise BadInput(f"{place}.update", reason)
    if learner.schedule is not None and learner.schedule.of_loss and not loss.positive:
        what = f"rates over the loss need one that is never 0, as {loss.kind} loss may be"
        raise BadInput(f"{place}.schedule", f"{what}; take exponential or logistic loss")
    d = problem.matrix.shape()[1]
    if learner.update is not None and (reason := learner.update.refuses_features(d)):
        raise BadInput(f"{place}.update", reason)
    if architecture is not None and (reason := architecture.layout(d).refusal):
        raise BadInput(f"{place}.architecture", reason)
    if architecture is not None:
        targets = problem.target.columns(problem.matrix)
        if architecture.outputs not in (1, targets):
            right = "1, a net for each, or m, one for all" if targets > 1 else "1"
            there = f"there are {targets} targets" if targets > 1 else "there is one target"
            what = f"{architecture.outputs} outputs do not fit: {there}; take {right}"
            raise BadInput(f"{place}.architecture.outputs", what)
    if learner.rate_unit != "one" and (reason := no_hessian(experiment, learner)):
        raise BadInput(f"{place}.rate_unit", f"there is a sharpness only where {reason}")
    for field in ("solver", "tends_to"):
        if (solver := getattr(learner, field)) is not None:
            _check_solver(f"{place}.{field}", solver, problem)


def _check_solver(place: str, solver: Solver, problem: Problem) -> None:
    if reason := solver.refuses(problem.matrix.shape()[1]):
        raise BadInput(place, reason)
    if solver.structure().labels not in ("any", problem.label_values):
        what = f"{solver.kind} needs labels +1 and −1, and there are others; "
        raise BadInput(place, what + 'take labels = "sign" without noise')
