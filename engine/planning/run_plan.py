"""The plan of a run: what is recorded, on which backend, in how many bytes, and which lines are drawn.

Lines of theory say whom they bind, and which other runs they need.
"""

from __future__ import annotations

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
from engine.spec.experiment import Experiment, Run, Setup, missing, of_run, picture_of_claim, pictures_of
from engine.symmetry.verdict import verdict
from engine.theory import Line, OtherRun, on_learner, on_problem
from engine.training.descent import curve_name, rates_of
from engine.updates import BEST

if TYPE_CHECKING:
    from engine.core.compiled_code import CompiledCode


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


class RecordedMeasures(NamedTuple):
    """The measures of every learner, by its name."""

    by_learner: Mapping[str, tuple[Measure, ...]]
    by_replica: Mapping[str, frozenset[str]]
    """Names of the measures whose values of every replica a picture, a claim or a line reads."""

    along: tuple[PlannedLine, ...]
    """The lines along runs that were judged, since they are made of measures."""


def recorded_measures(experiment: Experiment) -> RecordedMeasures:
    """Return the measures that every run records, and those that anything names or is made of."""

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


BYTES = {"float32": 4, "float64": 8}
"""Bytes of a number by dtype."""


@dataclass(frozen=True)
class LearnerPlan:
    """The decisions about one learner of an experiment."""

    experiment: Experiment
    learner: Learner
    rates: tuple[float, ...]
    measures: tuple[Measure, ...]
    """The measures that are recorded."""

    by_replica: frozenset[str]
    """Names of the recorded measures whose values of every replica a picture, a claim or a line reads."""

    verdict: Verdict
    backend: Backend
    faster: tuple[Backend, CompiledCode] | None
    """The backend that takes over once its code is compiled, and the code; None if there is none."""

    sizes: Sizes
    records: int
    """Evaluation points of the protocol."""

    @property
    def curve_names(self) -> list[str]:
        """Names of the curves, one per rate."""
        return [curve_name(self.learner, rate) for rate in self.rates]

    @property
    def rates_by_curve(self) -> dict[str, float | None]:
        """Rate of every curve in the trace by its name; None for one that is chosen in the end."""
        if self.learner.is_tuned:
            return {self.learner.name: None}
        return dict(zip(self.curve_names, self.rates, strict=True))


@dataclass(frozen=True)
class RunPlan:
    """All decisions about the run of an experiment."""

    experiment: Experiment
    learners: tuple[LearnerPlan, ...]
    lines: tuple[PlannedLine, ...]
    """Every line on a recorded measure, or of which a picture has contours."""

    beside: tuple[LearnerPlan, ...]
    """The learners, each in an experiment of its own, of whose runs lines are made."""

    side_runs: SideRuns

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that are recorded of any learner, each once."""
        by_name = {measure.name: measure for planned in self.learners for measure in planned.measures}
        return tuple(by_name.values())

    @property
    def all_learners(self) -> tuple[LearnerPlan, ...]:
        """Those beside, and those of the experiment."""
        return (*self.beside, *self.learners)

    @property
    def vector_bytes(self) -> int:
        """Bytes of an instance, or of a weight for each of its features."""
        sizes = self.learners[0].sizes
        return sizes.d * sizes.item

    @property
    def needs_torch(self) -> bool:
        """Whether a learner is computed with torch."""
        return any(planned.backend.needs.torch for planned in self.all_learners)


def plan_run(experiment: Experiment) -> RunPlan:
    """Decide all that a run of an experiment needs, whose members fit one another.

    Raises: BadInput if `run.path` names a backend that cannot serve a learner.
    """
    recorded = recorded_measures(experiment)
    learners = _learner_plans(experiment, recorded)
    names = {measure.name for measures in recorded.by_learner.values() for measure in measures}
    lines = lines_on(experiment, names, recorded.along)
    sides = side_runs(experiment, lines, recorded.by_learner)
    beside = tuple(
        planned for other in sides.experiments for planned in _learner_plans(other, recorded_measures(other))
    )
    return RunPlan(experiment, learners, lines, beside, sides)


def _learner_plans(experiment: Experiment, recorded: RecordedMeasures) -> tuple[LearnerPlan, ...]:
    return tuple(
        _learner_plan(
            experiment,
            learner,
            recorded.by_learner[learner.name],
            recorded.by_replica[learner.name],
        )
        for learner in experiment.learners
    )


def _learner_plan(
    experiment: Experiment, learner: Learner, measures: tuple[Measure, ...], by_replica: frozenset[str]
) -> LearnerPlan:
    backend, faster = backend_choice(learner, experiment, measures)
    return LearnerPlan(
        experiment=experiment,
        learner=learner,
        rates=tuple(rates_of(learner)),
        measures=measures,
        by_replica=by_replica,
        verdict=verdict(learner, experiment),
        backend=backend,
        faster=faster,
        sizes=sizes_of(learner, experiment),
        records=experiment.protocol.extent(experiment.n).records,
    )


def sizes_of(learner: Learner, experiment: Setup) -> Sizes:
    """Return how large the run of a learner is."""
    n, d = experiment.n, experiment.d
    sizes = Sizes(
        n=n,
        d=d,
        item=BYTES[experiment.dtype],
        replicas=experiment.run.replicas,
        batch=weight_vectors(learner, experiment),
        targets=experiment.m,
        examples=experiment.protocol.extent(n).examples_given,
        one_hot=experiment.problem.one_hot,
    )
    if (architecture := learner.architecture) is None:
        return sizes
    layout = architecture.layout(d)
    return sizes._replace(
        models=experiment.protocol.extent(n).models,
        outputs=architecture.outputs,
        parameters=layout.size,
        units=layout.units,
    )
