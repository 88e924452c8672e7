"""Neural collapse: the deviation of a classifier's last features from one point per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.activations import transfer
from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

Quantity = Literal["within", "spread", "angles", "weights", "centres"]

LABELS: dict[Quantity, str] = {
    "within": "NC1: within-class spread tr(Σ_W Σ_B†)/C",
    "spread": "NC1: spread ratio tr Σ_W/tr Σ_B",
    "angles": "NC2: largest |cosine + 1/(C − 1)| for C classes",
    "weights": "NC3: distance of weights from class means",
    "centres": "NC4: rows whose nearest class mean is not of the predicted class",
}


class NeuralCollapse(Measure, frozen=True, tag="neural-collapse"):
    """NC1 … NC4, which go to 0 as the features h = σ(z_L) of the last hidden layer collapse to a simplex.

    For C classes c, μ_c is the mean of the features of class c, and μ is the mean of all μ_c. M is the matrix
    with the columns μ_c − μ. The covariance within classes is Σ_W, and the covariance between classes is Σ_B
    = MMᵀ/C.

    `within` is NC1 = tr(Σ_W Σ_B†)/C, and `spread` is tr Σ_W/tr Σ_B. `angles` is NC2, the largest |cos(μ_c −
    μ, μ_c′ − μ) + 1/(C − 1)|. The mean of cos + 1/(C − 1) over pairs of classes is not used: if all μ_c − μ
    have the same length, this mean is 0, because the vectors μ_c − μ sum to 0. `weights` is NC3 = ‖W/‖W‖_F −
    Mᵀ/‖M‖_F‖_F for the weights W of the output. `centres` is NC4, the share of rows for which the class with
    the nearest mean is not the class with the largest prediction. Averaged over nets. Unit: none. Source:
    Papyan, Han, Donoho 2020; theory/curvature#collapse.
    """

    label: ClassVar[str] = LABELS["within"]

    quantity: Annotated[
        Quantity,
        Meta(title="quantity", description="within, spread: NC1; angles: NC2; weights: NC3; centres: NC4"),
    ] = "within"

    def label_with(self, loss: str) -> str:
        return LABELS[self.quantity]

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if not problem.one_hot:
            return "labels are one-hot, with one target for each class"
        net, classes = learner.architecture, problem.target.columns(problem.matrix)
        if net is None or net.structure().hidden_layers is None or net.outputs != classes:
            return "the learner is a dense net with an output for each class"
        return None if problem.matrix.shape()[0] >= classes else "there is a row of each class"

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return batch * (parameters + 4 * signals)

    def value(self, probe: Probe) -> torch.Tensor:
        net, count = probe.architecture, probe.architecture.outputs
        hidden = net.structure().hidden_layers
        assert hidden is not None, "others are refused"
        signals = net.preactivations(probe.tensors, probe.data.instances)[-1]
        features = transfer(hidden.activation, signals.double()).mT  # [nets, n, h]
        members = probe.data.labels.view(len(features), count, -1).double()  # [nets, C, n]
        members = members / members.amax(1, keepdim=True)
        means = members @ features / members.sum(2, keepdim=True)  # [nets, C, h]
        match self.quantity:
            case "weights":
                weights = probe.parameters[f"W{len(hidden.next_variances) + 1}"].double()
                deviations = _with_unit_norm(weights) - _with_unit_norm(_centred_means(means))
                numbers = torch.linalg.matrix_norm(deviations)
            case "centres":
                predictions = probe.predictions.view(members.shape).argmax(1)
                nearest = torch.cdist(features, means).argmin(2)
                numbers = (nearest != predictions).double().mean(1)
            case "angles":
                numbers = _largest_deviation(_centred_means(means))
            case _:
                around = features - members.mT @ means
                numbers = (_spread_in_units if self.quantity == "within" else _spread_ratio)(
                    around, _centred_means(means)
                )
        return probe.data.over_targets(numbers[None])[0]


def _centred_means(means: torch.Tensor) -> torch.Tensor:
    """Return the class means minus the mean of all class means: Mᵀ [nets, C, h]."""
    return means - means.mean(1, keepdim=True)


def _with_unit_norm(matrices: torch.Tensor) -> torch.Tensor:
    norms: torch.Tensor = torch.linalg.matrix_norm(matrices, keepdim=True)
    return matrices / norms


def _largest_deviation(centred: torch.Tensor) -> torch.Tensor:
    """Return the largest |cos + 1/(C − 1)| of each net, for the cosines between two of its C rows."""
    count = centred.shape[1]
    directions = centred / torch.linalg.vector_norm(centred, dim=2, keepdim=True)
    deviations = (directions @ directions.mT + 1 / (count - 1)).abs()
    largest: torch.Tensor = (deviations * (1 - torch.eye(count).to(deviations))).amax((1, 2))
    return largest


def _spread_in_units(around: torch.Tensor, centred: torch.Tensor) -> torch.Tensor:
    """Return NC1 = tr(Σ_W Σ_B†)/C [nets], for the covariances Σ_W within and Σ_B between classes.

    `around` [nets, n, h] are the features' deviations from the means of their classes. `centred` is Mᵀ, the
    centred class means.
    """
    singular_values, directions = torch.linalg.svd(centred, full_matrices=False)[1:]
    between = min(centred.shape[1] - 1, centred.shape[2])  # centred rows sum to 0
    along = around @ directions[:, :between].mT / singular_values[:, None, :between]
    mean: torch.Tensor = along.square().sum(2).mean(1)
    return mean


def _spread_ratio(around: torch.Tensor, centred: torch.Tensor) -> torch.Tensor:
    """Return the spread tr Σ_W/tr Σ_B [nets], for the same arguments as `_spread_in_units`."""
    return around.square().sum(2).mean(1) / centred.square().sum(2).mean(1)
