"""The movement of the features of every hidden layer since the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.core.activations import transfer
from engine.core.lazy import torch
from engine.measures import MeasureNeeds, OfHiddenLayers, Probe

if TYPE_CHECKING:
    from engine.core.params import Params


class FeatureMovement(OfHiddenLayers, frozen=True, tag="feature-movement"):
    """√(mean (h_l − h_l(0))²) for the features h_l = σ(z_l) of hidden layer l = 1 … L.

    The mean is over all units of the layer and all rows. In the kernel regime, the movement goes to 0 as the
    width grows. In a wide net that learns features, it stays of order 1. Averaged over nets. Unit: that of a
    signal. Source: YH21; theory/wide-nets#mean-field.
    """

    label: ClassVar[str] = "rms change of features"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(parameters=True, start=True)

    def numbers(self, parameters: int, signals: int, batch: int) -> int:
        return 4 * batch * signals

    def value(self, probe: Probe) -> torch.Tensor:
        now, start = (
            _hidden_features(probe, probe.tensors),
            _hidden_features(probe, {**probe.tensors, **probe.start}),
        )
        moved = [(after - before).square().mean((1, 2)) for after, before in zip(now, start, strict=True)]
        return probe.data.over_targets(torch.stack(moved).sqrt()).movedim(0, -1)


def _hidden_features(probe: Probe, tensors: Params) -> list[torch.Tensor]:
    """Return the features σ(z_l) [nets, n_l, rows] of every hidden layer, for nets with these tensors."""
    hidden = probe.architecture.structure().hidden_layers
    assert hidden is not None, "others are refused"
    signals = probe.architecture.preactivations(tensors, probe.data.instances)
    return [transfer(hidden.activation, layer_signal.double()) for layer_signal in signals]
