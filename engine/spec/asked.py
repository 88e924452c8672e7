"""Which measures a run records of a learner."""

from __future__ import annotations

from collections.abc import Collection

from engine.core import catalogue
from engine.learners.learner import Learner
from engine.measures import Measure, named
from engine.spec.experiment import Experiment

SWITCHES = {"train": "train_loss", "unseen": "train_loss", "spectrum": "spectrum", "rank": "spectrum"}
"""The measures that a run records if a picture or the end of a run needs them, or else only if it is told to
by this field of `run`."""


def asked(experiment: Experiment, learner: Learner) -> tuple[Measure, ...]:
    """The measures recorded of a learner: those of every run, and those that anything speaks of or needs."""
    needed = _needed(experiment)
    wanted = [measure for name, measure in named().items() if measure.recorded_always or name in needed]
    claimed = [claim.measure for claim in experiment.claims if claim.measure is not None]
    shown = [picture.measure for picture in experiment.pictures]
    every = {measure.name: measure for measure in (*wanted, *claimed, *shown)}
    there = {
        name: measure for name, measure in every.items() if missing(measure, experiment, learner) is None
    }
    return tuple((there | _for_lines(experiment, learner, there)).values())


def _for_lines(experiment: Experiment, learner: Learner, there: Collection[str]) -> dict[str, Measure]:
    """The measures that lines on what is there are made of."""
    lines = (catalogue.make("theory", kind) for kind in catalogue.members("theory"))
    return {
        measure.name: measure
        for line in lines
        if line.along_runs and line.measure in there and line.holds(experiment).holds
        if line.binds(learner, experiment).holds
        for measure in line.asks(learner, experiment)
    }


def missing(measure: Measure, experiment: Experiment, learner: Learner) -> str | None:
    """Where a measure is recorded, if not here: "it is measured only where …"."""
    if measure.of_parameters and learner.architecture is None:
        return "the learner has parameters, as those with an architecture do"
    if measure.of_curvature and (reason := no_hessian(experiment, learner)):
        return reason
    if reason := measure.refuses(learner, experiment.problem):
        return reason
    switch = SWITCHES.get(measure.name)
    if switch is None or getattr(experiment.run, switch) or measure.name in _needed(experiment):
        return None
    return f"run.{switch} is true"


def no_hessian(experiment: Experiment, learner: Learner) -> str | None:
    """Where the loss of a net has a Hessian of its own, if not here: "…only where …"."""
    loss, outputs = catalogue.make("losses", experiment.protocol.loss), _outputs(learner)
    if not loss.joint or outputs == experiment.problem.target.columns(experiment.problem.matrix):
        return None
    return f'one net predicts all that {loss.kind} loss couples, as a dense net with outputs = "m"'


def _outputs(learner: Learner) -> int:
    return 1 if learner.architecture is None else learner.architecture.outputs


def _needed(experiment: Experiment) -> set[str]:
    """The measures that a picture shows, or that end a run."""
    shown = {picture.measure.name for picture in experiment.pictures}
    ending = experiment.protocol.ends_early
    return shown if ending is None or ending.measure is None else shown | {ending.measure}
