"""How far the large singular values of a net's Jacobian stand above the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count
from engine.measures import Measure, Probe
from engine.measures.jacobian_spectrum import JacobianSpectrum

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class JacobianGap(Measure, frozen=True, tag="jacobian-gap"):
    """λ_m/λ_{m+1} of the singular values of J = ∂(predictions of all rows)/∂W₁, largest first.

    On mixtures of K classes of C small clusters each, nets with K outputs have a gap after m = K²C. Averaged
    over targets where each has a net. Source: OFLS19; theory-bias.md §46.
    """

    label: ClassVar[str] = "gap of the Jacobian's singular values"
    of_parameters: ClassVar[bool] = True
    expensive: ClassVar[bool] = True

    after: Annotated[Count, Meta(title="after m", description="how many singular values are large")] = 1

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        spectrum = self._spectrum
        if lack := spectrum.refuses(learner, problem):
            return lack
        (index,) = spectrum.index(learner, problem)
        return None if len(index.values) > self.after else f"there are more than {self.after} singular values"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return self._spectrum.numbers(parameters, signals, batch)

    def value(self, probe: Probe) -> torch.Tensor:
        values = probe.value(self._spectrum)
        return values[..., self.after - 1] / values[..., self.after]

    @property
    def _spectrum(self) -> JacobianSpectrum:
        return JacobianSpectrum(most=self.after + 1)
