"""The largest eigenvalues of the Hessian of a training loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.memory import DERIVED
from engine.core.parts import Count
from engine.hypotheses.curvature import GRAPH, TOGETHER, WHOLE, top_eigenpairs
from engine.measures import Index, Measure, MeasureNeeds, MeasureSchedule, Probe

if TYPE_CHECKING:
    from engine.core.memory import Sizes
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

COPIES = 4
"""Memory for the eigenvectors, in multiples of the size of the Hessian."""

Scale = Literal["one", "largest", "next"]

LABELS: dict[Scale, str] = {
    "one": "eigenvalue of the Hessian",
    "largest": "eigenvalue of the Hessian over the largest",
    "next": "eigenvalue of the Hessian over the next one",
}


class HessianSpectrum(Measure, frozen=True, tag="hessian-spectrum"):
    """λ_1 ≥ λ_2 ≥ …: the largest eigenvalues of the Hessian ∇²L of the training loss.

    L is the mean loss over the rows seen so far, or over all training rows in the protocol `steps`. L
    includes the L2 penalty of the net, if any. λ_1 is the sharpness. With `scale` = largest, the values are
    λ_j/λ_1. With `scale` = next, they are the ratios λ_j/λ_{j+1}, which are large at gaps in the spectrum.
    The Hessian is with respect to all parameters of a net. Several nets count as one net if a joint loss
    couples them. For example, m neurons with cross-entropy are one softmax regression.

    For up to 1000 parameters, all eigenvalues are computed. For more, ARPACK's Lanczos method computes the
    largest eigenvalues from products ∇²L v. For j beyond the number of parameters, the value is NaN. Measured
    at the start and at the end, averaged over nets. Unit: that of a loss over a squared parameter, or none
    for ratios. Source: Papyan 2020; theory/curvature#hessian.
    """

    label: ClassVar[str] = LABELS["one"]

    most: Annotated[Count, Meta(title="how many", description="number of eigenvalues, largest first")] = 30

    scale: Annotated[
        Scale,
        Meta(
            title="scale",
            description="one: unscaled; largest or next: divided by the largest or the next eigenvalue",
        ),
    ] = "one"

    def label_with(self, loss: str) -> str:
        return LABELS[self.scale]

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, curvature=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(
            expensive="a computation of the eigenvalues of the Hessian of every net", ends_only=True
        )

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        last = self.most - 1 if self.scale == "next" else self.most
        return (Index("j", np.arange(1.0, last + 1)),)

    def bytes_held(self, sizes: Sizes) -> int:
        return bytes_of_hessians(sizes)

    def value(self, probe: Probe) -> torch.Tensor:
        eigenvalues, _ = top_eigenpairs(probe.curvature, self.most)
        missing = self.most - eigenvalues.shape[1]
        eigenvalues = torch.nn.functional.pad(eigenvalues, (0, missing), value=torch.nan)
        if self.scale == "largest":
            eigenvalues = eigenvalues / eigenvalues[:, :1]
        elif self.scale == "next":
            eigenvalues = eigenvalues[:, :-1] / eigenvalues[:, 1:]
        return probe.data.over_targets(eigenvalues.T).movedim(0, -1)


def bytes_of_hessians(sizes: Sizes) -> int:
    """Return how many bytes of memory the Hessians of all nets and their autograd graphs need."""
    coupled = sizes.targets if sizes.one_hot and sizes.outputs == 1 else 1
    parameters, nets = sizes.parameters * coupled, -(-sizes.nets // coupled)
    graph = GRAPH * TOGETHER * sizes.signals * sizes.nets
    return DERIVED * (nets * COPIES * min(parameters, WHOLE) * parameters + graph)
