"""Plan of a run: measures, backends, sizes, and theory lines with the side runs that they need."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from engine.backends import Backend, backend_choice, weight_vectors
from engine.core import catalogue
from engine.core.expressions import names_in
from engine.core.memory import Sizes
from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.measures import Measure, measures_in, named
from engine.pictures.picture import Picture
from engine.spec.experiment import (
    Experiment,
    RunSettings,
    Setup,
    missing,
    of_run,
    picture_of_claim,
    pictures_of,
)
from engine.symmetry.verdict import verdict
from engine.theory import Line, OtherRun, on_learner, on_problem
from engine.training.descent import curve_names, rates_of
from engine.updates import BEST

if TYPE_CHECKING:
    from engine.core.compiled_code import CompiledCode


ForLine = tuple[str, str]
"""Kind of a theory line, and name of the curve for which it is computed."""


@dataclass(frozen=True)
class PlannedLine:
    """Theory line (curve that theory predicts) of a run, and whether its theorem applies.

    `on_problem` says whether the theorem applies to the problem. `on_learners` says whether it applies to
    each learner, by the learner's name.
    """

    line: Line
    on_problem: Finding
    on_learners: Mapping[str, Finding]

    def binds(self, learner: Learner) -> bool:
        return self.on_problem.holds and self.on_learners[learner.name].holds


def planned_line(line: Line, experiment: Experiment, verdicts: Mapping[str, Verdict]) -> PlannedLine:
    """Check whether a theory line's theorem applies to the problem, and to each learner.

    `verdicts` says, by the learner's name, whether each learner is rotation invariant. If the theorem does
    not apply to the problem, it applies to no learner, for the same reason.
    """
    finding = on_problem(line, experiment)
    on_learners = {
        learner.name: on_learner(line, learner, experiment, verdicts[learner.name])
        if finding.holds
        else finding
        for learner in experiment.learners
    }
    return PlannedLine(line, finding, on_learners)


def lines_along_runs(
    experiment: Experiment, recorded: Collection[str], verdicts: Mapping[str, Verdict]
) -> tuple[PlannedLine, ...]:
    """Return the theory lines that are computed from measured values, so that they grow during runs.

    Only lines about measures named in `recorded` are returned.
    """
    return tuple(
        planned_line(line, experiment, verdicts)
        for line in catalogue.defaults("theory")
        if line.structure().along_runs and line.measure in recorded
    )


def lines_on(
    experiment: Experiment, names: Collection[str], recorded: RecordedMeasures
) -> tuple[PlannedLine, ...]:
    """Return all theory lines that a run needs: lines about recorded measures, and contours of pictures.

    Args:
        names: names of the recorded measures.
        recorded: recorded measures, with the verdicts on learners and the lines that are already checked.
    """
    return tuple(_planned_lines(experiment, names, recorded))


def _planned_lines(
    experiment: Experiment, names: Collection[str], recorded: RecordedMeasures
) -> Iterator[PlannedLine]:
    judged = {planned.line: planned for planned in recorded.along}
    contours = {contour.line for picture in experiment.pictures for contour in picture.contours}
    for line in catalogue.defaults("theory"):
        if line.measure in names or line.kind in contours:
            for variant in line.every():
                yield judged.get(variant) or planned_line(variant, experiment, recorded.verdicts)


class SideRuns(NamedTuple):
    """Additional runs (side runs). Theory lines are computed from their results.

    Each side run trains one learner.
    """

    experiments: tuple[Experiment, ...]
    """Experiments of the side runs, without repetitions. Several theory lines may use the same side run."""

    numbers: Mapping[ForLine, Mapping[str, int]]
    """Indices in `experiments` of the side runs that the theory line of a curve needs.

    The keys are the names that the theory line gives to its side runs.
    """


def side_runs(
    experiment: Experiment, lines: Iterable[PlannedLine], recorded: Mapping[str, tuple[Measure, ...]]
) -> SideRuns:
    """Return the additional runs (side runs) that theory lines need.

    Args:
        lines: theory lines that the run may need.
        recorded: measures that are recorded for each learner, by the learner's name.
    """
    wanted: list[OtherRun] = []
    numbers: dict[ForLine, dict[str, int]] = {}
    along = [theory_line for theory_line in lines if theory_line.line.structure().along_runs]
    for learner in experiment.learners:
        names = {measure.name for measure in recorded[learner.name]}
        for planned in along:
            line = planned.line
            if line.measure not in names or not planned.binds(learner):
                continue
            for curve, alone in at_each_rate(learner).items():
                runs = line.runs(alone, experiment)
                numbers[line.kind, curve] = {
                    run_name: _enter_side_run(run, wanted) for run_name, run in runs.items()
                }
    return SideRuns(tuple(_side_experiment(run, experiment) for run in wanted), numbers)


def at_each_rate(learner: Learner) -> dict[str, Learner]:
    """Split a learner with several rates into copies with one rate each, by the name of their curves.

    A learner without a rate, or tuned to its best rate, is returned unchanged.
    """
    if learner.update is None or learner.rate_choice in (None, BEST):
        return {learner.name: learner}
    rates = rates_of(learner)
    return {
        curve: structs.replace(learner, update=structs.replace(learner.update, lr=rate))
        for curve, rate in zip(curve_names(learner, rates), rates, strict=True)
    }


def _enter_side_run(run: OtherRun, wanted: list[OtherRun]) -> int:
    """Add a side run to the list `wanted`, and return its index in the list.

    If the list has a run of the same learner and problem, only the new measures are added to that run.
    """
    for number, other in enumerate(wanted):
        if (other.learner, other.problem) == (run.learner, run.problem):
            wanted[number] = other._replace(measures=_joined_measures(other.measures, run.measures))
            return number
    wanted.append(run)
    return len(wanted) - 1


def _joined_measures(measures: tuple[Measure, ...], added: tuple[Measure, ...]) -> tuple[Measure, ...]:
    return (*measures, *(measure for measure in added if measure not in measures))


def _side_experiment(run: OtherRun, experiment: Experiment) -> Experiment:
    """Convert a side run to an experiment with one picture for each measure of the side run."""
    settings = experiment.run
    return Experiment(
        problem=run.problem,
        protocol=experiment.protocol,
        learners=(run.learner,),
        run=RunSettings(
            seed=settings.seed,
            streams=settings.streams,
            replicas=settings.replicas,
            dtype=settings.dtype,
            device=settings.device,
        ),
        pictures=tuple(Picture(measure=measure) for measure in run.measures),
    )


class RecordedMeasures(NamedTuple):
    """Measures that are recorded for each learner, by the learner's name."""

    by_learner: Mapping[str, tuple[Measure, ...]]
    by_replica: Mapping[str, frozenset[str]]
    """Names of the measures that a picture, claim or theory line needs for every single replica."""

    along: tuple[PlannedLine, ...]
    """Theory lines that are computed from values measured in runs, and whether their theorems apply."""

    verdicts: Mapping[str, Verdict]
    """Verdict on the invariance of each learner, by the learner's name."""


