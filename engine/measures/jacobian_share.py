"""The share of the labels or the residual along the leading singular vectors of a net's Jacobian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count
from engine.hypotheses.curvature import largest_eigenpairs
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, Probe
from engine.measures.jacobian_spectrum import kernels_of_seen, seen_by_net

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


LABELS = {
    "residual": "projection over start residual",
    "labels": "projected share of labels",
    "start-residual": "projected share of start residual",
}
"""Labels of axes by the vector that is projected."""


class LeftSingular(Measure, frozen=True):
    """The largest singular values of J = ∂(predictions of the rows seen)/∂W₁ and their left singular vectors.

    The array is [nets, 1 + K·n, m]. For each net, the first row holds the m singular values. Below each
    singular value is its left singular vector, output by output, with 0 on unseen rows. Values beyond the
    rank of J are 0. This measure is only for use by other measures.
    """

    directions: int

    def value(self, probe: Probe) -> torch.Tensor:
        of_nets = []
        predictions = probe.architecture.outputs * probe.data.instances.n
        for numbers, kernel in kernels_of_seen(probe):
            eigenvalues, vectors = largest_eigenpairs(kernel, self.directions)
            packed = kernel.new_zeros(1 + predictions, self.directions)
            packed[0, : len(eigenvalues)] = eigenvalues.sqrt()
            packed[1 + numbers, : len(eigenvalues)] = vectors
            of_nets.append(packed)
        return torch.stack(of_nets)


class OfJacobian(Measure, frozen=True):
    """Base class of measures that project vectors onto the leading left singular vectors of the Jacobian."""

    directions: Annotated[
        Count,
        Meta(
            title="directions m",
            description="number of left singular vectors that span the information space",
        ),
    ] = 1

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(
            expensive="a computation of the eigenvectors of J Jᵀ for the Jacobian J of every net"
        )

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        if net is None or not net.structure().layered or "W1" not in net.layers:
            return "the learner is a dense net"
        if net.outputs * problem.matrix.shape()[0] < self.directions:
            return f"there are at least {self.directions} predictions"
        return None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * signals

    def over_nets(self, of_nets: torch.Tensor, probe: Probe) -> torch.Tensor:
        """Return the means [R, V] of numbers [nets] over the nets of each replica and variant."""
        data = probe.data
        return of_nets.view(data.replicas, data.variants, -1).mean(2)


class JacobianShare(OfJacobian, frozen=True, tag="jacobian-share"):
    """‖Π v‖/‖v₀‖ for labels or a residual v: Π projects onto the information space, or its complement.

    J = ∂(predictions of the rows seen)/∂W₁ is the Jacobian. Its left singular vectors with the m largest
    singular values span the information space. Gradient descent fits the labels along these directions first.
    The orthogonal complement of the information space is the nuisance space.

    The field `jacobian` selects the Jacobian at the start or the current Jacobian. With the current Jacobian,
    the measure is computed at the start and at the end only. If `of` is residual, v is the current residual,
    and v₀ is the residual at the start. If `of` is start-residual, v and v₀ are the residual at the start. If
    `of` is labels, v and v₀ are the labels. Averaged over nets. Source: OFLS19;
    theory/parities-and-noise#nuisance-space.
    """

    label: ClassVar[str] = LABELS["residual"]

    space: Annotated[
        Literal["information", "nuisance"],
        Meta(
            title="space", description="leading singular directions of the Jacobian, or all other directions"
        ),
    ] = "information"
    of: Annotated[
        Literal["residual", "labels", "start-residual"],
        Meta(title="of", description="vector that is projected"),
    ] = "residual"
    jacobian: Annotated[
        Literal["start", "now"],
        Meta(title="Jacobian", description="Jacobian at the start, or at the current weights"),
    ] = "start"

    def label_with(self, loss: str) -> str:
        return LABELS[self.of]

    def needs(self) -> MeasureNeeds:
        return super().needs()._replace(start=True)

    def schedule(self) -> MeasureSchedule:
        return super().schedule()._replace(ends_only=self.jacobian == "now")

    def value(self, probe: Probe) -> torch.Tensor:
        singular = LeftSingular(self.directions)
        packed = probe.value(singular) if self.jacobian == "now" else probe.value_at_start(singular)
        vectors = packed[:, 1:]
        of = SeenLabels() if self.of == "labels" else Residuals()
        vector = probe.value(of) if self.of != "start-residual" else probe.value_at_start(of)
        reference = vector if self.of == "labels" else probe.value_at_start(of)
        inside = vectors @ (vectors.mT @ vector[..., None])
        part = inside if self.space == "information" else vector[..., None] - inside
        return self.over_nets(part[..., 0].norm(dim=1) / reference.norm(dim=1), probe)


class SeenLabels(Measure, frozen=True):
    """The labels [nets, K·n] of the rows seen, output by output, with 0 for all other rows.

    This measure is only for use by other measures.
    """

    def value(self, probe: Probe) -> torch.Tensor:
        return _values_of_rows_seen(probe.data.labels, probe)


class Residuals(Measure, frozen=True):
    """The residuals of the rows seen, [nets, K·n]: predictions minus labels.

    This measure is only for use by other measures.
    """

    def value(self, probe: Probe) -> torch.Tensor:
        return _values_of_rows_seen(probe.predictions - probe.data.labels, probe)


def _values_of_rows_seen(values: torch.Tensor, probe: Probe) -> torch.Tensor:
    """Reshape `values` [B, n] to one vector per net, [nets, K·n], and set entries of unseen rows to 0."""
    seen = seen_by_net(probe)
    return values.double().view(seen.shape).where(seen, 0.0).flatten(1)
