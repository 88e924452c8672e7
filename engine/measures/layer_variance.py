"""Layer variance: the variance of the signals that every hidden layer sends to units of the next layer."""

from __future__ import annotations

from typing import ClassVar

from engine.core.activations import transfer
from engine.core.lazy import torch
from engine.measures import OfHiddenLayers, Probe


class LayerVariance(OfHiddenLayers, frozen=True, tag="layer-variance"):
    """V_l = C_w · mean σ(z^l)²: the variance that layer l = 1 … L gives to a signal of layer l + 1.

    The mean is over the units of layer l and all rows. z^l are the signals of these units before σ. C_w is
    the variance of the weights of layer l + 1 at the start, times the number of inputs of a unit. At the
    start, V_l is the variance of a signal of layer l + 1 over draws of the weights of layer l + 1, with fixed
    biases. If the architecture's `scale` s is set, C_w = s². Averaged over targets. Source:
    theory/wide-nets#criticality.
    """

    label: ClassVar[str] = "layer variance"

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
