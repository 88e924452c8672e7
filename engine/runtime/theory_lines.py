"""What theory says of a run: every line that speaks of something it measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from engine.core import catalogue
from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.measures import named
from engine.problems.data import Data
from engine.problems.labels import Rows
from engine.results.trace import Along, Curve, Floats, TheoryLine
from engine.runtime.other_runs import ForLine
from engine.spec.experiment import Experiment
from engine.spec.recorded import recorded_measures
from engine.spec.setup import Setup
from engine.theory import At, Drawn, Line, Measured, Order, loss_of
from engine.training.descent import Descent, curve_name, rates_of
from engine.training.training_inputs import TrainingInputs
from engine.updates import BEST

NOTHING = np.empty(0)


Others = Mapping["ForLine", Mapping[str, Curve]]
"""The curves of the other runs that the line of a curve is made of, by the line's names for them."""


def theory_lines(
    experiment: Experiment,
    data: Callable[[], Data],
    planned: Mapping[str, Floats],
    others: Others = MappingProxyType({}),
    labels: Callable[[], Rows] | None = None,
) -> list[TheoryLine]:
    """Every line on a measure recorded here, or of which a picture has contours, with its findings.

    With values where it holds; those along runs have them once these do. The data are drawn if a line needs
    for them; `labels` [R, m, n] may be there without them.
    """
    begin, order = partial(_begun, experiment), partial(_order, experiment)
    at = At(experiment, Drawn(data, begin, order, labels), planned)
    return [_line(line, at, others) for line in lines_about(experiment)]


def lines_about(experiment: Experiment) -> list[Line]:
    """The lines on a measure recorded in an experiment, or of which a picture of it has contours."""
    recorded = {
        measure.name for learner in experiment.learners for measure in recorded_measures(experiment, learner)
    }
    drawn = {contour.line for picture in experiment.pictures for contour in picture.contours}
    every = catalogue.defaults("theory")
    about = (line for line in every if line.measure in recorded or line.kind in drawn)
    return [one for line in about for one in line.every()]


def curve_names(learner: Learner) -> dict[str, float | None]:
    """The rate of every curve of a learner by its name; None for a rate that is chosen in the end."""
    if getattr(learner.update, "lr", None) == BEST:
        return {learner.name: None}
    return {curve_name(learner, rate): rate for rate in rates_of(learner)}


def _begun(experiment: Setup, data: Data, learner: Learner) -> Descent:
    """A learner at the start that it has in the run, on its data."""
    loss = loss_of(experiment).of_targets(data.targets)
    rates = len(rates_of(learner))
    return Descent(TrainingInputs(learner, data.with_variants(rates), loss, experiment.run.random_streams()))


def _order(experiment: Setup) -> Order | None:
    """Which row is seen first, second, … in the run; None if that is their order."""
    return experiment.protocol.order(experiment.problem.matrix.shape()[0], experiment.run.random_streams())


def _line(line: Line, at: At, others: Others) -> TheoryLine:
    experiment, on_problem = at.experiment, line.on_problem(at.experiment)
    on_learners = {
        learner.name: line.judged(learner, experiment) if on_problem.holds else on_problem
        for learner in experiment.learners
    }
    x, each, of_curves, beyond, along = NOTHING, None, {}, None, None
    if on_problem.holds and _is_drawn(line, experiment):
        x = next(iter(at.clocks.values()))
        if line.along_runs:
            along = partial(_along_runs, line, at, on_learners, others)
        elif not line.per_learner:
            at = replace(at, indices=_indices(line, experiment.learners[0], experiment))
            each = _along(line, at).values
            beyond = _beyond(line, at)
        else:
            of_curves = _of_curves(line, at, on_learners)
    return TheoryLine(
        kind=line.kind,
        name=line.name,
        title=line.called,
        direction=line.direction,
        limit=line.limit,
        in_expectation=line.in_expectation,
        summary=line.about,
        running=line.running,
        formula=line.formula_in(experiment) if on_problem.holds else line.formula,
        source=line.source,
        on_problem=on_problem,
        on_learners=on_learners,
        x=NOTHING if each is None and not of_curves and along is None else x,
        values=NOTHING if each is None else each.mean(0),
        each=each if line.per_replica else None,
        measure=line.measure,
        group=line.group_in(experiment) if on_problem.holds else line.group,
        per_learner=line.per_learner,
        of_curves=of_curves,
        along_runs=along,
        beyond=beyond,
        indices={} if each is None else dict(at.indices),
    )


def _is_drawn(line: Line, experiment: Setup) -> bool:
    """Whether a line has values: one of a learner's own has none where every picture of its measure names
    its lines, and not this one, and none is relative to it or has its contour. What every run records is
    shown without a picture, too."""
    pictures = getattr(experiment, "pictures", ())
    about = [picture.lines for picture in pictures if picture.measure.name == line.measure]
    if not (line.per_learner and about) or named()[line.measure].recorded_always:
        return True
    needed = {picture.relative for picture in pictures}
    needed |= {one.line for picture in pictures for one in picture.contours}
    return line.kind in needed or any(lines is None or line.kind in lines for lines in about)


def _beyond(line: Line, at: At) -> Along | None:
    """A line where the protocol does not go, if a picture reads when it reaches something."""
    pictures = getattr(at.experiment, "pictures", ())
    n, _ = at.experiment.problem.matrix.shape()
    clocks = at.experiment.protocol.clocks_beyond(n)
    if not clocks or not any(picture.reads_places for picture in pictures):
        return None
    return _along(line, replace(at, clocks=clocks, beyond=True))


def _of_curves(line: Line, at: At, on_learners: Mapping[str, Finding]) -> dict[str, Along]:
    """The line of every curve of every learner that it binds."""
    found = {}
    for learner in at.experiment.learners:
        if on_learners[learner.name].holds:
            indices = _indices(line, learner, at.experiment)
            for name, rate in curve_names(learner).items():
                found[name] = _along(line, replace(at, indices=indices, learner=learner, rate=rate))
    return found


def _along_runs(
    line: Line, at: At, on_learners: Mapping[str, Finding], others: Others, curve: Curve
) -> Along | None:
    """The line of a curve as far as it and the runs that the line needs have come; None without one."""
    if not on_learners[curve.learner].holds:
        return None
    (learner,) = (one for one in at.experiment.learners if one.name == curve.learner)
    runs = others.get((line.kind, curve.name), {})
    records = min(curve.length, *(other.length for other in runs.values()), curve.capacity)
    here = replace(
        at,
        clocks={name: times[:records] for name, times in at.clocks.items()},
        learner=learner,
        rate=curve_names(learner).get(curve.name),
        own=_measured(curve, records),
        runs={name: _measured(other, records) for name, other in runs.items()},
    )
    return _along(line, here)


def _measured(curve: Curve, records: int) -> Measured:
    """The numbers that were measured along the first records of a curve, [R, S] each."""
    values = {name: curve.values(name) for name in curve.measures}
    return {name: each[:records].T for name, each in values.items() if each is not None}


def _indices(line: Line, learner: Learner, experiment: Setup) -> dict[str, Floats]:
    measure = named()[line.measure]
    return {index.name: index.values for index in measure.index(learner, experiment.problem)}


def _along(line: Line, at: At) -> Along:
    records, found = len(next(iter(at.clocks.values()))), line.value(at)
    replicas = len(found) if line.per_replica else 1
    shape = (replicas, records, *(len(places) for places in at.indices.values()))
    values = np.array(np.broadcast_to(found, shape), np.float64)
    return Along(dict(at.clocks), dict(at.indices), values)
