"""Which measures a run records of a learner."""

from __future__ import annotations

from engine.measures import Measure, named
from engine.spec.experiment import Experiment
from engine.spec.learner import Learner

SWITCHES = {"train": "train_loss", "unseen": "train_loss", "spectrum": "spectrum", "rank": "spectrum"}
"""The measures that a run records only if it is told to, and the field of `run` that does."""


def asked(experiment: Experiment, learner: Learner) -> tuple[Measure, ...]:
    """The measures recorded of a learner: those of every run, of a claim, and of a picture."""
    spoken_of = {claim.measure for claim in experiment.claims}
    wanted = {
        name: measure
        for name, measure in named().items()
        if (measure.always or name in spoken_of) and missing(measure, experiment, learner) is None
    }
    for picture in experiment.pictures:
        if picture.measure.refuses(learner, experiment.problem) is None:
            wanted[picture.measure.name] = picture.measure
    return tuple(wanted.values())


def missing(measure: Measure, experiment: Experiment, learner: Learner) -> str | None:
    """Where a measure is recorded, if not here: "it is measured only where …"."""
    if reason := measure.refuses(learner, experiment.problem):
        return reason
    switch = SWITCHES.get(measure.name)
    return None if switch is None or getattr(experiment.run, switch) else f"run.{switch} is true"
