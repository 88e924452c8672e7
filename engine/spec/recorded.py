"""Which measures a run records of a learner."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from engine.core import catalogue
from engine.core.expressions import names_in
from engine.learners.learner import Learner
from engine.measures import Measure, measures_in, named
from engine.spec.experiment import Experiment
from engine.spec.pictures import of_run, picture_of_claim, pictures_of
from engine.spec.setup import Setup


def recorded_measures(experiment: Experiment, learner: Learner) -> tuple[Measure, ...]:
    """The measures recorded of a learner: those of every run, and those that anything speaks of or needs."""
    ending = experiment.protocol.ends_early
    ends = None if ending is None else ending.measure
    wanted = [one for name, one in named().items() if one.recorded_always or name == ends]
    claimed = [claim.measure for claim in experiment.claims if claim.measure is not None]
    shown = [picture.measure for picture in experiment.pictures]
    shown += [named()[name] for name in _until(experiment)]
    shown += [one for picture in experiment.pictures for one in measures_in(names_in(picture.x)).values()]
    every = {measure.name: measure for measure in (*wanted, *experiment.run.measures, *claimed, *shown)}
    there = {
        name: measure for name, measure in every.items() if missing(measure, experiment, learner) is None
    }
    return tuple((there | _for_lines(experiment, learner, there)).values())


def read_by_replica(experiment: Experiment, learner: Learner) -> frozenset[str]:
    """Names of the measures whose values of every replica are read.

    The readers are pictures, claims and lines along runs. The picture of the run as it goes on is among them.
    """
    pictures = [of_run(experiment), *pictures_of(experiment)]
    pictures += [picture_of_claim(experiment, claim) for claim in experiment.claims]
    names = {name for picture in pictures for name in picture.read_by_replica}
    recorded = [measure.name for measure in recorded_measures(experiment, learner)]
    return frozenset(names | _for_lines(experiment, learner, recorded).keys())


def _until(experiment: Experiment) -> list[str]:
    """The measures at whose values pictures end what they read."""
    readings = (picture.reading for picture in experiment.pictures)
    ends = (None if reading is None else reading.until for reading in readings)
    return [end.measure for end in ends if end is not None and end.measure is not None]


def _for_lines(experiment: Experiment, learner: Learner, there: Collection[str]) -> dict[str, Measure]:
    """The measures that lines on what is there are made of."""
    lines = lines_along(experiment, learner, there)
    return {measure.name: measure for line in lines for measure in line.measures(learner, experiment)}


def lines_along(experiment: Experiment, learner: Learner, recorded: Collection[str]) -> list[Any]:
    """The lines along runs on measures of these names that hold, and bind a learner."""
    return [
        line
        for line in catalogue.defaults("theory")
        if line.along_runs and line.measure in recorded
        if line.judged(learner, experiment).holds and line.on_problem(experiment).holds
    ]


def is_recorded(name: str, experiment: Experiment) -> bool:
    """Whether the measure of this name is recorded of any learner."""
    return any(
        measure.name == name for one in experiment.learners for measure in recorded_measures(experiment, one)
    )


def missing(measure: Measure, experiment: Setup, learner: Learner) -> str | None:
    """Where a measure is recorded, if not here: "it is measured only where …"."""
    if measure.of_parameters and learner.architecture is None:
        return "the learner has parameters, as those with an architecture do"
    if measure.of_curvature and (reason := no_hessian(experiment, learner)):
        return reason
    return measure.refuses(learner, experiment.problem)


def no_hessian(experiment: Setup, learner: Learner) -> str | None:
    """Where the loss of a net has a Hessian of its own, if not here: "…only where …"."""
    loss, outputs = catalogue.make("losses", experiment.protocol.loss), _outputs(learner)
    if not loss.joint or outputs == experiment.problem.target.columns(experiment.problem.matrix):
        return None
    return f'one net predicts all that {loss.kind} loss couples, as a dense net with outputs = "m"'


def _outputs(learner: Learner) -> int:
    return 1 if learner.architecture is None else learner.architecture.outputs
