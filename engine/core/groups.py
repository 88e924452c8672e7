"""Groups of transformations of the instances, and comparisons between groups."""

from __future__ import annotations

from itertools import accumulate
from operator import mul

import msgspec

UNCHANGED = 1e-6
"""Predictions count as unchanged by a transformation if their relative change is below this number."""


class Group(msgspec.Struct, frozen=True):
    """Group of orthogonal transformations x → g x of instances x ∈ ℝ^d, with the same g for all instances.

    A group consists either of rotations or of permutations and sign flips of the coordinates. The rotations
    are all of O(d), or they rotate each factor of x = x₁ ⊗ x₂ ⊗ … separately. The operator ≤ tests inclusion.
    The operator & returns the largest `Group` that is known to be contained in both groups.
    """

    factors: tuple[int, ...] | None = None
    """Sizes d₁, d₂, … of the rotated factors; () for all of O(d), None for no rotations."""

    permutations: bool = False
    signs: bool = False

    def __post_init__(self) -> None:
        if self.factors is not None and (self.permutations or self.signs):
            raise ValueError("a group is one of rotations or one of coordinates")

    def __le__(self, other: Group) -> bool:
        if other.factors == () or self == TRIVIAL:
            return True
        if self.factors is None and other.factors is None:
            return self.permutations <= other.permutations and self.signs <= other.signs
        if self.factors is None or other.factors is None:
            return False
        # If each coarse factor joins adjacent fine factors, rotations of the fine factors also rotate the
        # coarse factors.
        return self.factors != () and _partial_products(other.factors) <= _partial_products(self.factors)

    def __and__(self, other: Group) -> Group:
        if self <= other or other <= self:
            return self if self <= other else other
        if self.factors is None and other.factors is None:
            return Group(
                permutations=self.permutations and other.permutations, signs=self.signs and other.signs
            )
        return TRIVIAL

    @property
    def words(self) -> str:
        if self.factors is not None:
            return " × ".join(f"O({size})" for size in self.factors) or "all rotations, O(d)"
        kinds = (self.permutations and "permutations", self.signs and "sign flips")
        names = " and ".join(kind for kind in kinds if kind)
        return f"{names} of the coordinates" if names else "nothing"


def rotations(*factors: int) -> Group:
    """Return the group that rotates each factor of x = x₁ ⊗ x₂ ⊗ …, given the factors' sizes.

    A single factor means all of O(d).
    """
    return Group(factors if len(factors) > 1 else ())


def _partial_products(factors: tuple[int, ...]) -> set[int]:
    """Return the products d₁, d₁d₂, d₁d₂d₃, … of the factors' sizes.

    The products of a coarser factorisation are a subset: (2, 3, 4) gives {2, 6, 24}, and (6, 4) gives {6,
    24}.
    """
    return set(accumulate(factors, mul))


TRIVIAL = Group()
ROTATIONS = rotations()
PERMUTATIONS = Group(permutations=True)
SIGN_FLIPS = Group(signs=True)
SIGNED_PERMUTATIONS = Group(permutations=True, signs=True)
"""Hyperoctahedral group: all permutations of the coordinates, combined with sign flips."""
