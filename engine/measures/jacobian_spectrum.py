"""The singular values of the Jacobian of a net's predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

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
        data, net, tensors = probe.data, probe.architecture, probe.tensors
        slopes = net.sensitivity(tensors, data.instances).double().transpose(2, 3).flatten(1, 2)  # [N, Kn, h]
        rows = data.instances.rows.double()
        products = rows @ rows.mT  # [R, n, n]
        outputs, each = net.outputs, len(slopes) // len(rows)
        found = []
        for number, slope in enumerate(slopes):
            gram = slope @ slope.T
            gram *= products[number // each].repeat(outputs, outputs)
            largest = torch.linalg.eigvalsh(gram).flip(0)[: self.most]
            found.append(largest.clamp(min=0).sqrt())
        return data.over_targets(torch.stack(found, 1)).movedim(0, -1)
