"""Bound on the distance that a hidden unit's weights move during training, in the kernel regime."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.measures.loss import AverageLoss
from engine.theory import At, Floats, LineStructure
from engine.theory.lazy_loss import KernelRegime

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.measures import Measure
    from engine.spec.experiment import Setup


class LazyMovement(KernelRegime, frozen=True, tag="lazy-movement"):
    """Δ* = γ a X √L₀/(1 − e^(−γλ₀/2m)), γ = 2η: bound on the movement of a unit while L ≤ L₀ e^(−γλ₀t/m).

    `lazy-loss` defines the number m of rows, the initial loss L₀, the eigenvalue λ₀ and the bound on the loss
    L. A step moves a unit by at most γ a X √L if |σ′| ≤ 1. Here a is the size of the largest output weight. X
    is the largest length of a row, times the factor by which the parametrisation multiplies the inputs of the
    first layer. If the bound on L holds, the sum of these movements is at most a geometric series with the
    sum Δ*. For n units in the NTK parametrisation, a X = 1/√n, and small rates give 2m √L₀/(λ₀√n). The line
    has values only up to the first evaluation point at which the measured loss exceeds L₀ e^(−γλ₀t/m).
    Source: DLL19; theory/wide-nets#kernel-regime.
    """

    title: ClassVar[str] = "movement bound of the kernel regime"
    measure: ClassVar[str] = "unit-movement"
    formula: ClassVar[str] = "γ a X √L₀/(1 − e^(−γλ₀/2m)), γ = 2η"
    source: ClassVar[str] = "DLL19"

    def structure(self) -> LineStructure:
        return LineStructure(
            direction="upper",
            in_expectation=False,
            per_learner=True,
            per_replica=True,
            along_runs=True,
            needs_k_rows=False,
        )

    def measures(self, learner: Learner, experiment: Setup) -> tuple[Measure, ...]:
        return (AverageLoss(),)

    def value(self, at: At) -> Floats:
        beginning = self.beginning(at)
        mean, measured = beginning.mean, at.measured[AverageLoss().name]
        steps = mean.output_weights.abs().amax(1) * mean.input_lengths.amax(1)
        largest = beginning.rates * steps.cpu().numpy() * np.sqrt(beginning.losses)
        bounds = largest / -np.expm1(-beginning.exponents / 2)
        is_bounded = measured <= self.losses(at, beginning)[:, : measured.shape[1]] * (1 + ROUNDING)
        return np.where(np.logical_and.accumulate(is_bounded, 1), bounds[:, None], np.nan)


ROUNDING = 1e-6
"""Largest relative excess of a loss over its bound that counts as a rounding error of float32. It is needed
because loss and bound are equal at t = 0.
"""
