"""The singular values of the Jacobian of a net's predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count
from engine.hypotheses.curvature import tangent_kernels
from engine.measures import Index, Measure, MeasureNeeds, MeasureSchedule, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


FIRST_LAYER = {"W1": 1.0}
"""Layer factors that restrict the tangent kernel to the weights of the first layer."""


class JacobianSpectrum(Measure, frozen=True, tag="jacobian-spectrum"):
    """The singular values λ_1 ≥ λ_2 ≥ … of the Jacobian J = ∂(predictions of the rows)/∂W₁.

    For n rows of d features, h units in the first layer and K outputs, J has n·K rows and h·d columns. The
    singular values are the roots of the eigenvalues of J Jᵀ = Σ_u (∂ŷ/∂z_u)(∂ŷ/∂z_u)ᵀ ⊙ X Xᵀ, with z = W₁ x
    and units u = 1 … h. A step on W₁ moves predictions far along directions with large singular values, and
    hardly along other directions. Values below √eps times the largest value are rounding errors, and values
    beyond the rank of J are 0. The rows are all rows, or the rows seen. Measured at the start and at the end.
    Averaged over targets. Unit: that of a prediction over that of a weight. Source: OFLS19;
    theory/parities-and-noise#nuisance-space, theory/parities-and-noise#mixtures.
    """

    label: ClassVar[str] = "singular value of the Jacobian"

    most: Annotated[Count, Meta(title="how many", description="number of singular values, largest first")] = (
        50
    )

    rows: Annotated[
        Literal["all", "train"],
        Meta(title="rows", description="rows whose predictions are used: all, or rows seen"),
    ] = "all"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(
            expensive="a computation of the eigenvalues of J Jᵀ for the Jacobian J of every net",
            ends_only=True,
        )

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        outputs = 1 if learner.architecture is None else learner.architecture.outputs
        count = min(self.most, outputs * problem.matrix.shape()[0])
        return (Index("j", np.arange(1.0, count + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        hidden = None if net is None else net.structure().hidden_layers
        return "the learner is a dense net" if hidden is None else None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        kernels: Iterator[torch.Tensor]
        if self.rows == "train":
            kernels = (kernel for _, kernel in kernels_of_seen(probe))
        else:
            kernels = tangent_kernels(probe.architecture, probe.tensors, probe.data.instances, FIRST_LAYER)
        spectra = [
            torch.linalg.eigvalsh(kernel).flip(0)[: self.most].clamp(min=0).sqrt() for kernel in kernels
        ]
        count = min(self.most, probe.architecture.outputs * probe.data.instances.n)
        padded = [torch.nn.functional.pad(spectrum, (0, count - len(spectrum))) for spectrum in spectra]
        return probe.data.over_targets(torch.stack(padded, 1)).movedim(0, -1)


def kernels_of_seen(probe: Probe) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield, for each net, the indices of its predictions for rows seen, and the matrix J Jᵀ.

    J = ∂ŷ/∂W₁ is the Jacobian of these predictions ŷ with respect to the first layer. A net with K outputs
    has K·n predictions, ordered output by output. The indices are positions in this order.
    """
    instances, masks = probe.data.instances, seen_by_net(probe)
    members = len(masks) // instances.replicas
    for net, mask in enumerate(masks):
        rows = mask.any(0).nonzero()[:, 0]
        tensors = {name: tensor[net : net + 1] for name, tensor in probe.tensors.items()}
        instances_seen = instances.of_replica(net // members).pick(rows[None])
        (kernel,) = tangent_kernels(probe.architecture, tensors, instances_seen, FIRST_LAYER)
        places = mask[:, rows].flatten().nonzero()[:, 0]
        if len(places) < len(kernel):
            kernel = kernel[places][:, places]
        yield mask.flatten().nonzero()[:, 0], kernel


def seen_by_net(probe: Probe) -> torch.Tensor:
    """Return which rows have been seen, for every net and output, [nets, K, n]."""
    labels = probe.data.labels
    return (probe.counts > 0).expand_as(labels).view(-1, probe.architecture.outputs, labels.shape[1])
