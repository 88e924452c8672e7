"""The singular values of the Jacobian of a net's predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.layer_signals import LayerSignals
from engine.core.lazy import torch
from engine.core.parts import Count
from engine.measures import Index, Measure, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class JacobianSpectrum(Measure, frozen=True, tag="jacobian-spectrum"):
    """λ_1 ≥ λ_2 ≥ …: the singular values of J = ∂(predictions of all rows)/∂W₁, n·K × h·d for K outputs.

    From the eigenvalues of J Jᵀ = Σ_u (∂ŷ/∂z_u)(∂ŷ/∂z_u)ᵀ ⊙ X Xᵀ, z = W₁ x, u = 1 … h: directions of the
    labels that a step on W₁ moves far, and those that it hardly moves. Those below √eps of the largest are
    rounding. Averaged over targets. Unit: that of a prediction over that of a weight. Source: OFLS19;
    theory-bias.md §§45, 46.
    """

    label: ClassVar[str] = "singular value of the Jacobian"
    of_parameters: ClassVar[bool] = True
    expensive: ClassVar[bool] = True

    most: Annotated[Count, Meta(title="how many", description="of the largest singular values")] = 50

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        outputs = 1 if learner.architecture is None else learner.architecture.outputs
        count = min(self.most, outputs * problem.matrix.shape()[0])
        return (Index("j", np.arange(1.0, count + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        return None if net is not None and net.hidden_layers is not None else "the learner is a dense net"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        data, outputs = probe.data, probe.architecture.outputs
        layers = [self._first_layer(probe, output) for output in range(outputs)]
        found = []
        for inputs, *back in zip(layers[0].inputs, *(layer.back for layer in layers), strict=True):
            each, x = torch.cat(back, 1).double(), inputs.double()  # [h, Kn] and [d, n]
            gram = each.T @ each
            gram *= (x.T @ x).repeat(outputs, outputs)
            largest = torch.linalg.eigvalsh(gram).flip(0)[: self.most]
            found.append(largest.clamp(min=0).sqrt())
        return data.over_targets(torch.stack(found, 1)).movedim(0, -1)

    def _first_layer(self, probe: Probe, output: int) -> LayerSignals:
        """What goes into the first layer, and the slopes of one output by what it makes of that."""

        def sent(predictions: torch.Tensor) -> torch.Tensor:
            alone = torch.zeros_like(predictions)
            alone[output :: probe.architecture.outputs] = 1
            return alone

        return probe.architecture.through(probe.tensors, probe.data.instances, sent)["W1"]
