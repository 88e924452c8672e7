"""The number of linear pieces of a net along a line of inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.activations import slope
from engine.core.lazy import torch
from engine.core.parts import MOST
from engine.formulas import linear_pieces
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, Probe
from engine.measures.cells import needs_bent_net

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


Floats = NDArray[np.float64]


class Pieces(Measure, frozen=True, tag="pieces"):
    """Number of linear pieces of a net along a line of inputs, between two instances or on the whole line.

    If instances have one entry, the two instances are the smallest and the largest one. Otherwise, they are
    the first two rows. Pieces are counted exactly, from the points at which units switch on or off, layer by
    layer. Neighbouring pieces whose slopes are equal up to 10⁻⁹ count as one piece. σ must bend only at 0.
    Averaged over targets. Source: Hanin, Rolnick 2019; theory/regions-and-random-matrices#regions.
    """

    label: ClassVar[str] = "linear pieces"
    names: ClassVar[Mapping[str, str]] = {"instances": "pieces", "line": "pieces-of-line"}

    along: Annotated[
        Literal["instances", "line"],
        Meta(title="along", description="the segment between two instances, or the whole line through them"),
    ] = "instances"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(
            expensive="a computation of the kinks of all units of every net along the line"
        )

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return cls(), cls(along="line")

    @property
    def name(self) -> str:
        return self.names[self.along]

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if (reason := needs_bent_net(learner)) is not None:
            return reason
        n, d = problem.matrix.shape()
        return "there are two instances, which determine the line" if d > 1 and n < 2 else None

    def value(self, probe: Probe) -> torch.Tensor:
        data = probe.data
        nets, slopes = list(nets_of(probe)), slopes_of(probe)
        members = len(nets) // data.replicas
        lines = [_line_through_rows(rows) for rows in data.instances.rows.double().cpu().numpy()]
        counts = []
        for number, ((weights, biases), *above) in enumerate(nets):
            line = lines[number // members]
            first = weights @ line.direction[:, None], biases + weights @ line.origin
            ends = (line.low, line.high) if self.along == "instances" else (-math.inf, math.inf)
            counts.append(linear_pieces.pieces([first, *above], slopes, *ends))
        return data.over_targets(torch.tensor([counts], dtype=torch.float64))[0]


class Segment(NamedTuple):
    """A line of inputs, origin + u · direction, through two instances at u = `low` and u = `high`."""

    origin: Floats
    direction: Floats
    low: float
    high: float


def _line_through_rows(rows: Floats) -> Segment:
    """Return the line through the first two of the instances [n, d].

    If d = 1, the line passes through the smallest instance, at `low`, and the largest one, at `high`.
    """
    if rows.shape[1] == 1:
        return Segment(np.zeros(1), np.ones(1), rows.min(), rows.max())
    return Segment(rows[0], rows[1] - rows[0], 0.0, 1.0)


def slopes_of(probe: Probe) -> tuple[float, float]:
    """Return the two slopes of the net's activation function σ: for positive and for negative inputs."""
    hidden = probe.architecture.structure().hidden_layers
    assert hidden is not None, "others are refused"
    up, down = slope(hidden.activation, torch.tensor([1.0, -1.0], dtype=torch.float64)).tolist()
    return up, down


def nets_of(probe: Probe) -> Iterator[linear_pieces.Layers]:
    """Yield the weights and biases of all layers, for one net after another."""
    layers = [
        (layer.weights.double().cpu().numpy(), layer.offsets.double().cpu().numpy())
        for layer in probe.architecture.edges(probe.tensors, slice(None), MOST)
    ]
    for number in range(len(layers[0][0])):
        yield [(weights[number], biases[number]) for weights, biases in layers]
