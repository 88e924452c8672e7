"""The distance of a net's tangent kernel from its value at the start, or from its mean over starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.lazy import torch
from engine.hypotheses.curvature import tangent_kernels
from engine.hypotheses.mean_kernel import mean_kernel
from engine.measures import Measure, MeasureNeeds, Probe
from engine.measures.jacobian_spectrum import FIRST_LAYER

if TYPE_CHECKING:
    from engine.core.params import Params
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class KernelDistance(Measure, frozen=True, tag="kernel-distance"):
    """‖K − K₀‖₂ for the current tangent kernel K = J Jᵀ, J = ∂ŷ/∂W₁, on all rows, and K₀ at the start.

    With `to` = mean, the measure is ‖K − E K‖₂ for a net with one hidden layer. The mean E K is over a
    Gaussian first layer, given the output weights a: E K_ij = x_iᵀx_j E σ′(u) σ′(v) Σ_k a_k². Here u and v
    are the preactivations of a unit for x_i and x_j. The inputs x_i and the output weights a_k include the
    factors m_l of the parametrisation. The norm is the largest singular value. Averaged over nets. Unit: that
    of a kernel. Source: JGH18; theory/wide-nets#kernel-regime.
    """

    label: ClassVar[str] = "‖K − K₀‖"

    to: Annotated[
        Literal["start", "mean"],
        Meta(title="to", description="kernel at the start, or mean kernel over random first layers"),
    ] = "start"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, start=True)

    def label_with(self, loss: str) -> str:
        return self.label if self.to == "start" else "‖K − E K‖"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        declared = None if net is None else net.structure()
        hidden = None if declared is None else declared.hidden_layers
        if net is None or declared is None or hidden is None or not declared.layered or net.outputs > 1:
            return "the learner is a dense net with one output"
        if self.to == "mean" and (len(hidden.next_variances) > 1 or hidden.first is None):
            return "the net has one hidden layer with a Gaussian start"
        return None if "W1" in net.layers else "the first layer is trained"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 4 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        kernels = torch.stack([*_first_layer_kernels(probe, probe.tensors)])
        if self.to == "start":
            references = torch.stack([*_first_layer_kernels(probe, {**probe.tensors, **probe.start})])
        else:
            references = mean_kernel(probe.architecture, probe.tensors, probe.data.instances).kernels
        norms = torch.linalg.matrix_norm(kernels - references, 2)
        return probe.data.over_targets(norms[None])[0]


def _first_layer_kernels(probe: Probe, tensors: Params) -> Iterator[torch.Tensor]:
    return tangent_kernels(probe.architecture, tensors, probe.data.instances, FIRST_LAYER)
