"""The mean squared length of the gradients of the losses of single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.measures import Measure, MeasureNeeds, Probe
from engine.problems.instances import DenseInstances

if TYPE_CHECKING:
    from engine.architectures import Architecture
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem

TOGETHER = 1 << 20
"""Largest number of gradient entries that are computed at the same time."""


class RowGradients(Measure, frozen=True, tag="row-gradients"):
    """(1/n) Σ_j ‖∇L_j‖²: the mean squared length of the gradient ∇L_j of the loss L_j of training row j.

    Gradients are with respect to all parameters of a net with one output, and do not include an L2 penalty. A
    seen row counts once for each time that training used this row. In the protocol `steps`, all training rows
    count. The measure equals ‖∇L‖² + tr C, where L is the mean loss, and C is the covariance of the gradients
    ∇L_j. With `labels` = coins, the labels are ±1 with probability ½ each, independent of the true labels.
    The measure is then the expectation over these labels. The theory line `junk-flow` is computed from the
    roots of this expectation at all steps of a run on random labels. Averaged over nets. Unit: that of a loss
    over a parameter, squared. Source: Yaida 2019; Abbe, Sandon 2020; theory/noise-of-sgd#steady-state,
    theory/parities-and-noise#parities.
    """

    labels: Annotated[
        Literal["given", "coins"],
        Meta(
            title="labels", description="given: labels of the problem; coins: the mean over random labels ±1"
        ),
    ] = "given"

    label: ClassVar[str] = "mean squared gradient of the loss of a row"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        if learner.architecture is not None and learner.architecture.outputs > 1:
            return "every net predicts a single target"
        return None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 4 * max(TOGETHER, batch * parameters) + 3 * signals

    def value(self, probe: Probe) -> torch.Tensor:
        data, predictions = probe.data, probe.predictions
        if self.labels == "given":
            squares = probe.loss.slope(predictions, data.labels).double().square()
        else:
            signs = torch.ones_like(predictions)
            both = [probe.loss.slope(predictions, side).double().square() for side in (signs, -signs)]
            squares = torch.stack(both).mean(0)
        lengths = _kernel_diagonal(probe.architecture, probe.tensors, probe.data.instances.rows)
        means = (squares * lengths * probe.counts).sum(1) / probe.counts.sum(1)
        return data.over_targets(means[None])[0]


def _kernel_diagonal(architecture: Architecture, tensors: Params, rows: torch.Tensor) -> torch.Tensor:
    """Return ‖∇ŷ_j‖² [B, n], the squared length of the prediction's gradient for every row x_j [R, n, d].

    Each row is computed as a separate member of a batch.
    """
    replicas, _, d = rows.shape
    nets = len(next(iter(tensors.values())))
    parameters = sum(tensors[layer][0].numel() for layer in architecture.layers)
    lengths = []
    for piece in torch.split(rows, max(1, TOGETHER // (nets * parameters)), 1):
        count = piece.shape[1]
        copies = {
            name: w.view(replicas, 1, -1, *w.shape[1:])
            .expand(-1, count, -1, *w.shape[1:])
            .reshape(-1, *w.shape[1:])
            for name, w in tensors.items()
        }
        alone = DenseInstances(piece.reshape(-1, 1, d))
        slopes = architecture.gradient(copies, alone, torch.ones_like)
        squares = torch.stack([slope.double().flatten(1).square().sum(1) for slope in slopes.values()]).sum(0)
        lengths.append(squares.view(replicas, count, -1).mT.reshape(nets, count))
    return torch.cat(lengths, 1)
