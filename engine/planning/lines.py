"""Which lines of the theory speak of a run, and whom they bind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from engine.core import catalogue
from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Experiment
from engine.theory import Line


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
    on_problem = line.on_problem(experiment)
    on_learners = {
        learner.name: line.judged(learner, experiment) if on_problem.holds else on_problem
        for learner in experiment.learners
    }
    return PlannedLine(line, on_problem, on_learners)


def lines_along_runs(experiment: Experiment, recorded: Collection[str]) -> tuple[PlannedLine, ...]:
    """The lines along runs on measures of these names."""
    return tuple(
        planned_line(line, experiment)
        for line in catalogue.defaults("theory")
        if line.along_runs and line.measure in recorded
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
