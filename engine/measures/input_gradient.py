"""The squared derivatives of a prediction with respect to the entries of its instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.derivatives import vector_jacobian
from engine.core.lazy import torch
from engine.measures import Index, Measure, MeasureNeeds, Probe
from engine.problems.instances import DenseInstances

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class InputGradient(Measure, frozen=True, tag="input-gradient"):
    """(∂ŷ/∂x_p)²: squared derivative of a prediction by entry p = 1 … d of its instance.

    In a ReLU net, ∂ŷ/∂x_p is a sum over paths from input p to the output. Each path on which all units are
    active contributes the product of its weights. Averaged over rows and nets. Unit: that of a prediction
    over that of an entry, squared. Source: HN20; theory/regions-and-random-matrices#paths.
    """

    label: ClassVar[str] = "(∂ŷ/∂x_p)²"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, coordinates=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return (Index("p", np.arange(1.0, problem.matrix.shape()[1] + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        return "the learner is a net with one output" if net is None or net.outputs > 1 else None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        replicas, rows = probe.data.replicas, probe.data.instances.rows
        members = len(probe.data.labels) // replicas
        rows = rows.repeat_interleave(members, 0)
        with torch.enable_grad():
            rows.requires_grad_()
            predictions = probe.architecture.predict(probe.tensors, DenseInstances(rows))
        (slopes,) = vector_jacobian([predictions], [torch.ones_like(predictions)], [rows])
        return probe.data.over_targets(slopes.double().square().mean(1).T).movedim(0, -1)
