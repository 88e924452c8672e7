"""Layer variance: the variance that every hidden layer gives to the next layer's signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.activations import transfer
from engine.core.lazy import torch
from engine.measures import Index, Measure, MeasureNeeds, Probe

if TYPE_CHECKING:
    from engine.learners.learner import Learner
    from engine.problems.problem import Problem


class LayerVariance(Measure, frozen=True, tag="layer-variance"):
    """V_l = C_w · mean σ(z^l)²: the variance that layer l = 1 … L gives to a signal of layer l + 1.

    The mean is over the units of layer l and all rows, z^l are the signals of the units before σ, and C_w is
    that of layer l + 1. Over draws of the weights of layer l + 1 alone, V_l (plus C_b) is the variance of its
    signals at the start. If `scale` s is set, C_w = s². Averaged over targets. Source: theory-nets.md §24.
    """

    label: ClassVar[str] = "layer variance"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True)

    def index(self, learner: Learner, problem: Problem) -> tuple[Index, ...]:
        hidden = None if learner.architecture is None else learner.architecture.structure().hidden_layers
        layers = 0 if hidden is None else len(hidden.next_variances)
        return (Index("layer", np.arange(1.0, layers + 1)),)

    def refuses(self, learner: Learner, problem: Problem) -> str | None:
        net = learner.architecture
        hidden = None if net is None else net.structure().hidden_layers
        return "the learner is a dense net" if hidden is None else None

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 3 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        data, net = probe.data, probe.architecture
        hidden = net.structure().hidden_layers
        assert hidden is not None, "others are refused"
        signals = net.preactivations(probe.tensors, data.instances)
        squares = [transfer(hidden.activation, signal).double().square().mean((1, 2)) for signal in signals]
        of_next = torch.tensor(hidden.next_variances)[:, None].to(squares[0])
        variances = torch.stack(squares) * of_next  # [L, B]
        return data.over_targets(variances).movedim(0, -1)
