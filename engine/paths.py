"""The ways to compute a course: on instances as a matrix, or on what is known of their structure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from engine.invariance import verdict
from engine.parts import BadInput, Path
from engine.problems.axes import Axes
from engine.problems.data import Data
from engine.problems.instances import Dense

if TYPE_CHECKING:
    from engine.experiment import Experiment, Learner


LARGE = 1 << 20
"""Entries of a matrix from which on an operator is faster, measured with one target and with all."""


class Way(NamedTuple):
    """How the course of a learner is computed: with which data, and with which rule in its place."""

    path: Path
    learner: Learner
    data: Data


def path_of(learner: Learner, experiment: Experiment) -> Path:
    """The path of a learner. Raises: BadInput if `run.path` forces one that there is not."""
    forced, why_not = experiment.run.path, _without_structure(learner, experiment)
    if forced == "structured" and why_not is not None:
        raise BadInput("run.path", f"there is no structured path for {learner.name}: {why_not}; take auto")
    if why_not is not None:
        return "dense"
    return _faster(learner, experiment) if forced == "auto" else forced


def _faster(learner: Learner, experiment: Experiment) -> Path:
    """Structure pays from some size on, and before for nets with hidden units."""
    n, d = experiment.problem.matrix.shape()
    assert learner.architecture is not None, "solvers have no structured path"
    hidden = _turns(learner, experiment) and learner.architecture.units > 0
    return "structured" if hidden or n * d >= LARGE else "dense"


def way(learner: Learner, experiment: Experiment, data: Data) -> Way:
    """The way of a learner through data as they were drawn.

    On orthogonal instances a rotation-invariant learner is given the axes instead, and the companion of its
    rule where it is invariant on this data only. Others are given the rows of a Sylvester matrix as an
    operator. Both predict what the learner predicts of the matrix itself, up to rounding.

    Raises: BadInput if `run.path` forces a way that there is not.
    """
    if path_of(learner, experiment) == "dense":
        return Way("dense", learner, data if isinstance(data.instances, Dense) else data.dense())
    if _turns(learner, experiment):
        assert learner.update is not None, "only learners with an update rule have a structured path"
        invariant = msgspec.structs.replace(learner, update=learner.update.companion())
        return Way("structured", invariant, replace(data, instances=Axes(data.instances), star=None))
    return Way("structured", learner, data)


def _turns(learner: Learner, experiment: Experiment) -> bool:
    """Whether the learner does not notice when orthogonal instances become the axes."""
    return experiment.problem.matrix.is_orthogonal and verdict(learner, experiment).invariant is not False


def _without_structure(learner: Learner, experiment: Experiment) -> str | None:
    """Why a learner needs the instances as a matrix, in one sentence; None if it does not."""
    matrix = experiment.problem.matrix
    if learner.solver is not None:
        return "a solver takes the instances themselves"
    if matrix.is_sylvester or _turns(learner, experiment):
        return None
    if matrix.is_orthogonal:
        return "it tells the features apart, and the rows are no rows of a Sylvester matrix"
    return f"the instances of {matrix.kind}, as set here, have none that is used"
