"""Sharpness: the largest eigenvalue of the Hessian of the training loss."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.hypotheses.curvature import EXACT, GRAPH, KRYLOV, MOST_NUMBERS, STEPS, TOGETHER, largest_near
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, Probe


class Sharpness(Measure, frozen=True, tag="sharpness"):
    """The sharpness S = λ_max(∇²L), the largest eigenvalue of the Hessian of the training loss.

    L is the mean loss over the rows seen so far, or over all training rows in the protocol `steps`. The
    square loss in L is (ŷ − y)², without a factor ½. Gradient descent at rate η is stable if S < 2/η, with or
    without a factor ½ in L. The Hessian is with respect to all parameters of a net, and S is averaged over
    nets. If a net has several outputs, L is the sum of their losses. An L2 penalty λ on all parameters adds λ
    to S. The measure has no value before the first example.

    For up to 100 parameters, S is computed from all eigenvalues of the Hessian. For more parameters, the
    Lanczos method computes S and its unit eigenvector v, until ‖∇²L v − S v‖ ≤ 10⁻³ S. The method starts near
    the eigenvectors of the previous evaluation point. Unit: that of a loss over a squared parameter. Source:
    Cohen et al. 2021; theory/wide-nets#conventions-of-the-lectures, theory/curvature#edge-of-stability.
    """

    label: ClassVar[str] = "sharpness"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, curvature=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="tens of products of the Hessian of every net with vectors")

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        if parameters <= EXACT:
            return batch * (4 * parameters**2 + GRAPH * TOGETHER * signals)
        together = min(STEPS * batch * parameters, MOST_NUMBERS) + GRAPH * batch * signals
        return batch * (3 * parameters + 3 * signals) + (KRYLOV + 10) * parameters + together

    def value(self, probe: Probe) -> torch.Tensor:
        eigenvalues, probe.last[self] = largest_near(probe.curvature, probe.last.get(self))
        sharpness = eigenvalues.to(probe.data.labels.device)
        return probe.data.over_targets(sharpness[None])[0]
