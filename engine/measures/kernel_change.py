"""The relative change of a net's kernel since the start of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.activations import transfer
from engine.core.lazy import torch
from engine.hypotheses.curvature import tangent_kernels
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.core.params import Params
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class KernelChange(Measure, frozen=True, tag="kernel-change"):
    """‖K − K₀‖_F/‖K₀‖_F over all rows: the relative change of a net's kernel K since the start of training.

    With `tangents`, K = Σ_l r_l J_l J_lᵀ, J_l = ∂ŷ/∂W_l, summed over all trained tensors. Here r_l is the
    factor by which the parametrisation multiplies the rate of tensor l. So K describes how a step of gradient
    descent moves the predictions. With `features`, K = HᵀH/n, where the matrix H [n, rows] holds the values
    σ(z) of the last hidden layer, which has n units. If a net learns features, both kernels change. Averaged
    over nets. Unit: none. Source: YH21; theory/wide-nets#mean-field.
    """

    of: Annotated[
        Literal["tangents", "features"],
        Meta(
            title="of",
            description="kernel of the predictions' gradients, or of the last hidden layer's units",
        ),
    ] = "tangents"

    label: ClassVar[str] = "tangent kernel change"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, start=True)

    def label_with(self, loss: str) -> str:
        return self.label if self.of == "tangents" else "feature kernel change"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        declared = None if net is None else net.structure()
        is_dense = declared is not None and declared.hidden_layers is not None and declared.layered
        return None if is_dense else "the learner is a dense net"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 6 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        kernel_of = _tangent_kernels if self.of == "tangents" else _feature_kernels
        before = kernel_of(probe, {**probe.tensors, **probe.start})
        moved = torch.linalg.matrix_norm(kernel_of(probe, probe.tensors) - before)
        return probe.data.over_targets((moved / torch.linalg.matrix_norm(before))[None])[0]


def _tangent_kernels(probe: Probe, tensors: Params) -> torch.Tensor:
    """Return the tangent kernel Σ_l r_l J_l J_lᵀ of every net with K outputs, [nets, K·n, K·n]."""
    net, instances = probe.architecture, probe.data.instances
    factors = net.layout(instances.d).rate_factors
    speeds = {layer: factors.get(layer, 1.0) for layer in net.layers}
    return torch.stack([*tangent_kernels(net, tensors, instances, speeds)])


def _feature_kernels(probe: Probe, tensors: Params) -> torch.Tensor:
    """Return the kernel HᵀH/n of the last hidden layer's features, [nets, rows, rows], for given tensors."""
    hidden = probe.architecture.structure().hidden_layers
    assert hidden is not None, "others are refused"
    signals = probe.architecture.preactivations(tensors, probe.data.instances)[-1]
    features = transfer(hidden.activation, signals.double())
    return features.mT @ features / features.shape[1]
