"""The distribution of a fully connected net at its start on a single instance, drawn layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, HiddenLayers, Layout, Signals, Start
from engine.core.activations import Activation, transfer
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LARGEST, MOST_LAYERS, Count, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class LayerByLayer(Architecture, frozen=True, tag="layer-by-layer"):
    """A dense net at its start, as one instance sees it: z^{l+1} = √(C_b + C_w mean σ(z^l)²) g_{l+1}.

    g_l ~ N(0, I) has one entry for each unit of layer l, and z¹ has ‖x‖²/d in place of the mean: given a
    layer, the signals of the next are independent N(0, C_b + C_w mean σ²). For a single instance this is
    exactly the law of a fully connected net with Gaussian weights, at n numbers a layer instead of n². For
    several instances it holds for each one separately, but not jointly. Training changes the g_l, which are
    not weights of a net. Source: theory-nets.md §0.
    """

    depth: Annotated[int, Meta(ge=1, le=MOST_LAYERS, title="depth L", description="hidden layers")] = 3
    width: Annotated[Count, Meta(title="width n", description="units of each hidden layer")] = 128
    activation: Activation = "relu"
    cw: Annotated[
        float, Meta(gt=0, le=LARGEST, title="C_w", description="variance of weights times fan-in")
    ] = 1.0
    cb: Annotated[float, Meta(ge=0, le=LARGEST, title="C_b", description="variance of biases")] = 0.0

    def structure(self) -> ArchitectureStructure:
        layers = self.depth + 1
        declared = super().structure()
        return declared._replace(
            learner_kind="by-rule",
            by_inner_products=True,
            signals=Signals(
                self.activation,
                (self.width,) * self.depth,
                (self.cw,) * layers,
                (self.cb,) * layers,
                False,
            ),
            hidden_layers=HiddenLayers(self.activation, (self.cw,) * self.depth),
        )

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"g{number}" for number in range(1, self.depth + 2))

    def _units(self) -> list[int]:
        return [self.width] * self.depth + [1]

    def start(self, stream: Stream, d: int) -> Start:
        return {layer: stream.normal(n, 1) for layer, n in zip(self.layers, self._units(), strict=True)}

    def layout(self, d: int) -> Layout:
        shapes = {layer: (n, 1) for layer, n in zip(self.layers, self._units(), strict=True)}
        return Layout(shapes, units=self.depth * self.width)

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        for signal in self._signals(params, instances):
            last = signal
        return last.squeeze(1)

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return list(self._signals(params, instances))[:-1]

    def _signals(self, params: Params, instances: Instances) -> Iterator[torch.Tensor]:
        """Yield the signals before σ of every layer, [B, n_l, n], input first; the last are predictions."""
        rows = instances.rows
        mean = rows.square().mean(-1).repeat_interleave(len(params["g1"]) // len(rows), 0)  # [B, n]
        for layer in self.layers:
            least = torch.finfo(mean.dtype).tiny  # keeps √ away from 0, where it has no slope
            variance = (self.cb + self.cw * mean).clamp(min=least)
            signal = params[layer] * variance.sqrt()[:, None]
            yield signal
            mean = transfer(self.activation, signal).square().mean(1)

    def invariance(self, d: int) -> Verdict:
        return Verdict(True, "all that it sees of an instance is its length, which no rotation changes")
