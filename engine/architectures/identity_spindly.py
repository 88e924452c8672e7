"""The spindly network on a frozen identity."""

from __future__ import annotations

from engine.architectures.spindly import Spindly
from engine.core.groups import PERMUTATIONS
from engine.core.parts import Verdict


class IdentitySpindly(Spindly, frozen=True, tag="identity-spindly"):
    """A fully connected input layer frozen at W₁ = I, and a spindly net on top: ŷ = Σ_j u_j^L (W₁x)_j.

    The net is fully connected, but still learns the Hadamard problem from few examples, because the start of
    its first layer is not rotation invariant. A frozen identity has no effect. So the code is that of the
    spindly net with the same defaults, and does not compute the product I x. `dense-spindly` with
    init = "identity" trains W₁ from this start. With layer_rates = {W1 = 0}, it equals this net. Source: the
    talk; theory/conventions#architectures.
    """

    def invariance(self, d: int) -> Verdict:
        return Verdict(False, "the identity in the first layer singles out the coordinate axes", PERMUTATIONS)
