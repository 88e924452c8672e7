"""The fully connected network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.architectures import Architecture, Start
from engine.core.activations import KINKED, Activation, kinked, transfer
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import MOST_LAYERS, BadField, Count, Verdict
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Dense(Architecture, frozen=True, tag="dense"):
    """A fully connected net: ŷ = W_L σ(… σ(W_1 x)), no biases, any depth and width.

    Starts, with s = `scale`: `gaussian` draws every weight of layer l from N(0, s²/fan-in); `zero` does the
    same but starts the first layer at 0; `orthogonal` makes every layer a uniformly random semi-orthogonal
    matrix times s √(fan-out/fan-in), the start of `agd`; `identity` makes every hidden matrix s·I and every
    output weight s; `diagonal` makes every hidden matrix diagonal with N(0, s²) entries, with a Gaussian
    output. The last two are not rotation invariant, the others are, in law. Source: WKA21 Thm 2;
    Bernstein et al. 2023; theory.md §§3, 8, 9.
    """

    widths: Annotated[
        tuple[Count, ...],
        Meta(min_length=1, max_length=MOST_LAYERS, title="widths", description="hidden units of each layer"),
    ] = (128,)
    activation: Activation = "identity"
    init: Annotated[
        Literal["gaussian", "zero", "orthogonal", "identity", "diagonal"],
        Meta(title="start", description="how the weights start"),
    ] = "gaussian"
    scale: Annotated[float, Meta(gt=0, title="scale s", description="size of the start")] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init == "zero" and self.activation in KINKED:
            raise BadField("init", kinked(self.activation))

    def _fans(self, d: int) -> list[tuple[int, int]]:
        """(fan-out, fan-in) of every layer; the last has one output."""
        sizes = [d, *self.widths, 1]
        return list(zip(sizes[1:], sizes[:-1], strict=True))

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(f"W{number}" for number in range(1, len(self.widths) + 2))

    def start(self, stream: Stream, d: int) -> Start:
        layers: Start = {}
        for number, (fan_out, fan_in) in enumerate(self._fans(d), start=1):
            output = number == len(self.widths) + 1
            if self.init == "identity":
                one = np.ones((1, fan_in)) if output else np.eye(fan_out, fan_in)
                layer = np.tile(self.scale * one, (stream.replicas, 1, 1))
            elif self.init == "diagonal" and not output:
                layer = self.scale * stream.normal(fan_out, 1) * np.eye(fan_out, fan_in)
            elif self.init == "zero" and number == 1:
                layer = np.zeros((stream.replicas, fan_out, fan_in))
            elif self.init == "orthogonal":
                layer = self.scale * np.sqrt(fan_out / fan_in) * _semi_orthogonal(stream, fan_out, fan_in)
            else:
                layer = self.scale / np.sqrt(fan_in) * stream.normal(fan_out, fan_in)
            layers[f"W{number}"] = layer
        return layers

    def shapes(self, d: int) -> dict[str, tuple[int, ...]]:
        return dict(zip(self.layers, self._fans(d), strict=True))

    @property
    def units(self) -> int:
        return 0 if self.activation == "identity" else sum(self.widths)

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        if self.activation == "identity":
            return instances.inner(self._product(params))[:, 0]
        signal = instances.inner(params["W1"])  # [B, h, n]
        for name in self.layers[1:]:
            signal = params[name] @ transfer(self.activation, signal)
        return signal[:, 0]

    def weights(self, params: Params) -> torch.Tensor | None:
        return self._product(params)[:, 0] if self.activation == "identity" else None

    def _product(self, params: Params) -> torch.Tensor:
        """W_L … W_1 [B, 1, d], from the output down: every factor is one row."""
        *below, row = (params[name] for name in self.layers)
        for layer in reversed(below):
            row = row @ layer
        return row

    def rotated(self, params: Params, turn: Callable[[torch.Tensor], torch.Tensor]) -> Params:
        if self.init in ("identity", "diagonal"):
            return params
        return {**params, "W1": turn(params["W1"])}

    def invariance(self, d: int) -> Verdict:
        if self.init in ("identity", "diagonal"):
            return Verdict(False, f"the {self.init} start of the first layer singles out the coordinate axes")
        if self.init == "zero":
            return Verdict(True, "the input layer is fully connected and starts at 0")
        law = "Gaussian" if self.init == "gaussian" else "uniformly random semi-orthogonal"
        return Verdict(True, f"the input layer is fully connected and its {law} start favours no direction")


def _semi_orthogonal(stream: Stream, rows: int, columns: int) -> NDArray[np.float64]:
    """Matrices [R, rows, columns] with orthonormal rows, or columns if these are fewer.

    The Q of a Gaussian matrix G = QR with positive diagonal of R: its law does not change when G is rotated,
    so Q is uniform, and multiplying it from the right by any orthogonal matrix leaves its law as it is.
    Source: Mezzadri 2007.
    """
    tall, wide = max(rows, columns), min(rows, columns)
    q, r = np.linalg.qr(stream.normal(tall, wide))
    signed: NDArray[np.float64] = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None]
    return signed if rows == tall else signed.swapaxes(1, 2)
