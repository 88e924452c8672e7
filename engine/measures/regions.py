"""The number of cells into which a net cuts a plane of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.formulas import linear_pieces
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, Probe
from engine.measures.cells import needs_plane
from engine.measures.pieces import nets_of, slopes_of

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Regions(Measure, frozen=True, tag="regions"):
    """Number of cells in the plane of inputs s e₁ + t e₂. Inside a cell, no unit switches on or off.

    Entries 3, 4, … of these inputs are 0. Cells are counted exactly on the whole plane, up to rounding at
    10⁻¹². On each cell of the layers below, the signals of a layer's units are linear, so these units cut the
    cell along straight lines. σ must bend only at 0. Averaged over targets. Source: Zaslavsky 1975;
    theory/regions-and-random-matrices#regions.
    """

    label: ClassVar[str] = "cells of the plane"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a test of each cell of the plane for each unit of a net")

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return needs_plane(learner, problem)

    def value(self, probe: Probe) -> torch.Tensor:
        slopes = slopes_of(probe)
        counts = [
            linear_pieces.cells([(first[:, :2], biases), *above], slopes)
            for (first, biases), *above in nets_of(probe)
        ]
        return probe.data.over_targets(torch.tensor([counts], dtype=torch.float64))[0]
