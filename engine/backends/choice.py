"""The ways to compute a course: on instances as a matrix, or on what is known of their structure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from engine.backends.tiles import LEAST
from engine.core import device as devices
from engine.core.parts import BadInput, Path
from engine.problems.data import Data
from engine.problems.instances import Dense
from engine.problems.scaled_identity import ScaledIdentity
from engine.results.invariance import verdict
from engine.runtime.asked import asked
from engine.runtime.descent import rates_of

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.learner import Learner


LARGE = 1 << 20
"""Entries of a matrix from which on an operator is faster, measured with one weight vector."""

LARGE_RECORD = 1 << 22
"""Products with them, for predictions by all weight vectors, from which on it is with many of these."""

WORTH_COMPILING = 1 << 29
"""Changes of single weights from which on the compiled loop is taken, which every process must load."""


class Way(NamedTuple):
    """How the course of a learner is computed: with which data, and with which rule in its place."""

    path: Path
    learner: Learner
    data: Data


def path_of(learner: Learner, experiment: Experiment) -> Path:
    """The path of a learner. Raises: BadInput if `run.path` forces one that there is not."""
    forced = experiment.run.path
    missing = {"structured": _without_structure, "compiled": _without_loop}
    if forced in missing and (why_not := missing[forced](learner, experiment)) is not None:
        raise BadInput("run.path", f"there is no {forced} path for {learner.name}: {why_not}; take auto")
    return _fastest(learner, experiment) if forced == "auto" else forced


def _fastest(learner: Learner, experiment: Experiment) -> Path:
    """A compiled loop pays for large runs, structure from some size on, and before for hidden units."""
    n, d = experiment.problem.matrix.shape()
    changes = vectors(learner, experiment) * d * (experiment.protocol.record_count(n) - 1)
    if changes >= WORTH_COMPILING and _without_loop(learner, experiment) is None:
        return "compiled"
    if _without_structure(learner, experiment) is not None:
        return "dense"
    assert learner.architecture is not None, "solvers have no structured path"
    hidden = _turns(learner, experiment) and learner.architecture.units > 0
    large = n * d >= LARGE or n * d * vectors(learner, experiment) >= LARGE_RECORD
    return "structured" if hidden or large else "dense"


def vectors(learner: Learner, experiment: Experiment) -> int:
    """How many weight vectors learn side by side: one for every replica, rate and target."""
    targets = experiment.problem.target.columns(experiment.problem.matrix)
    return experiment.run.replicas * len(rates_of(learner)) * targets


def way(learner: Learner, experiment: Experiment, data: Data) -> Way:
    """The way of a learner through data as they were drawn.

    On orthogonal instances a rotation-invariant learner is given a scaled identity instead, and the invariant
    counterpart of its rule where it is invariant on this data only. Others are given the rows of a Sylvester
    matrix as an operator. Both predict what the learner predicts of the matrix itself, up to rounding.

    Raises: BadInput if `run.path` forces a way that there is not.
    """
    path = path_of(learner, experiment)
    if path == "dense":
        return Way(path, learner, data if isinstance(data.instances, Dense) else data.dense())
    if path == "structured" and _turns(learner, experiment):
        if learner.update is not None:
            learner = msgspec.structs.replace(learner, update=learner.update.invariant_counterpart())
        return Way(path, learner, replace(data, instances=ScaledIdentity(data.instances), w_star=None))
    return Way(path, learner, data)


def _turns(learner: Learner, experiment: Experiment) -> bool:
    """Whether the learner does not notice when orthogonal instances become the axes."""
    return experiment.problem.matrix.is_orthogonal and verdict(learner, experiment).invariant is not False


def _without_structure(learner: Learner, experiment: Experiment) -> str | None:
    """Why a learner needs the instances as a matrix, in one sentence; None if it does not."""
    matrix = experiment.problem.matrix
    if learner.solver is not None:
        return "a solver takes the instances themselves"
    if learner.rate_unit != "one":
        return "its rates are in units of its own sharpness, over the instances themselves"
    if matrix.is_sylvester or _turns(learner, experiment):
        return None
    if matrix.is_orthogonal:
        return "it tells the features apart, and the rows are no rows of a Sylvester matrix"
    return f"the instances of {matrix.kind}, as set here, have none that is used"


def _without_loop(learner: Learner, experiment: Experiment) -> str | None:
    """Why a learner has no compiled loop here, in one sentence; None if it has."""
    problem, protocol, update = experiment.problem, experiment.protocol, learner.update
    if (
        update is None
        or learner.architecture is None
        or update.multiplicative_step(learner.architecture) is None
    ):
        return "its steps are more than one of two numbers for every weight"
    if learner.rate_unit != "one":
        return "its rates are in units of its own sharpness"
    if learner.layer_rates:
        return "its layers have rates of their own"
    if not (problem.matrix.is_sylvester and problem.matrix.entries_are_signs):
        return f"the instances of {problem.matrix.kind}, as set here, are no ±1 rows of a Sylvester matrix"
    if problem.matrix.shape()[1] < LEAST:
        return f"it takes {LEAST} features or more"
    if not problem.target.linear or problem.labels != "soft" or problem.noise > 0:
        return "labels are not linear in the instances"
    measures = asked(experiment, learner)
    if protocol.loss != "square" or any(measure.name in ("train", "unseen") for measure in measures):
        return "only square loss over all rows is measured there"
    if any(measure.of_parameters for measure in measures):
        return "no derivatives are measured there"
    if not protocol.sweeps:
        return f"{protocol.kind}, as set here, makes no steps along single examples in one pass"
    if devices.resolve(experiment.run.device) != "cpu":
        return "it runs on the processor only"
    return None
