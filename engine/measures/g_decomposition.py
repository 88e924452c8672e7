"""The Gauss–Newton matrix of cross-entropy, decomposed by classes, pairs of classes, and rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from msgspec import Meta

from engine.core.derivatives import vector_jacobians
from engine.core.lazy import torch
from engine.core.memory import DERIVED
from engine.measures import Measure, MeasureNeeds, MeasureSchedule, MeasureStructure, Probe

if TYPE_CHECKING:
    from engine.core.memory import Sizes
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

ZERO = 1e-8
"""Singular values up to this share of the largest one are rounding errors, and do not count for the rank."""

Quantity = Literal["gap", "class-rank", "cross-rank", "overlap"]

LABELS: dict[Quantity, str] = {
    "gap": "‖sum of the parts − G‖ over ‖G‖",
    "class-rank": "rank of G_class",
    "cross-rank": "rank of G_cross",
    "overlap": "overlap of the top eigenspaces of G and G_class",
}


class GDecomposition(Measure, frozen=True, tag="g-decomposition"):
    """G = G_class + G_cross + G_within + G_same: decomposition of the Gauss–Newton matrix of cross-entropy.

    G = (1/n) Σ_i J_iᵀ (diag p_i − p_i p_iᵀ) J_i over all n rows i, with J_i = ∂ŷ_i/∂θ and the softmax p_i.
    Let c be the class of row i, and g_{ic′} the gradient of the loss of row i if its class were c′. Then G =
    Σ_{i,c′} w_{ic′} g_{ic′} g_{ic′}ᵀ with the weights w_{ic′} = p_{ic′}/n. G_same is the sum of the terms
    with c′ = c. For c′ ≠ c, g_cc′ is the mean of g_{ic′} over the rows i of class c, with the weights
    w_{ic′}. g_c is the mean of g_{ic′} over the rows i of class c and over all c′ ≠ c, also with the weights
    w_{ic′}. G_class is the sum of w_{ic′} g_c g_cᵀ over all rows i and all c′ ≠ c. G_cross is the same sum
    with g_cc′ − g_c in place of g_c. G_within is the same sum with g_{ic′} − g_cc′ in place of g_c.

    `gap` is ‖sum of the parts − G‖_F/‖G‖_F. For C classes, the rank of G_class is at most C, and the rank of
    G_cross is at most C(C − 2). `overlap` is tr(P P′)/C, where P and P′ project onto the top C eigenvectors
    of G and of G_class. The learner must be a single net with C outputs. Averaged over nets. Unit: none.
    Source: Papyan 2020; theory/curvature#collapse.
    """

    label: ClassVar[str] = LABELS["gap"]

    quantity: Annotated[
        Quantity,
        Meta(
            title="quantity",
            description="gap of the decomposition, rank of a part, or overlap of eigenspaces",
        ),
    ] = "gap"

    def label_with(self, loss: str) -> str:
        return LABELS[self.quantity]

    def structure(self) -> MeasureStructure:
        return MeasureStructure(is_integer=self.quantity.endswith("rank"))

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def schedule(self) -> MeasureSchedule:
        return MeasureSchedule(expensive="a computation of the gradients of all predictions of every net")

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if not problem.one_hot:
            return "labels are one-hot, with one target for each class"
        classes = problem.target.columns(problem.matrix)
        if learner.architecture is None or learner.architecture.outputs != classes:
            return "the learner is a net with an output for each class"
        shapes = learner.architecture.layout(problem.matrix.shape()[1]).shapes
        parameters = sum(math.prod(shapes[layer]) for layer in learner.architecture.layers)
        return None if parameters >= classes else "the net has at least as many parameters as classes"

    def bytes_held(self, sizes: Sizes) -> int:
        gradients = 3 * sizes.nets * sizes.outputs * sizes.n * sizes.parameters
        return DERIVED * (gradients + 6 * sizes.parameters**2)

    def value(self, probe: Probe) -> torch.Tensor:
        shape = (-1, probe.architecture.outputs, probe.data.instances.n)
        chances = torch.softmax(probe.predictions.double().view(shape), 1)
        labels = probe.data.labels.view(shape).argmax(1)
        nets = zip(_jacobians_of_nets(probe), chances, labels, strict=True)
        numbers = [self._value_of_net(jacobian, chance, classes) for jacobian, chance, classes in nets]
        return probe.data.over_targets(torch.tensor(numbers, dtype=torch.float64)[None])[0]

    def _value_of_net(self, jacobian: torch.Tensor, chances: torch.Tensor, classes: torch.Tensor) -> float:
        """Return the value of the measure for one net.

        Args:
            jacobian: J = ∂ŷ/∂θ, [C, n, P].
            chances: softmax p of every row, [C, n].
            classes: class of every row, [n].
        """
        if not jacobian.isfinite().all():
            return math.nan
        roots = _roots_of_parts(jacobian, chances, classes)
        match self.quantity:
            case "class-rank":
                return _numerical_rank(roots.of_classes)
            case "cross-rank":
                return _numerical_rank(roots.of_pairs)
            case "gap":
                matrix = _gauss_newton(jacobian, chances)
                return float(
                    torch.linalg.matrix_norm(sum(root.T @ root for root in roots) - matrix)
                    / torch.linalg.matrix_norm(matrix)
                )
            case "overlap":
                count = len(chances)
                tops = torch.linalg.eigh(_gauss_newton(jacobian, chances))[1][:, -count:]
                tops_of_classes = torch.linalg.svd(roots.of_classes, full_matrices=False)[2].T
                return float((tops.T @ tops_of_classes).square().sum() / count)


class Roots(NamedTuple):
    """Square roots of the four parts into which the Gauss–Newton matrix G is decomposed.

    The root of a part is a matrix A [rows, P] for which AᵀA equals the part.
    """

    of_classes: torch.Tensor
    of_pairs: torch.Tensor
    within: torch.Tensor
    same: torch.Tensor


def _jacobians_of_nets(probe: Probe) -> torch.Tensor:
    """Return ∂ŷ/∂θ of every net in float64, [nets, C, n, P]."""
    net, count, n = probe.architecture, probe.architecture.outputs, probe.data.instances.n
    leaves = {layer: probe.tensors[layer].detach().requires_grad_() for layer in net.layers}
    with torch.enable_grad():
        predictions = net.predict({**probe.tensors, **leaves}, probe.data.instances).view(-1, count * n)
    unit = torch.eye(count * n, dtype=predictions.dtype, device=predictions.device)
    units = unit[:, None].expand(-1, len(predictions), -1)
    slopes = vector_jacobians([predictions], [units], list(leaves.values()))
    jacobian = torch.cat([slope.flatten(2) for slope in slopes], 2).movedim(0, 1).double()
    return jacobian.view(len(predictions), count, n, -1)


def _gauss_newton(jacobian: torch.Tensor, chances: torch.Tensor) -> torch.Tensor:
    """Return the Gauss–Newton matrix (1/n) Σ_i J_iᵀ (diag p_i − p_i p_iᵀ) J_i of one net, [P, P]."""
    means = (chances[..., None] * jacobian).sum(0)  # [n, P]
    scaled = (chances.sqrt()[..., None] * jacobian).flatten(0, 1)  # [C·n, P]
    return (scaled.T @ scaled - means.T @ means) / len(means)


def _roots_of_parts(jacobian: torch.Tensor, chances: torch.Tensor, classes: torch.Tensor) -> Roots:
    """Return matrices A with AᵀA = G_class, G_cross, G_within and G_same, for one net."""
    count, n = chances.shape
    gradients = (chances[..., None] * jacobian).sum(0) - jacobian  # [c′, n, P]
    weights = chances / n  # [c′, n]
    members = torch.nn.functional.one_hot(classes, count).T.to(weights)  # [c, n]
    off_diagonal = (1 - torch.eye(count)).to(weights)
    of_pairs = off_diagonal * (members @ weights.T)  # [c, c′]
    sums = torch.einsum("cn,dn,dnp->cdp", members, weights, gradients)
    means = sums / (members @ weights.T)[..., None]  # g_cc′
    of_classes = of_pairs.sum(1)
    class_means = (of_pairs[..., None] * means).sum(1) / of_classes[:, None]  # g_c
    labelled = members > 0  # [c′, n], whether c′ is the label of the row
    spread = weights.where(~labelled, 0.0).sqrt()[..., None] * (gradients - means[classes].movedim(0, 1))
    return Roots(
        of_classes.sqrt()[:, None] * class_means,
        (of_pairs.sqrt()[..., None] * (means - class_means[:, None])).flatten(0, 1),
        spread.flatten(0, 1),
        weights[labelled].sqrt()[:, None] * gradients[labelled],
    )


def _numerical_rank(root: torch.Tensor) -> int:
    singular_values = torch.linalg.svdvals(root)
    return int((singular_values > ZERO * singular_values[0]).sum())