def recorded_measures(experiment: Experiment) -> RecordedMeasures:
    """Return the measures that are recorded for each learner of an experiment.

    They are the measures of every run, and the measures that pictures, claims and theory lines need.
    """
    measures = _requested_measures(experiment)
    requested = {
        learner.name: {
            name: measure
            for name, measure in measures.items()
            if missing(measure, experiment, learner) is None
        }
        for learner in experiment.learners
    }
    verdicts = {learner.name: verdict(learner, experiment) for learner in experiment.learners}
    names = {name for by_name in requested.values() for name in by_name}
    along = lines_along_runs(experiment, names, verdicts)
    of_lines = {
        learner.name: _measures_of_lines(experiment, learner, along, requested[learner.name])
        for learner in experiment.learners
    }
    read = _measures_by_replica(experiment)
    by_learner = {learner: requested[learner] | of_lines[learner] for learner in requested}
    return RecordedMeasures(
        {learner: tuple(by_name.values()) for learner, by_name in by_learner.items()},
        {
            learner: (read | of_lines[learner].keys()) & by_name.keys()
            for learner, by_name in by_learner.items()
        },
        along,
        verdicts,
    )


def is_recorded(measure_name: str, experiment: Experiment) -> bool:
    """Return whether at least one learner of the run records the measure."""
    by_learner = recorded_measures(experiment).by_learner
    return any(measure.name == measure_name for measures in by_learner.values() for measure in measures)


def _requested_measures(experiment: Experiment) -> dict[str, Measure]:
    """Return the measures of every run, and those that the set-up, a picture or a claim names."""
    ending = experiment.protocol.schedule().ends_early
    end_name = None if ending is None else ending.measure
    always = [
        measure
        for measure_name, measure in named().items()
        if measure.schedule().always or measure_name == end_name
    ]
    claimed = [claim.measure for claim in experiment.claims if claim.measure is not None]
    pictured = [picture.measure for picture in experiment.pictures]
    pictured += [named()[measure_name] for measure_name in _measures_of_ends(experiment.pictures)]
    pictured += [
        measure for picture in experiment.pictures for measure in measures_in(names_in(picture.x)).values()
    ]
    return {measure.name: measure for measure in (*always, *experiment.run.measures, *claimed, *pictured)}


def _measures_of_ends(pictures: Sequence[Picture]) -> list[str]:
    readings = (picture.reading for picture in pictures)
    ends = (None if reading is None else reading.until for reading in readings)
    return [end.measure for end in ends if end is not None and end.measure is not None]


def _measures_of_lines(
    experiment: Experiment, learner: Learner, along: Sequence[PlannedLine], requested: Mapping[str, Measure]
) -> dict[str, Measure]:
    """Return further measures, from which theory lines about requested measures are computed."""
    binding = [
        planned.line for planned in along if planned.line.measure in requested and planned.binds(learner)
    ]
    return {measure.name: measure for line in binding for measure in line.measures(learner, experiment)}


