"""A histogram of the eigenvalues of the Gram matrix of the instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import LARGEST
from engine.measures import Index
from engine.measures.instance_spectrum import OfInstances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

DECIMALS = 6
"""Number of decimals to which eigenvalues are rounded. Further decimals are not significant in float32."""


class InstanceDensity(OfInstances, frozen=True, tag="instance-density"):
    """Histogram of the min(n, d) eigenvalues of XXᵀ/d: the share in each bin, divided by the bin's width.

    The bins have equal widths and cover the interval from 0 to `last`. Eigenvalues above `last` are in no
    bin. Source: theory/regions-and-random-matrices#random-matrices.
    """

    label: ClassVar[str] = "density of eigenvalues"

    bins: Annotated[int, Meta(ge=1, le=1000, title="bins", description="number of bins of equal width")] = 40
    last: Annotated[float, Meta(gt=0, le=LARGEST, title="last", description="end of the last bin")] = 4.0

    @property
    def ends(self) -> NDArray[np.float64]:
        """Boundaries of the histogram's bins, in increasing order, [bins + 1]."""
        return np.linspace(0, self.last, self.bins + 1)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return (Index("eigenvalue", (self.ends[1:] + self.ends[:-1]) / 2),)

    def of_eigenvalues(self, eigenvalues: torch.Tensor, ratio: float) -> torch.Tensor:
        # Rounding must not move the eigenvalues of orthogonal rows, which lie at the end of a bin.
        rounded = eigenvalues.double().round(decimals=DECIMALS)
        counts = [torch.histc(of_replica, self.bins, 0, self.last) for of_replica in rounded]
        width = self.last / self.bins
        return torch.stack(counts) / (eigenvalues.shape[1] * width)
