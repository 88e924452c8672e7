"""The signals of an untrained fully connected net, drawn from their distribution layer by layer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, HiddenLayers, Layout, Signals, Start
from engine.core.activations import Activation, transfer
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LARGEST, MOST_LAYERS, SELDOM, Count, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances

MOST_INPUTS = 8
"""Largest number of inputs drawn jointly. The number is small, because √K takes one step for each input."""

DEPENDENT = 64
"""Residual variance up to which an input counts as linearly dependent on earlier inputs.

The unit is the variance of the input times the machine epsilon.
"""


class LayerByLayer(Architecture, frozen=True, tag="layer-by-layer"):
    """Signals of an untrained dense net: the signals of a unit on k instances are drawn from N(0, K).

    Let z_i be a unit's signal on instance x_i. The covariance K_ij is C_b plus C_w times the mean of
    σ(z_i)σ(z_j) over the units of the layer below. C_b and C_w are the fields `cb` and `cw`. In the first
    layer, x_iᵀx_j/d replaces the mean. The signals are √K g with g ~ N(0, I), and the tensor g_l holds all g
    of layer l. For k instances, this is exactly the distribution of the signals of a fully connected net with
    Gaussian weights. A layer of n units stores kn numbers, instead of n² weights. If there are more than k =
    `inputs` instances, successive instances form groups of k. The signals of each group have this
    distribution, but all groups share the g_l. Training changes the g_l, and thus differs from the training
    of a net's weights. Source: theory/wide-nets#conventions-of-the-lectures.
    """

    depth: Annotated[
        int, Meta(ge=1, le=MOST_LAYERS, title="depth L", description="number of hidden layers")
    ] = 3
    width: Annotated[Count, Meta(title="width n", description="units of each hidden layer")] = 128
    activation: Activation = "relu"
    cw: Annotated[
        float, Meta(gt=0, le=LARGEST, title="C_w", description="variance of weights times fan-in")
    ] = 1.0
    cb: Annotated[float, Meta(ge=0, le=LARGEST, title="C_b", description="variance of biases")] = 0.0
    inputs: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_INPUTS,
            title="inputs k",
            description="number of successive instances whose signals are drawn jointly",
            extra=SELDOM,
        ),
    ] = 1

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
                self.inputs,
            ),
            hidden_layers=HiddenLayers(self.activation, (self.cw,) * self.depth),
        )

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"g{number}" for number in range(1, self.depth + 2))

    def _units_by_layer(self) -> list[int]:
        return [self.width] * self.depth + [1]

    def start(self, stream: Stream, d: int) -> Start:
        # One call for all layers, because a call for each takes longer than its few numbers.
        shapes = self.layout(d).shapes
        ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
        by_layer = np.split(stream.normal(int(ends[-1])), ends[:-1], 1)
        return {
            layer: numbers.reshape(-1, *shape)
            for (layer, shape), numbers in zip(shapes.items(), by_layer, strict=True)
        }

    def layout(self, d: int) -> Layout:
        shapes = {
            layer: (n, self.inputs) for layer, n in zip(self.layers, self._units_by_layer(), strict=True)
        }
        return Layout(shapes, units=self.depth * self.width)

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        for signal in self._signals_before_activation(params, instances):
            last = signal
        return last.squeeze(1)

    def preactivations(self, params: Params, instances: Instances) -> list[torch.Tensor]:
        return list(self._signals_before_activation(params, instances))[:-1]

    def _signals_before_activation(self, params: Params, instances: Instances) -> Iterator[torch.Tensor]:
        """Yield the signals [B, n_l, n] of every layer before σ. The last ones are the predictions."""
        rows = instances.rows
        n = rows.shape[1]
        rows = rows.repeat_interleave(len(params["g1"]) // len(rows), 0)
        products = self._inner_products(rows.mT) / rows.shape[2]
        for layer in self.layers:
            root = _cholesky_factor(self.cb + self.cw * products)
            signals = torch.einsum("buj,bgij->bugi", params[layer], root).flatten(2)[..., :n]
            yield signals
            products = self._inner_products(transfer(self.activation, signals)) / signals.shape[1]

    def _inner_products(self, sent: torch.Tensor) -> torch.Tensor:
        """Return Σ s_i s_j over units, [B, ⌈n/k⌉, k, k], for all instances i and j of the same group.

        `sent` contains the values s [B, units, n]. A group consists of k successive instances.
        """
        missing = -sent.shape[2] % self.inputs
        padded = torch.nn.functional.pad(sent, (0, missing))
        groups = padded.view(*sent.shape[:2], -1, self.inputs)
        return torch.einsum("bugi,bugj->bgij", groups, groups)

    def invariance(self, d: int) -> Verdict:
        if self.inputs == 1:
            return Verdict(True, "the net sees only the length of an instance, which no rotation changes")
        seen = "the net sees only lengths and angles of instances"
        return Verdict(True, f"{seen}, which no rotation changes")


def _cholesky_factor(kernel: torch.Tensor) -> torch.Tensor:
    """Return a lower triangular matrix L with L Lᵀ = K, for covariances K [..., k, k] that may be singular.

    K is singular if, for example, different inputs have equal signals.
    """
    least = torch.finfo(kernel.dtype).tiny  # keeps the argument of √ above 0, where its slope is infinite
    rest, columns = kernel, []
    for number in range(kernel.shape[-1]):
        pivot = rest[..., number, number]
        scale = pivot.clamp(min=least).sqrt()
        smallest = DEPENDENT * torch.finfo(kernel.dtype).eps * kernel[..., number, number]
        below = torch.where((pivot > smallest)[..., None], rest[..., number + 1 :, number], 0)
        before = below.new_zeros((*below.shape[:-1], number))
        column = torch.cat((before, scale[..., None], below / scale[..., None]), -1)
        rest = rest - column[..., :, None] * column[..., None, :]
        columns.append(column)
    return torch.stack(columns, -1)
