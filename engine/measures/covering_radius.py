"""The radius of balls around a few instances that together cover all instances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.core.stopping import go_on
from engine.measures import Index, Measure, MeasureSchedule, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

MOST_BITS = 12
"""Largest number of bits b. It is small because the 2^b centres are chosen one after the other."""


class CoveringRadius(Measure, frozen=True, tag="covering-radius"):
    """r_b: the least radius for which balls around 2^b chosen centres cover all instances, b = 0, 1, ….

    The first centre is the first row. Each further centre is the instance at the largest distance from its
    nearest earlier centre. With any other choice of 2^b centres, the radius is at least r_b/2. The radius is
    a property of the instances, so all learners have the same value. Source: Gonzalez 1985;
    theory/kernels-and-entropy#entropy.
    """

    label: ClassVar[str] = "covering radius"

    bits: Annotated[
        int,
        Meta(ge=0, le=MOST_BITS, title="bits", description="largest b, at most log₂ of the number of rows"),
    ] = 10

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(
            expensive="a computation of the distances of all instances from every centre", ends_only=True
        )

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        rows, _ = problem.matrix.shape()
        return (Index("bits", np.arange(min(self.bits, int(math.log2(rows))) + 1.0)),)

    def bytes_held(self, sizes: Sizes) -> int:
        return DERIVED * 4 * sizes.replicas * sizes.n

    def value(self, probe: Probe) -> torch.Tensor:
        rows = probe.data.instances.rows.double().movedim(2, 0).contiguous()  # [d, R, n]: sums are fast
        bits = min(self.bits, int(math.log2(rows.shape[2])))
        nearest = _squared_distances(rows, rows[:, :, :1])
        radii = [nearest.amax(1).sqrt()]
        for centres in range(2, 2**bits + 1):
            go_on()
            farthest = nearest.argmax(1)[None, :, None]
            nearest = torch.minimum(nearest, _squared_distances(rows, rows.take_along_dim(farthest, 2)))
            if centres & (centres - 1) == 0:
                radii.append(nearest.amax(1).sqrt())
        by_replica = torch.stack(radii, 1)[:, None]  # [R, 1, bits + 1]
        return by_replica.expand(-1, probe.data.variants, -1)


def _squared_distances(rows: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    """Return the squared distances [R, n] of the rows [d, R, n] from a point [d, R, 1]."""
    return (rows - centre).square_().sum(0)