def _measures_by_replica(experiment: Experiment) -> frozenset[str]:
    """Return the names of measures whose values in single replicas are needed by pictures or claims.

    The default picture of a run counts, too.
    """
    pictures = [of_run(experiment), *pictures_of(experiment)]
    pictures += [picture_of_claim(experiment, claim) for claim in experiment.claims]
    return frozenset(measure_name for picture in pictures for measure_name in picture.read_by_replica)


BYTES = {"float32": 4, "float64": 8}
"""Size in bytes of a number, by dtype."""


@dataclass(frozen=True)
class LearnerPlan:
    """Decisions about one learner of an experiment."""

    experiment: Experiment
    learner: Learner
    rates: tuple[float, ...]
    measures: tuple[Measure, ...]

    by_replica: frozenset[str]
    """Names of the measures that a picture, claim or theory line needs for every single replica."""

    verdict: Verdict
    backend: Backend
    faster: tuple[Backend, CompiledCode] | None
    """Faster backend, and the code that must be compiled for it; None if there is no faster backend."""

    sizes: Sizes
    records: int
    """Number of evaluation points of the protocol."""

    @property
    def curve_names(self) -> list[str]:
        return curve_names(self.learner, self.rates)

    @property
    def rates_by_curve(self) -> dict[str, float | None]:
        """Learning rates of the learner's curves, by curve name.

        The curve of a learner that is tuned to its best rate has None, because the run decides the rate.
        """
        if self.learner.is_tuned:
            return {self.learner.name: None}
        return dict(zip(self.curve_names, self.rates, strict=True))


@dataclass(frozen=True)
class RunPlan:
    """All decisions about the run of an experiment."""

    experiment: Experiment
    learners: tuple[LearnerPlan, ...]
    lines: tuple[PlannedLine, ...]
    """Theory lines about recorded measures, and theory lines that pictures show as contours."""

    side_learners: tuple[LearnerPlan, ...]
    """Learners of side runs, each in a separate experiment."""

    side_runs: SideRuns

    @property
    def measures(self) -> tuple[Measure, ...]:
        by_name = {
            measure.name: measure for planned_learner in self.learners for measure in planned_learner.measures
        }
        return tuple(by_name.values())

    @property
    def all_learners(self) -> tuple[LearnerPlan, ...]:
        return (*self.side_learners, *self.learners)

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector with one number for every feature, such as an instance."""
        sizes = self.learners[0].sizes
        return sizes.d * sizes.item

    @property
    def needs_torch(self) -> bool:
        return any(planned_learner.backend.needs.torch for planned_learner in self.all_learners)


def plan_run(experiment: Experiment) -> RunPlan:
    """Make all decisions about a run of a checked experiment, and return them as a plan.

    Raises: BadInput if `run.path` names a backend that cannot serve a learner.
    """
    recorded = recorded_measures(experiment)
    learners = _learner_plans(experiment, recorded)
    names = {measure.name for measures in recorded.by_learner.values() for measure in measures}
    lines = lines_on(experiment, names, recorded)
    sides = side_runs(experiment, lines, recorded.by_learner)
    side_learners = tuple(
        planned_learner
        for side_experiment in sides.experiments
        for planned_learner in _learner_plans(side_experiment, recorded_measures(side_experiment))
    )
    return RunPlan(experiment, learners, lines, side_learners, sides)


def _learner_plans(experiment: Experiment, recorded: RecordedMeasures) -> tuple[LearnerPlan, ...]:
    return tuple(_learner_plan(experiment, learner, recorded) for learner in experiment.learners)


def _learner_plan(experiment: Experiment, learner: Learner, recorded: RecordedMeasures) -> LearnerPlan:
    measures = recorded.by_learner[learner.name]
    backend, faster = backend_choice(learner, experiment, measures)
    return LearnerPlan(
        experiment=experiment,
        learner=learner,
        rates=tuple(rates_of(learner)),
        measures=measures,
        by_replica=recorded.by_replica[learner.name],
        verdict=recorded.verdicts[learner.name],
        backend=backend,
        faster=faster,
        sizes=sizes_of(learner, experiment),
        records=experiment.protocol.extent(experiment.n).records,
    )


def sizes_of(learner: Learner, setup: Setup) -> Sizes:
    """Return the sizes that determine the memory of a learner's run, such as the number of nets."""
    n, d = setup.n, setup.d
    sizes = Sizes(
        n=n,
        d=d,
        item=BYTES[setup.dtype],
        replicas=setup.run.replicas,
        batch=weight_vectors(learner, setup),
        targets=setup.m,
        examples=setup.protocol.extent(n).examples_given,
        one_hot=setup.problem.one_hot,
    )
    if (architecture := learner.architecture) is None:
        return sizes
    layout = architecture.layout(d)
    return sizes._replace(
        models=setup.protocol.extent(n).models,
        outputs=architecture.outputs,
        parameters=layout.size,
        trained=sum(math.prod(layout.shapes[layer]) for layer in architecture.layers),
        units=layout.units,
    )
