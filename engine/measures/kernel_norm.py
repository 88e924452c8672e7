"""The squared norm of the function that a kernel method has learned, in the Hilbert space of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class KernelNorm(Measure, frozen=True, tag="kernel-norm"):
    """‖f‖² in the Hilbert space of the kernel: aᵀKa for f = Σ_j a_j K(x_j, ·), and ‖θ‖² for f = θᵀφ.

    Averaged over targets. Unit: that of a label, squared. Source: theory/kernels-and-entropy#kernels.
    """

    label: ClassVar[str] = "‖f‖² in the space of the kernel"

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        of_kernel = learner.solver is not None and learner.solver.structure().of_kernel
        return None if of_kernel else "the learner is fitted by a kernel, as with the solver `kernel`"

    def value(self, probe: Probe) -> torch.Tensor:
        return probe.data.over_targets(probe.squared_norm[None])[0]
