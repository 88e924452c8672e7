"""The share of a gradient in the top eigenspace of the Hessian."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count
from engine.hypotheses.curvature import top_eigenpairs
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, Probe
from engine.measures.hessian_spectrum import bytes_of_hessians

if TYPE_CHECKING:
    from engine.core.memory import Sizes
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

ALIKE = 1e-6
"""Two float32 eigenvalues count as equal if their difference is at most this share of the largest
eigenvalue.
"""


class GradientShare(Measure, frozen=True, tag="gradient-share"):
    """‖P∇L‖²/‖∇L‖²: the share of the gradient in the top eigenspace of the Hessian of the training loss L.

    P projects onto the eigenvectors of the `directions` largest eigenvalues of ∇²L. L and the method for
    eigenvectors are those of the measure `hessian-spectrum`. Nets that a joint loss couples count as one net.
    The gradient is that of the whole training loss, even if training steps use mini-batches. The share is NaN
    if the gradient is 0, or if the smallest selected eigenvalue equals the next one. Averaged over nets.
    Unit: none. Source: Gur-Ari, Roberts, Dyer 2018; Song, Ahn, Yun 2025; theory/curvature#hessian.
    """

    label: ClassVar[str] = "share of the gradient in the top eigenspace"

    directions: Annotated[
        Count, Meta(title="directions", description="number of eigenvectors, largest eigenvalues first")
    ] = 1

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, curvature=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a computation of the eigenvectors of the Hessian of every net")

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if learner.architecture is None:
            return None
        shapes = learner.architecture.layout(problem.matrix.shape()[1]).shapes
        parameters = sum(math.prod(shapes[layer]) for layer in learner.architecture.layers)
        least = self.directions
        return f"a net has {least} parameters or more" if parameters < least else None

    def bytes_held(self, sizes: Sizes) -> int:
        return bytes_of_hessians(sizes)

    def value(self, probe: Probe) -> torch.Tensor:
        gradient, count = probe.curvature.gradient.double(), self.directions
        eigenvalues, vectors = top_eigenpairs(probe.curvature, min(count + 1, probe.curvature.size))
        along = (vectors[:, :, :count].mT @ gradient[:, :, None])[:, :, 0].square().sum(1)
        shares = along / gradient.square().sum(1)
        if count < probe.curvature.size:
            gaps = eigenvalues[:, count - 1] - eigenvalues[:, count]
            shares = shares.where(gaps > ALIKE * eigenvalues[:, 0].abs(), torch.nan)
        return probe.data.over_targets(shares[None])[0]
