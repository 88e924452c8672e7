"""The distance of a quadratic model's parameters from the limit that perturbation theory predicts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.formulas.quadratic_model import first_correction, linear_limit, modes
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class PerturbationError(Measure, frozen=True, tag="perturbation-error"):
    """‖θ − θ^F‖, or ‖θ − θ^F − εθ^I‖ if `corrected`: distance of parameters θ from a predicted limit.

    The learner is a quadratic model. The prediction for row α is Φ_αᵀθ + (ε/2) θᵀΨ_αθ, and Φ_α is column α of
    the features Φ. For `span`, the distance is measured in the span of Φ, and for `off-span`, in the
    orthogonal complement of the span.

    θ^F_t is gradient flow on the square loss of all rows for ε = 0. It has the error r_α(t) on row α, and the
    limit θ^F = Φ(ΦᵀΦ)⁻¹y. The correction εθ^I is the term of first order in ε. The component of θ^I in the
    span of Φ is −(ΦΦᵀ)⁺ Σ_α ½Φ_α θ^FᵀΨ_αθ^F. The component of θ^I orthogonal to the span is −∫ P_⊥ Σ_α Ψ_α
    θ^F_t r_α(t) dt, where P_⊥ projects onto the orthogonal complement of the span.

    For `features`, the measure is the relative error of Ψθ^F as a prediction of Ψθ, that is, ‖Ψ(θ −
    θ^F)‖/‖Ψθ^F‖. If `corrected`, θ^F in the numerator is replaced by θ^F + εθ^I. Training changes the
    features by εΨθ. Averaged over targets. Unit: that of θ, or none for `features`. Source:
    theory/curvature#quadratic-models.
    """

    label: ClassVar[str] = "distance to θ^F on the span of Φ"

    part: Annotated[
        Literal["span", "off-span", "features"],
        Meta(
            title="part",
            description="error of θ in the span of Φ, error of θ off this span, or error of the features",
        ),
    ] = "span"
    corrected: Annotated[
        bool, Meta(title="corrected", description="include the first-order correction εθ^I")
    ] = False

    @classmethod
    def every(cls) -> tuple[Measure, ...]:
        return tuple(
            cls(part=part, corrected=corrected)
            for part in ("span", "off-span", "features")
            for corrected in (False, True)
        )

    @property
    def name(self) -> str:
        return f"{self.part}-error{'-corrected' if self.corrected else ''}"

    def label_with(self, loss: str) -> str:
        if self.part == "features":
            return "relative error of Ψθ^F" + (" + εΨθ^I" if self.corrected else "")
        limit = "θ^F + εθ^I" if self.corrected else "θ^F"
        return f"distance to {limit} {'on' if self.part == 'span' else 'off'} the span of Φ"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        if net is None or net.structure().perturbation is None:
            return "the learner is a quadratic model"
        rows, columns = problem.matrix.size()
        size = net.layout(columns).shapes["theta"][0]
        if rows > min(columns, size):
            return "a linear model can fit all rows: there are enough features and parameters"
        return None

    def bytes_held(self, sizes: Sizes) -> int:
        return DERIVED * 4 * sizes.nets * sizes.parameters

    def value(self, probe: Probe) -> torch.Tensor:
        instances, parameters = probe.data.instances, probe.tensors
        rows = _as_float64(instances.rows) / math.sqrt(instances.d)  # [R, n, d]
        theta, features, Psi = (_as_float64(parameters[name]) for name in ("theta", "Phi", "Psi"))
        rows = rows.repeat(len(theta) // len(rows), 0)
        # numpy does not split small products among threads; splitting would cost more than the products.
        matrices = (rows @ Psi.reshape(*Psi.shape[:2], -1)).reshape(*rows.shape[:2], *Psi.shape[2:])
        linear = modes(features @ rows.swapaxes(1, 2))
        labels = _as_float64(probe.data.labels)
        limit = linear_limit(linear, labels)
        missed = theta - limit
        if self.corrected:
            epsilon = probe.architecture.structure().perturbation
            assert epsilon is not None, "refuses() admits no other architecture"
            missed = missed - epsilon * first_correction(linear, matrices, labels)
        if self.part == "features":
            change, predicted = (np.einsum("bnpq,bq->bnp", matrices, vector) for vector in (missed, limit))
            errors = _euclidean_lengths(change) / _euclidean_lengths(predicted)
        else:
            on_span = linear.on_span(missed)
            errors = _euclidean_lengths(on_span if self.part == "span" else missed - on_span)
        return probe.data.over_targets(torch.as_tensor(errors)[None])[0]


def _euclidean_lengths(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(vectors.reshape(len(vectors), -1), axis=1))


def _as_float64(tensor: torch.Tensor) -> np.ndarray:
    return np.asarray(tensor.double().cpu().numpy())
