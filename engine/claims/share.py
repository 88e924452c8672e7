"""Claim about the share of replicas that satisfy a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.claims import Comparing, LeastShare, Outcome, Place, in_replicas, name_of, where
from engine.core.parts import BadField
from engine.pictures import wording
from engine.pictures.view import index_at

if TYPE_CHECKING:
    from engine.pictures.view import View


class Share(Comparing, frozen=True, kw_only=True, tag="share"):
    """At one x position, at least a share of the replicas is below or above a number, or between two.

    Diverged replicas do not satisfy the condition. The share must be positive, because every claim would hold
    for a share of 0. To claim that no replica satisfies the condition, claim the opposite with share 1.
    """

    example: ClassVar[str] = '{kind = "share", curve = "GD", at = "n", below = 0.1, share = 0.9}'

    at: Place
    share: LeastShare = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.standard_errors is not None:
            raise BadField(
                "standard_errors", "a single replica has no standard error; leave `standard_errors` out"
            )

    def finding(self, view: View, outcome: Outcome) -> str:
        curve = self.of(view)
        assert outcome.measured is not None, "a finding is of what was measured"
        replicas = f"In {round(outcome.measured * curve.replicas)} of {curve.replicas} replicas"
        subject = f"{wording.quantity(view)} of {wording.called(view, curve)} {wording.verb(view)}"
        return f"{replicas}, {subject} {self.expected} {wording.place(view, self.at)}"

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        place = index_at(curve, self.at)
        if place is None:
            return self.fails(f"there is no {name_of(view)} recorded at {where(view, self.at)}")
        values = [float(curve.over([replica])[place]) for replica in range(curve.replicas)]
        holding = [self.compared(value).holds is True for value in values]
        return in_replicas(self, holding, self.share)
