"""Gaussian noise on every step."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LARGEST
from engine.core.sizes import DERIVED, Sizes
from engine.core.streams import Stream


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Independent N(0, σ²) noise at every step: on the entries of the gradient, or on the weights after it.

    On the weights it is not multiplied by the rate. Replicas draw their own; rates and targets share it.
    Source: Abbe, Sandon 2020; theory-bias.md §41.
    """

    sigma: Annotated[float, Meta(ge=0, le=LARGEST, title="σ", description="standard deviation")]
    on: Annotated[
        Literal["gradient", "weights"], Meta(title="on", description="gradients, or weights after steps")
    ] = "gradient"

    def bytes_held(self, sizes: Sizes) -> int:
        """Bytes of the noise of a step while it is drawn, in float64."""
        return DERIVED * sizes.replicas * sizes.parameters


def drawn(stream: Stream, like: Params) -> Params:
    """N(0, 1) noise shaped like parameters [B, …], the same for all of the batch that belong to a replica."""
    found = {}
    for name, w in like.items():
        noise = torch.from_numpy(stream.normal(*w.shape[1:])).to(w)
        found[name] = noise.repeat_interleave(len(w) // stream.replicas, 0)
    return found
