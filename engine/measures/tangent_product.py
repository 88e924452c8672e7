"""The tangent kernel of two inputs: the inner product of the gradients of two predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, Probe
from engine.measures.tangent_norm import TangentNorm

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class TangentProduct(Measure, frozen=True, tag="tangent-product"):
    """Θ(x, x′) = ∂ŷ(x)/∂θ · ∂ŷ(x′)/∂θ: the tangent kernel of the first two rows x and x′, averaged over nets.

    θ are all trained parameters, without the factors by which the parametrisation multiplies them. For a
    layer z = W a with b = ∂ŷ/∂z, the gradient is ∂ŷ/∂W = b aᵀ. So Θ(x, x′) is the sum of (a·a′)(b·b′) over
    layers. Unit: that of a prediction over that of a weight, squared. Source: JGH18;
    theory/wide-nets#kernel-regime.
    """

    label: ClassVar[str] = "tangent kernel Θ(x, x′)"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if (reason := TangentNorm().refuses(learner, problem)) is not None:
            return reason
        return "the matrix has two rows or more" if problem.matrix.shape()[0] < 2 else None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 4 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        layers = probe.architecture.through(
            probe.tensors, probe.data.instances.at(slice(0, 2)), torch.ones_like
        )
        products = [
            layer.inputs.double().prod(2).sum(1) * layer.back.double().prod(2).sum(1)
            for layer in layers.values()
        ]
        return probe.data.over_targets(torch.stack(products).sum(0)[None])[0]
