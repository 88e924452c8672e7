"""Gradients cut to a size."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params, flat, per_member
from engine.core.parts import LARGEST, BadField

Most = Annotated[float, Meta(gt=0, le=LARGEST)]


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
        whole = flat(gradients.values())
        lengths = torch.linalg.vector_norm(whole, dim=1)
        factors = torch.where(lengths > self.norm, self.norm / lengths, 1.0)
        return {name: g * per_member(factors, g) for name, g in gradients.items()}
