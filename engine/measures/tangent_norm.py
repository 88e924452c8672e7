"""The squared length of the gradient of a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class TangentNorm(Measure, frozen=True, tag="tangent-norm"):
    """Θ(x, x) = ‖∂ŷ(x)/∂θ‖²: the tangent kernel of an instance with itself, averaged over rows and nets.

    θ are all trained parameters, without the factors by which the parametrisation multiplies them. If `of`
    names a tensor, such as "W2" or "b1", θ is this tensor alone. For a layer z = W a with b = ∂ŷ/∂z, the
    gradient is ∂ŷ/∂W = b aᵀ. So Θ is the sum of ‖a‖² ‖b‖² over layers. Unit: that of a prediction over that
    of a weight, squared. Source: JGH18; theory/wide-nets#kernel-regime,
    theory/regions-and-random-matrices#paths.
    """

    label: ClassVar[str] = "‖∂ŷ/∂θ‖²"

    of: Annotated[
        Annotated[str, Meta(min_length=1, max_length=8)] | None,
        Meta(title="of", description='name of a tensor, such as "W2"; none: all trained parameters'),
    ] = None

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def label_with(self, loss: str) -> str:
        return self.label if self.of is None else f"‖∂ŷ/∂{self.of}‖²"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        if net is None or not net.structure().layered or net.outputs > 1:
            return "the learner is a net of layers z = Wa with one output"
        return None if self.of in (None, *net.layers) else f"the net has a tensor {self.of}"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 4 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        layers = probe.architecture.through(probe.tensors, probe.data.instances, torch.ones_like)
        lengths = [
            layer.inputs.double().square().sum(1) * layer.back.double().square().sum(1)
            for name, layer in layers.items()
            if self.of in (None, name)
        ]
        return probe.data.over_targets(torch.stack(lengths).sum(0).mean(1)[None])[0]
