"""The spindly network on a frozen identity."""

from __future__ import annotations

from engine.architectures.spindly import Spindly
from engine.core.groups import PERMUTATIONS
from engine.core.parts import Verdict


class IdentitySpindly(Spindly, frozen=True, tag="identity-spindly"):
    """A fully connected input layer frozen at W₁ = I, and a spindly net on top: ŷ = Σ_j u_j^L (W₁x)_j.

    It is fully connected and yet learns the Hadamard problem from few examples: the start of its first layer
    is not rotation invariant. A frozen identity does nothing, so this is the spindly net, with the same
    defaults, and the product I x is left out. `dense-spindly` with init = "identity" trains W₁ from there;
    with layer_rates = {W1 = 0} it is the same as this. Source: the talk; theory.md §3.
    """

    def invariance(self, d: int) -> Verdict:
        return Verdict(False, "the identity in the first layer singles out the coordinate axes", PERMUTATIONS)
