"""The distance of the tangent kernel of a net from its value at the start, or from its mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from engine.core.activations import slope
from engine.core.lazy import torch
from engine.formulas import wide_nets
from engine.hypotheses.curvature import tangent_kernels
from engine.measures import Measure, MeasureNeeds, Probe
from engine.measures.jacobian_spectrum import FIRST_LAYER

if TYPE_CHECKING:
    from engine.core.params import Params
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class KernelDistance(Measure, frozen=True, tag="kernel-distance"):
    """‖K − K₀‖₂ of tangent kernels K = J Jᵀ of all rows, J = ∂ŷ/∂W₁: now and at the start.

    The distance from the mean is ‖K − E K‖₂. The mean is over a Gaussian first layer of a net with one hidden
    layer, given its output weights a: E K_ij = x_iᵀx_j E σ′(u) σ′(v) Σ_k a_k², where u and v are the signals
    of a unit on x_i and x_j. Weights include the factors of their parametrisation. The norm is the largest
    singular value. Averaged over nets. Unit: that of a kernel. Source: JGH18; theory-nets.md §26.
    """

    label: ClassVar[str] = "‖K − K₀‖"

    to: Annotated[
        Literal["start", "mean"], Meta(title="to", description="kernel at the start, or mean over starts")
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
        kernels = torch.stack([*_kernels(probe, probe.tensors)])
        if self.to == "start":
            references = torch.stack([*_kernels(probe, {**probe.tensors, **probe.start})])
        else:
            references = _means(probe)
        norms = torch.linalg.matrix_norm(kernels - references, 2)
        return probe.data.over_targets(norms[None])[0]


def _kernels(probe: Probe, tensors: Params) -> Iterator[torch.Tensor]:
    """Yield J Jᵀ [n, n] of every net with these tensors."""
    return tangent_kernels(probe.architecture, tensors, probe.data.instances, FIRST_LAYER)


def _means(probe: Probe) -> torch.Tensor:
    """Return E K [nets, n, n], the mean over the first layer of every net, given its output weights."""
    net, instances = probe.architecture, probe.data.instances
    hidden = net.structure().hidden_layers
    assert hidden is not None, "others are refused"
    assert hidden.first is not None, "others are refused"
    cw, cb = hidden.first
    activation, rows = hidden.activation, instances.rows.double()
    covariances = (cb + cw * rows @ rows.mT / rows.shape[2]).cpu().numpy()  # [R, n, n]
    variances = np.broadcast_to(covariances.diagonal(axis1=1, axis2=2)[..., None], covariances.shape)
    pairs = np.stack([variances, covariances, covariances, variances.swapaxes(1, 2)], -1)
    means = wide_nets.product_mean(
        lambda z: slope(activation, torch.from_numpy(z)).numpy(), pairs.reshape(-1, 2, 2)
    )
    slopes = torch.from_numpy(means.reshape(covariances.shape))
    inputs = net.through(probe.tensors, instances, torch.ones_like)["W1"].inputs.double()  # [nets, d, n]
    _, (outputs, _) = net.edges(probe.tensors, slice(None), probe.tensors["W1"].shape[1])
    squares = outputs.double().square().sum((1, 2))[:, None, None]
    slopes = slopes.to(inputs).repeat_interleave(len(inputs) // len(slopes), 0)
    return inputs.mT @ inputs * slopes * squares
