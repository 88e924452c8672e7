"""What learners add to the steps of their rule: clipping, decay and noise."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.memory import DERIVED, Sizes
from engine.core.params import Params, flat, per_member
from engine.core.parts import LARGEST, BadField
from engine.core.streams import Stream

Most = Annotated[float, Meta(gt=0, le=LARGEST)]


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
    noise_by_name = {}
    for name, w in like.items():
        noise = torch.from_numpy(stream.normal(*w.shape[1:])).to(w)
        noise_by_name[name] = noise.repeat_interleave(len(w) // stream.replicas, 0)
    return noise_by_name


class Clip(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Gradients cut by the Euclidean norm of all their entries together, or entry by entry.

    The norm does not change when instances are rotated, single entries do. Source: theory-symmetry.md §21.
    """

    norm: Annotated[Most | None, Meta(title="norm", description="longer gradients are shortened to it")] = (
        None
    )
    value: Annotated[Most | None, Meta(title="value", description="entries are cut to ± it")] = None

    def __post_init__(self) -> None:
        if (self.norm is None) == (self.value is None):
            raise BadField("norm", "it needs one of norm and value")

    def clipped(self, gradients: Params) -> Params:
        """The gradients of every member of the batch, cut."""
        if self.value is not None:
            return {name: g.clamp(-self.value, self.value) for name, g in gradients.items()}
        assert self.norm is not None, "__post_init__ sees to it"
        gradient = flat(gradients.values())
        lengths = torch.linalg.vector_norm(gradient, dim=1)
        factors = torch.where(lengths > self.norm, self.norm / lengths, 1.0)
        return {name: g * per_member(factors, g) for name, g in gradients.items()}


class Decay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Before a step with rate η weights shrink by η λ w, or with p = "1" by η λ sign(w).

    It is decoupled: no gradient has it, so rules that divide by sizes of gradients do not see it.
    Source: Loshchilov, Hutter 2019; theory-symmetry.md §21.
    """

    rate: Annotated[float, Meta(ge=0, le=LARGEST, title="λ", description="of the weights, times the rate")]
    p: Annotated[
        Literal["1", "2"], Meta(title="p", description="2: in proportion to weights; 1: to their signs")
    ] = "2"

    def direction(self, params: Params) -> Params:
        """What rates multiply: λ w, or λ sign(w)."""
        return {name: self.rate * (w if self.p == "2" else w.sign()) for name, w in params.items()}
