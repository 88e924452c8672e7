"""Which measures a run records of each learner, and which of them are read by replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.core.expressions import names_in
from engine.learners.learner import Learner
from engine.measures import Measure, measures_in, named
from engine.pictures.picture import Picture
from engine.spec.experiment import Experiment, missing, of_run, picture_of_claim, pictures_of

if TYPE_CHECKING:
    from engine.planning.lines import PlannedLine


class RecordedMeasures(NamedTuple):
    """The measures of every learner, by its name."""

    by_learner: Mapping[str, tuple[Measure, ...]]
    by_replica: Mapping[str, frozenset[str]]
    """Names of the measures whose values of every replica a picture, a claim or a line reads."""

    along: tuple[PlannedLine, ...]
    """The lines along runs that were judged, since they are made of measures."""


def recorded_measures(experiment: Experiment) -> RecordedMeasures:
    """Return the measures that every run records, and those that anything names or is made of."""
    from engine.planning.lines import lines_along_runs  # which imports all of the theory

    measures = _requested(experiment)
    requested = {
        learner.name: {
            name: measure
            for name, measure in measures.items()
            if missing(measure, experiment, learner) is None
        }
        for learner in experiment.learners
    }
    along = lines_along_runs(experiment, {name for by_name in requested.values() for name in by_name})
    of_lines = {
        learner.name: _of_lines(experiment, learner, along, requested[learner.name])
        for learner in experiment.learners
    }
    read = _read_by_replica(experiment)
    by_learner = {name: requested[name] | of_lines[name] for name in requested}
    return RecordedMeasures(
        {name: tuple(by_name.values()) for name, by_name in by_learner.items()},
        {name: (read | of_lines[name].keys()) & by_name.keys() for name, by_name in by_learner.items()},
        along,
    )


def is_recorded(name: str, experiment: Experiment) -> bool:
    """Whether the measure of this name is recorded of any learner."""
    by_learner = recorded_measures(experiment).by_learner
    return any(measure.name == name for measures in by_learner.values() for measure in measures)


def _requested(experiment: Experiment) -> dict[str, Measure]:
    """The measures that every run records, or that the set-up, a picture or a claim names."""
    ending = experiment.protocol.schedule().ends_early
    end_name = None if ending is None else ending.measure
    always = [measure for name, measure in named().items() if measure.schedule().always or name == end_name]
    claimed = [claim.measure for claim in experiment.claims if claim.measure is not None]
    pictured = [picture.measure for picture in experiment.pictures]
    pictured += [named()[name] for name in _read_until(experiment.pictures)]
    pictured += [
        measure for picture in experiment.pictures for measure in measures_in(names_in(picture.x)).values()
    ]
    return {measure.name: measure for measure in (*always, *experiment.run.measures, *claimed, *pictured)}


def _read_until(pictures: Sequence[Picture]) -> list[str]:
    """Names of the measures at whose values pictures stop to read others."""
    readings = (picture.reading for picture in pictures)
    ends = (None if reading is None else reading.until for reading in readings)
    return [end.measure for end in ends if end is not None and end.measure is not None]


def _of_lines(
    experiment: Experiment, learner: Learner, along: Sequence[PlannedLine], requested: Mapping[str, Measure]
) -> dict[str, Measure]:
    """The measures that the lines on requested measures are made of, by name."""
    binding = [
        planned.line for planned in along if planned.line.measure in requested and planned.binds(learner)
    ]
    return {measure.name: measure for line in binding for measure in line.measures(learner, experiment)}


def _read_by_replica(experiment: Experiment) -> frozenset[str]:
    """Names of the measures whose values of every replica a picture or a claim reads.

    The picture of the run as it goes on is among them.
    """
    pictures = [of_run(experiment), *pictures_of(experiment)]
    pictures += [picture_of_claim(experiment, claim) for claim in experiment.claims]
    return frozenset(name for picture in pictures for name in picture.read_by_replica)
