"""The change of a learner's predictions if the instances are transformed, for example rotated."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.groups import PERMUTATIONS, ROTATIONS, SIGN_FLIPS, UNCHANGED, Group
from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, MeasureStructure, Probe

GROUPS: dict[str, Group] = {
    "rotations": ROTATIONS,
    "permutations": PERMUTATIONS,
    "sign-flips": SIGN_FLIPS,
}


class Change(Measure, frozen=True, tag="change"):
    """max |Δŷ| / max |ŷ| over all rows: change of the predictions ŷ if all instances x become g x.

    The learner is trained a second time, with g x in place of every instance x, and from the corresponding
    start. Δŷ are the differences between the predictions of the two training runs. If the learner is
    invariant under g, Δŷ = 0. If the first layer starts at a random W₁ without a preferred direction, the
    corresponding start is W₁gᵀ. Otherwise, both training runs have the same start. All replicas share one g:
    a rotation of determinant −1, a permutation that moves every feature, or a flip of the signs of half of
    the features. If the learner is invariant, the change in float64 is only rounding. Update rules that
    divide by small numbers amplify rounding, so a change below 10⁻⁶ counts as 0. Source:
    theory/symmetry#rotation-invariance; theory/symmetry#habits.
    """

    label: ClassVar[str] = "change of predictions"

    group: Annotated[
        Literal["rotations", "permutations", "sign-flips"],
        Meta(title="group", description="group of transformations of the instances"),
    ] = "rotations"

    def structure(self) -> MeasureStructure:
        return MeasureStructure(negligible=UNCHANGED)

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(under=GROUPS[self.group])

    def value(self, probe: Probe) -> torch.Tensor:
        raise AssertionError("two training runs are compared by who runs them both")
