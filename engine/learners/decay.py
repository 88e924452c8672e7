"""Weight decay."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.core.params import Params
from engine.core.parts import LARGEST


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
