"""The spindly network on a frozen identity."""

from __future__ import annotations

from engine.architectures.spindly import Spindly
from engine.core.groups import PERMUTATIONS
from engine.core.parts import Verdict


class IdentitySpindly(Spindly, frozen=True, tag="identity-spindly"):
    """A fully connected input layer frozen at W₁ = I, and a spindly net on top: ŷ = Σ_j u_j^L (W₁x)_j.

    Although the net is fully connected, it learns the Hadamard problem from few examples. The reason is that
    the start of its first layer is not rotation invariant. The frozen identity does not change predictions.
    So the program computes this net as the net `spindly` with the same fields. `dense-spindly` with init =
    "identity" has the same start, but trains W₁. With layer_rates = {W1 = 0}, `dense-spindly` equals this
    net. Source: the talk on WKA21; theory/conventions#architectures.
    """

    def invariance(self, d: int) -> Verdict:
        return Verdict(False, "the identity in the first layer singles out the coordinate axes", PERMUTATIONS)
