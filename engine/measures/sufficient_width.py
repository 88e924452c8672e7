"""The width above which the proof of the kernel regime holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.hypotheses.mean_kernel import mean_kernel
from engine.measures import Measure, MeasureSchedule, Probe
from engine.measures.kernel_distance import KernelDistance

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class SufficientWidth(Measure, frozen=True, tag="sufficient-width"):
    """256 m⁴ X⁸ C³ L/λ₀⁴ for m rows: the width above which a net provably stays in the kernel regime.

    L is the current square loss, without ½. The proof is about the value at the start. K is the tangent
    kernel of the first layer, and λ₀ is the least eigenvalue of E K, the mean of K over random first layers.
    X is the largest length of a row, times the scale factor of the first layer's inputs. C = Σ_k a_k² for the
    output weights a_k. Both X and C are 1 in the NTK parametrisation, for rows of length √d and a_k =
    ±1/√units. Above this width, the bound Δ* on the movement of a unit (`lazy-movement`) is at most λ₀/(8m X³
    C). If the least eigenvalue of K is at least ¾λ₀ at the start, this eigenvalue then stays above λ₀/2. The
    proof assumes |σ′|, |σ″| ≤ 1. Averaged over nets. Unit: number of units. Source: DLL19;
    theory/wide-nets#kernel-regime.
    """

    label: ClassVar[str] = "sufficient width"

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a numerical integral for each pair of rows", ends_only=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return KernelDistance(to="mean").refuses(learner, problem)

    def value(self, probe: Probe) -> torch.Tensor:
        mean = mean_kernel(probe.architecture, probe.tensors, probe.data.instances)
        rows = mean.kernels.shape[1]
        errors = probe.predictions.double() - probe.data.labels.double()
        losses = errors.square().mean(1)
        lengths, sizes = mean.input_lengths.amax(1), mean.output_weights.square().sum(1)
        widths = 256 * rows**4 * lengths**8 * sizes**3 * losses / mean.least_eigenvalues**4
        return probe.data.over_targets(widths[None])[0]
