"""Ridge regression on random Fourier features."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import Count, Positive, Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Solver, SolverStructure
from engine.solvers.kernel import KernelFit, bytes_of_fit, operations_of_fit


class RandomFeatures(Solver, frozen=True, tag="random-features"):
    """Ridge regression on D random features φ(x) = √(2/D) cos(ωᵀx + b): θ minimises Σ(y − θᵀφ)² + λ‖θ‖².

    ω ~ N(0, I/s²) and b uniform on [0, 2π) are drawn once per replica. φ(x)ᵀφ(x̃) has the mean exp(−‖x −
    x̃‖²/(2s²)) and deviates from it by about 1/√D. As D grows, the fit therefore tends to kernel ridge
    regression with the rbf kernel. The problem is solved in float64 in its dual form, as kernel ridge
    regression with the kernel φᵀφ̃. λ must be above 0, because the kernel matrix of more than D examples is
    singular. Source: Rahimi, Recht 2007; theory/kernels-and-entropy#kernels.
    """

    features: Annotated[
        Count, Meta(title="features D", description="number of random features, which are cosines")
    ] = 1000
    lam: Annotated[
        Positive, Meta(title="penalty λ", description="penalty on ‖θ‖², which must be above 0")
    ] = 0.1
    width: Annotated[
        Positive | None,
        Meta(title="width s", description="width of the rbf kernel; if not set, √d for d features"),
    ] = None

    def structure(self) -> SolverStructure:
        return SolverStructure(
            learner_kind="exact", linear_in_instance=False, linear_in_labels=True, of_kernel=True
        )

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Features(data, self, streams or Streams(range(data.replicas)))

    def bytes_held(self, sizes: Sizes) -> int:
        features = sizes.replicas * (2 * sizes.n + sizes.d + 1) * self.features
        return bytes_of_fit(sizes, squares=1) + DERIVED * features

    def operations(self, sizes: Sizes) -> float:
        return operations_of_fit(sizes._replace(d=self.features))

    def invariance(self) -> Verdict:
        return Verdict(True, "the random frequencies ω are Gaussian, which has no preferred direction")


class Features(KernelFit):
    """Kernel ridge regression with random features, which are different for each replica."""

    def __init__(self, dataset: Data, solver: RandomFeatures, streams: Streams) -> None:
        super().__init__(dataset, self.values, solver.lam)
        draws, d = streams("features"), dataset.instances.d
        width = solver.width or math.sqrt(d)
        frequencies, phases = draws.normal(solver.features, d) / width, draws.uniform(1, solver.features)
        self._frequencies = torch.from_numpy(frequencies).to(dataset.labels.device)  # ω [R, D, d]
        self._phases = torch.from_numpy(2 * math.pi * phases).to(dataset.labels.device)  # b [R, 1, D]

    def values(self, rows: torch.Tensor, other_rows: torch.Tensor) -> torch.Tensor:
        return (
            self._features_of(rows)
            @ (self._features_of_rows if other_rows is self._rows else self._features_of(other_rows)).mT
        )

    @cached_property
    def _features_of_rows(self) -> torch.Tensor:
        return self._features_of(self._rows)

    def _features_of(self, rows: torch.Tensor) -> torch.Tensor:
        angles = rows @ self._frequencies.mT + self._phases
        return math.sqrt(2 / self._phases.shape[2]) * angles.cos()

    def rotate(self, rotation: torch.Tensor) -> None:
        """Rotate the frequencies ω, so that rotated instances U x have the features that x had before.

        Call this method before the first example.
        """
        self._frequencies = self._frequencies @ rotation.double().T
