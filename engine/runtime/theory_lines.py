"""Theory lines of a run: their values for every measure that the run records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from engine.learners.learner import Learner
from engine.measures import named
from engine.planning.run_plan import ForLine, LearnerPlan, PlannedLine, RunPlan
from engine.problems.data import Data
from engine.problems.matrices import Rows
from engine.results.trace import Along, Curve, Floats, TheoryLine
from engine.spec.experiment import Setup
from engine.theory import At, Line, Measured, Order, RunData, statement
from engine.training.descent import Descent, TrainingInputs, rates_of

NOTHING = np.empty(0)

MOST_BEYOND = 1 << 16
"""Largest number of x values between the last record and the last row at which theory lines are computed."""


Others = Mapping[ForLine, Mapping[str, Curve]]
"""Curves of the side runs (additional training runs) that a theory line needs, by name of the side run."""


def theory_lines(
    plan: RunPlan,
    data: Callable[[], Data],
    clocks: Mapping[str, Floats],
    other_runs: Others = MappingProxyType({}),
    labels: Callable[[], Rows] | None = None,
) -> list[TheoryLine]:
    """Return every theory line of a plan, with its values and whether its theorem applies.

    A line has values if its theorem applies to the problem, and if the values are needed. A line that is
    computed from measured values gets its values while the runs advance.

    Args:
        data: draws the data; called only if a line needs the data.
        labels: returns the labels [R, m, n] without the other data.
    """
    begin, order = partial(_untrained_descent, plan.experiment), partial(_order_of_rows, plan.experiment)
    at = At(plan.experiment, RunData(data, begin, order, labels), clocks)
    learners = {planned_learner.learner.name: planned_learner for planned_learner in plan.learners}
    return [_computed_line(planned_line, at, other_runs, learners) for planned_line in plan.lines]


def _untrained_descent(setup: Setup, data: Data, learner: Learner) -> Descent:
    loss = setup.loss.of_targets(data.targets)
    rates = len(rates_of(learner))
    return Descent(TrainingInputs(learner, data.with_variants(rates), loss, setup.run.random_streams()))


def _order_of_rows(setup: Setup) -> Order | None:
    return setup.protocol.order(setup.n, setup.run.random_streams())


def _computed_line(
    planned: PlannedLine, at: At, other_runs: Others, learners: Mapping[str, LearnerPlan]
) -> TheoryLine:
    line, on_problem, experiment = planned.line, planned.on_problem, at.experiment
    structure = line.structure()
    x, by_replica, of_curves, beyond, along = NOTHING, None, {}, None, None
    if on_problem.holds and _needs_values(line, experiment):
        x = next(iter(at.clocks.values()))
        if structure.along_runs:
            along = partial(_values_along_run, planned, at, other_runs, learners)
        elif not structure.per_learner:
            at = replace(at, indices=_index_values(line, experiment.learners[0], experiment))
            by_replica = _values_of_line(line, at).values
            beyond = _values_beyond_end(line, at)
        else:
            of_curves = _values_by_curve(planned, at, learners)
    return TheoryLine(
        statement(line, experiment if on_problem.holds else None),
        on_problem=on_problem,
        on_learners=dict(planned.on_learners),
        x=NOTHING if by_replica is None and not of_curves and along is None else x,
        values=NOTHING if by_replica is None else by_replica.mean(0),
        by_replica=by_replica if structure.per_replica else None,
        per_learner=structure.per_learner,
        of_curves=of_curves,
        along_runs=along,
        beyond=beyond,
        indices={} if by_replica is None else dict(at.indices),
    )


def _needs_values(line: Line, setup: Setup) -> bool:
    """Return whether the values of a theory line must be computed.

    The values are omitted if all of these conditions hold:

    - The line depends on the learner.
    - Not every run records the line's measure. Measures that every run records are shown without a picture.
    - At least one picture shows the line's measure.
    - No picture shows the line, divides by it, or draws a contour of it.
    """
    pictures = getattr(setup, "pictures", ())
    about = [picture.lines for picture in pictures if picture.measure.name == line.measure]
    if not (line.structure().per_learner and about) or named()[line.measure].schedule().always:
        return True
    needed = {picture.relative for picture in pictures}
    needed |= {contour.line for picture in pictures for contour in picture.contours}
    return line.kind in needed or any(lines is None or line.kind in lines for lines in about)


def _values_beyond_end(line: Line, at: At) -> Along | None:
    """Return the values of a theory line at numbers k of examples beyond the end of the run, or None.

    A picture may show where a measure passes a threshold. The theory line may pass the threshold beyond the
    end of the run, so such a picture needs these values. Without such a picture, or if training could not
    continue with further examples, the result is None.
    """
    pictures = getattr(at.experiment, "pictures", ())
    n, protocol = at.experiment.n, at.experiment.protocol
    last = int(protocol.extent(n).last)
    more = protocol.schedule().takes_all_rows and last < n
    if not more or not any(picture.reads_places for picture in pictures):
        return None
    # The first x is the last record itself, where the line has a value already.
    places = np.linspace(last, n, min(n - last, MOST_BEYOND) + 1)[1:]
    return _values_of_line(line, replace(at, clocks={"k": np.unique(places.round())}, beyond=True))


def _values_by_curve(planned: PlannedLine, at: At, learners: Mapping[str, LearnerPlan]) -> dict[str, Along]:
    of_curves = {}
    for planned_learner in learners.values():
        if planned.binds(planned_learner.learner):
            indices = _index_values(planned.line, planned_learner.learner, at.experiment)
            for curve_name, rate in planned_learner.rates_by_curve.items():
                at_curve = replace(at, indices=indices, of_learner=planned_learner.learner, of_rate=rate)
                of_curves[curve_name] = _values_of_line(planned.line, at_curve)
    return of_curves


def _values_along_run(
    planned: PlannedLine, at: At, other_runs: Others, learners: Mapping[str, LearnerPlan], curve: Curve
) -> Along | None:
    learner_plan = learners[curve.learner]
    if not planned.binds(learner_plan.learner):
        return None
    runs = other_runs.get((planned.line.kind, curve.name), {})
    records = min(curve.length, *(other_run.length for other_run in runs.values()), curve.capacity)
    at_curve = replace(
        at,
        clocks={clock: times[:records] for clock, times in at.clocks.items()},
        of_learner=learner_plan.learner,
        of_rate=learner_plan.rates_by_curve.get(curve.name),
        measured=_measured_values(curve, records),
        runs={name: _measured_values(other_run, records) for name, other_run in runs.items()},
    )
    return _values_of_line(planned.line, at_curve)


def _measured_values(curve: Curve, records: int) -> Measured:
    """Return the values [R, S] of each measure at the first S records of a curve."""
    values = {measure: curve.values(measure) for measure in curve.measures}
    return {measure: series[:records].T for measure, series in values.items() if series is not None}


def _index_values(line: Line, learner: Learner, setup: Setup) -> dict[str, Floats]:
    measure = named()[line.measure]
    return {index.name: index.values for index in measure.index(learner, setup.problem)}


def _values_of_line(line: Line, at: At) -> Along:
    records, line_values = len(next(iter(at.clocks.values()))), line.value(at)
    replicas = len(line_values) if line.structure().per_replica else 1
    shape = (replicas, records, *(len(indices) for indices in at.indices.values()))
    values = np.array(np.broadcast_to(line_values, shape), np.float64)
    return Along(dict(at.clocks), dict(at.indices), values)
