"""The predictions of a learner for instances with a single entry x, as a function f(x)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.lazy import torch
from engine.core.streams import Streams
from engine.measures import Index, Measure, MeasureStructure, Probe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

PLACES = 101
"""Number of inputs at which a function is evaluated if every replica draws its own instances."""


class Function(Measure, frozen=True, tag="function"):
    """f(x): the predictions for instances that have a single entry x, as a function of x.

    If all replicas have the same instances, such as equally spaced points, f is evaluated at these instances.
    Otherwise, f is evaluated at 101 equally spaced points of the interval that contains the instances. There
    must be a single target. Unit: that of a label. Source: SESS19; theory/implicit-bias#relu-interpolation,
    theory/kernels-and-entropy#kernels.
    """

    label: ClassVar[str] = "f(x)"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(of_labels=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return (Index("input", _points_of_problem(problem)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if problem.matrix.structure().span is None:
            return "instances are points of an interval, such as those of the matrix `interval`"
        return _unmet_condition(problem)

    def value(self, probe: Probe) -> torch.Tensor:
        if probe.data.span is None:
            return function(probe)[1].movedim(0, -1)
        rows = torch.from_numpy(_spaced_points(probe.data.span))[None, :, None]
        return probe.data.over_targets(probe.predict(rows).mT).movedim(0, -1)


def _points_of_problem(problem: Problem) -> NDArray[np.float64]:
    structure = problem.matrix.structure()
    if structure.points_are_fixed:
        return np.sort(problem.matrix.rows(Streams([0]))[0, :, 0])
    return np.empty(0) if structure.span is None else _spaced_points(structure.span)


def _spaced_points(span: tuple[float, float]) -> NDArray[np.float64]:
    return np.linspace(*span, PLACES)


def _unmet_condition(problem: Problem) -> str | None:
    return None if problem.target.columns(problem.matrix) == 1 else "there is one target"


def needs_fixed_points(problem: Problem) -> str | None:
    """Return None if f can be evaluated at the instances; otherwise, a condition that is violated.

    The instances must be numbers that are the same in every replica, and there must be one target. The text
    completes the sentence "it is measured only where …".
    """
    if not problem.matrix.structure().points_are_fixed:
        return (
            "instances are numbers that are the same in every replica, such as spaced points of an interval"
        )
    return _unmet_condition(problem)


def function(probe: Probe) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the instances x [n] in increasing order, and the predictions for them, [n, R, V].

    The instances have a single entry and are the same in all replicas.
    """
    x, order = probe.data.instances.rows[0, :, 0].double().sort(stable=True)
    return x, probe.data.over_targets(probe.predictions[:, order].mT)
