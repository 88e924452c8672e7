"""Susceptibility: the factor by which every hidden layer separates nearby inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.activations import slope
from engine.core.lazy import torch
from engine.measures import Index, Measure, MeasureNeeds, Probe
from engine.measures.layer_variance import LayerVariance

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class Susceptibility(Measure, frozen=True, tag="susceptibility"):
    """χ⊥ = C_w · mean σ′(z^l)²: factor by which layer l = 1 … L scales the squared distance of nearby inputs.

    The factor is an average over draws of the weights of layer l + 1. These weights have the variance C_w/n,
    where n is the number of units of layer l. The mean of σ′² is over the units of layer l and all rows, and
    z^l are the signals of the units before σ. If χ⊥ > 1, nearby inputs move apart from layer to layer. If χ⊥
    < 1, they come together. Averaged over targets. Source: RYH ch. 5; theory/wide-nets#criticality.
    """

    label: ClassVar[str] = "susceptibility χ⊥"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        return LayerVariance().index(learner, problem)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        return LayerVariance().refuses(learner, problem)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        data, net = probe.data, probe.architecture
        hidden = net.structure().hidden_layers
        assert hidden is not None, "others are refused"
        signals = net.preactivations(probe.tensors, data.instances)
        squares = [slope(hidden.activation, signal).double().square().mean((1, 2)) for signal in signals]
        grown = torch.stack(squares) * torch.tensor(hidden.next_variances)[:, None].to(squares[0])  # [L, B]
        return data.over_targets(grown).movedim(0, -1)
