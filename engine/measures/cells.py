"""The number of hidden units of a net that are active at each point of a plane of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.activations import BENT, transfer
from engine.core.lazy import torch
from engine.core.parts import LARGEST, MOST
from engine.measures import Index, Measure, MeasureNeeds, MeasureSchedule, Probe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

Reach = Annotated[float, Meta(gt=0, le=LARGEST, title="reach", description="s and t go from −reach to reach")]
Points = Annotated[
    int, Meta(ge=2, le=257, title="points", description="number of points along s and along t")
]


class Cells(Measure, frozen=True, tag="cells"):
    """Number of active hidden units of a net at each input s e₁ + t e₂ of a plane.

    All other entries of the input are 0. The number changes by one at the boundaries where a unit switches on
    or off. These boundaries divide the plane into cells. The net is linear in each cell, and neighbouring
    cells never have the same number. s and t are spaced evenly from −reach to reach. σ must bend only at 0,
    and the net must have one output. Averaged over nets. Unit: hidden units. Source:
    theory/regions-and-random-matrices#regions.
    """

    label: ClassVar[str] = "hidden units that are on"

    reach: Reach = 2.0
    points: Points = 65

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a pass through the net for every point of the plane")

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return Index("s", self._grid_coordinates), Index("t", self._grid_coordinates)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return needs_plane(learner, problem)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return super().numbers(parameters, signals, batch) + batch * self.points * (
            3 * parameters + self.points
        )

    @property
    def _grid_coordinates(self) -> NDArray[np.float64]:
        return np.linspace(-self.reach, self.reach, self.points)

    def value(self, probe: Probe) -> torch.Tensor:
        places = torch.from_numpy(self._grid_coordinates)
        rows = [self._active_units(probe, torch.stack((place.expand_as(places), places))) for place in places]
        grid = probe.data.over_targets(torch.cat(rows, 1).mT)  # [points², R, V]
        return grid.movedim(0, -1).reshape(*grid.shape[1:], self.points, self.points)

    @staticmethod
    def _active_units(probe: Probe, inputs: torch.Tensor) -> torch.Tensor:
        """Return the number of active hidden units of every net at the inputs (s, t), [B, k].

        Args:
            inputs: first two entries of k instances, [2, k]. All other entries are 0.
        """
        layers = probe.architecture.edges(probe.tensors, slice(None), MOST)
        (weights, biases), *above = [(layer.weights.double(), layer.offsets.double()) for layer in layers]
        hidden = probe.architecture.structure().hidden_layers
        assert hidden is not None, "others are refused"
        signal = weights[:, :, :2] @ inputs.to(weights) + biases[:, :, None]
        on = (signal > 0).sum(1)
        for weights, biases in above[:-1]:
            signal = weights @ transfer(hidden.activation, signal) + biases[:, :, None]
            on += (signal > 0).sum(1)
        return on.double()


def needs_bent_net(learner: Learner) -> str | None:
    """Return None if a learner's linear pieces can be counted; otherwise, a condition that is violated.

    The learner must be a dense net with one output, and its transfer function must bend only at 0. The text
    completes the sentence "it is measured only where …".
    """
    net = learner.architecture
    structure = None if net is None else net.structure()
    hidden = None if structure is None or not structure.affine else structure.hidden_layers
    if net is None or hidden is None or net.outputs > 1:
        return "the learner is a dense net with one output"
    if hidden.activation not in BENT:
        return f"σ bends only at 0, as relu does, unlike {hidden.activation}"
    return None


def needs_plane(learner: Learner, problem: Problem) -> str | None:
    """Return None if a net's cells in a plane can be counted; otherwise, a condition that is violated.

    The conditions are those of `needs_bent_net`, and instances must have two entries or more. The text
    completes the sentence "it is measured only where …".
    """
    if (reason := needs_bent_net(learner)) is not None:
        return reason
    return None if problem.matrix.shape()[1] > 1 else "instances have two entries or more"
