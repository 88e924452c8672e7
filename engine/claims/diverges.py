"""Claim that a learner diverges."""

from __future__ import annotations

from typing import ClassVar

from engine.claims import Claim, MaybePlace, Outcome, divergence, where
from engine.pictures import wording
from engine.pictures.view import DIVERGED, View, index_at


class Diverges(Claim, frozen=True, kw_only=True, tag="diverges"):
    """Claim that a learner diverges in every replica, by the end of the run or by one x position."""

    example: ClassVar[str] = '{kind = "diverges", curve = "GD"}'

    at: MaybePlace = None

    def finding(self, view: View, outcome: Outcome) -> str:
        curve = self.of(view)
        replicas = f" in {curve.ends.diverged} of {curve.replicas} replicas" if curve.replicas > 1 else ""
        first = curve.ends.diverged_at
        at = "" if first is None else f"{',' if replicas else ''} {'first ' if replicas else ''}"
        at += "" if first is None else wording.place(view, first)
        return f"{wording.called(view, curve)} {curve.ends.fate}{replicas}{at}"

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        detail = divergence(view, curve) or "it did not"
        if curve.ends.fate != DIVERGED:
            return self.fails(detail)
        if self.at is None:
            return Outcome(self, curve.ends.diverged == curve.replicas, curve.ends.diverged_at, detail)
        place = index_at(curve, self.at)
        if place is None and curve.ends.diverged == curve.replicas:
            return Outcome(self, (curve.ends.diverged_at or 0.0) <= self.at, curve.ends.diverged_at, detail)
        if place is None:
            return self.fails(f"nothing is recorded at {where(view, self.at)}")
        lost = int(curve.ends.lost[place])
        summary = f"{lost} of {curve.replicas} replicas have diverged at {where(view, self.at)}"
        return Outcome(self, lost == curve.replicas, float(lost), summary)
