"""The ratios of consecutive singular values of a net's Jacobian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count
from engine.measures import Index, Measure, MeasureNeeds, MeasureSchedule, Probe
from engine.measures.jacobian_spectrum import JacobianSpectrum

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class JacobianGap(Measure, frozen=True, tag="jacobian-gap"):
    """λ_j/λ_{j+1} for the singular values λ_j of J = ∂(predictions of all rows)/∂W₁, largest first.

    Suppose that the instances come from K classes with C small clusters each. Then nets with K outputs have a
    large ratio at j = K²C, and the neighbouring ratios are near 1. The ratios are measured at the start and
    at the end. If each target has its own net, the ratios are averaged over targets. Unit: none. Source:
    OFLS19; theory/parities-and-noise#mixtures.
    """

    label: ClassVar[str] = "ratio of a singular value to the next"

    most: Annotated[Count, Meta(title="how many", description="number of singular values, largest first")] = (
        50
    )

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def schedule(self) -> MeasureSchedule:
        return self._jacobian_spectrum.schedule()

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        (spectrum_index,) = self._jacobian_spectrum.index(learner, problem)
        return (Index("j", np.arange(1.0, len(spectrum_index.values))),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if lack := self._jacobian_spectrum.refuses(learner, problem):
            return lack
        (spectrum_index,) = self._jacobian_spectrum.index(learner, problem)
        return None if len(spectrum_index.values) > 1 else "there are at least two singular values"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return self._jacobian_spectrum.numbers(parameters, signals, batch)

    def value(self, probe: Probe) -> torch.Tensor:
        singular_values = probe.value(self._jacobian_spectrum)
        return singular_values[..., :-1] / singular_values[..., 1:]

    @property
    def _jacobian_spectrum(self) -> JacobianSpectrum:
        return JacobianSpectrum(most=self.most)
