"""The plan of a run: what is recorded, on which backend, in how many bytes, and which lines are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.backends import Backend, backend_choice, weight_vectors
from engine.core.memory import Sizes
from engine.core.parts import Verdict
from engine.learners.learner import Learner
from engine.measures import Measure
from engine.planning.lines import PlannedLine, SideRuns, lines_on, side_runs
from engine.planning.measures import RecordedMeasures, recorded_measures
from engine.spec.experiment import Experiment, Setup
from engine.symmetry.verdict import verdict
from engine.training.descent import curve_name, rates_of

if TYPE_CHECKING:
    from engine.core.compiled_code import CompiledCode

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
