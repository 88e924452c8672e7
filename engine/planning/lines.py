"""Which lines of theory speak of a run, whom they bind, and which other runs they need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import structs

from engine.core import catalogue
from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.measures import Measure
from engine.pictures.picture import Picture
from engine.spec.experiment import Experiment, Run
from engine.theory import Line, OtherRun, on_learner, on_problem
from engine.training.descent import curve_name, rates_of
from engine.updates import BEST

ForLine = tuple[str, str]
"""The kind of a line, and the name of the curve of an experiment whose line it is."""


@dataclass(frozen=True)
class PlannedLine:
    """A line with its findings about the problem and every learner, by name."""

    line: Line
    on_problem: Finding
    on_learners: Mapping[str, Finding]

    def binds(self, learner: Learner) -> bool:
        """Whether the line holds on the problem and binds a learner of the experiment."""
        return self.on_problem.holds and self.on_learners[learner.name].holds


def planned_line(line: Line, experiment: Experiment) -> PlannedLine:
    """Judge a line; where it does not hold on the problem, that is the finding about every learner, too."""
    finding = on_problem(line, experiment)
    on_learners = {
        learner.name: on_learner(line, learner, experiment) if finding.holds else finding
        for learner in experiment.learners
    }
    return PlannedLine(line, finding, on_learners)


def lines_along_runs(experiment: Experiment, recorded: Collection[str]) -> tuple[PlannedLine, ...]:
    """The lines along runs on measures of these names."""
    return tuple(
        planned_line(line, experiment)
        for line in catalogue.defaults("theory")
        if line.structure().along_runs and line.measure in recorded
    )


def lines_on(
    experiment: Experiment, recorded: Collection[str], judged: Collection[PlannedLine]
) -> tuple[PlannedLine, ...]:
    """The lines on measures of these names, or of which a picture has contours; `judged` ones are reused."""
    return tuple(_planned_lines(experiment, recorded, {planned.line: planned for planned in judged}))


def _planned_lines(
    experiment: Experiment, recorded: Collection[str], judged: Mapping[Line, PlannedLine]
) -> Iterator[PlannedLine]:
    contours = {contour.line for picture in experiment.pictures for contour in picture.contours}
    for line in catalogue.defaults("theory"):
        if line.measure in recorded or line.kind in contours:
            for variant in line.every():
                yield judged.get(variant) or planned_line(variant, experiment)


class SideRuns(NamedTuple):
    """Experiments of one learner each, and which of them a line is made of."""

    experiments: tuple[Experiment, ...]
    """Each once, however many lines need it."""

    numbers: Mapping[ForLine, Mapping[str, int]]
    """Numbers of the experiments that the line of a curve needs, by the names that it has for them."""


def side_runs(
    experiment: Experiment, lines: Iterable[PlannedLine], recorded: Mapping[str, tuple[Measure, ...]]
) -> SideRuns:
    """Return the runs that lines along runs are made of; `recorded` has the measures of every learner."""
    wanted: list[OtherRun] = []
    numbers: dict[ForLine, dict[str, int]] = {}
    along = [planned for planned in lines if planned.line.structure().along_runs]
    for learner in experiment.learners:
        names = {measure.name for measure in recorded[learner.name]}
        for planned in along:
            line = planned.line
            if line.measure not in names or not planned.binds(learner):
                continue
            for curve, alone in at_each_rate(learner).items():
                runs = line.runs(alone, experiment)
                numbers[line.kind, curve] = {name: _entered(run, wanted) for name, run in runs.items()}
    return SideRuns(tuple(_experiment(run, experiment) for run in wanted), numbers)


def at_each_rate(learner: Learner) -> dict[str, Learner]:
    """The learner with each of its rates alone, by the name of the curve; as it is where one is chosen."""
    if learner.update is None or learner.rate_choice in (None, BEST):
        return {learner.name: learner}
    return {
        curve_name(learner, rate): structs.replace(learner, update=structs.replace(learner.update, lr=rate))
        for rate in rates_of(learner)
    }


def _entered(run: OtherRun, wanted: list[OtherRun]) -> int:
    """The number of a run among those wanted, with all that is measured of it; entered if it is new."""
    for number, other in enumerate(wanted):
        if (other.learner, other.problem) == (run.learner, run.problem):
            wanted[number] = other._replace(measures=_together(other.measures, run.measures))
            return number
    wanted.append(run)
    return len(wanted) - 1


def _together(measures: tuple[Measure, ...], added: tuple[Measure, ...]) -> tuple[Measure, ...]:
    return (*measures, *(measure for measure in added if measure not in measures))


def _experiment(run: OtherRun, experiment: Experiment) -> Experiment:
    """A run as an experiment, with pictures of what is measured of it."""
    settings = experiment.run
    return Experiment(
        problem=run.problem,
        protocol=experiment.protocol,
        learners=(run.learner,),
        run=Run(
            seed=settings.seed,
            streams=settings.streams,
            replicas=settings.replicas,
            dtype=settings.dtype,
            device=settings.device,
        ),
        pictures=tuple(Picture(measure=measure) for measure in run.measures),
    )
