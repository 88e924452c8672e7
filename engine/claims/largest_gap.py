"""Claim about the place of the largest gap between neighbouring values of a curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.claims import Claim, Floats, LeastShare, Outcome, Place, in_replicas, unfinished, where
from engine.pictures import wording
from engine.pictures.view import index_at

if TYPE_CHECKING:
    from engine.pictures.view import View


class LargestGap(Claim, frozen=True, kw_only=True, tag="largest-gap"):
    """The largest gap of a curve is between the x position `at` and the next one.

    A gap is the ratio of two neighbouring values, the larger to the smaller by absolute value. The claim must
    hold in at least a share of the replicas. In a spectrum whose small values are noise, `at` is the number
    of values that are not noise.
    """

    example: ClassVar[str] = '{kind = "largest-gap", curve = "net", at = "K^2*C", share = 1}'

    at: Place
    share: LeastShare = 1.0

    def finding(self, view: View, outcome: Outcome) -> str:
        curve = self.of(view)
        assert outcome.measured is not None, "a finding is of what was measured"
        replicas = f"in {round(outcome.measured * curve.replicas)} of {curve.replicas} replicas"
        return f"The largest gap of {wording.called(view, curve)} is after {where(view, self.at)} {replicas}"

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        place = index_at(curve, self.at)
        if place is None:
            return self.fails(f"nothing is recorded at {where(view, self.at)}")
        if why := unfinished(view, curve):
            return self.fails(why)
        gaps = [_index_of_largest_ratio(curve.over([replica])) for replica in range(curve.replicas)]
        gap_places = [curve.x[gap] for gap in gaps if gap is not None]
        if not gap_places:
            return self.fails("no two neighbouring values have a defined ratio")
        outcome = in_replicas(self, [gap == place for gap in gaps], self.share)
        usual = float(np.median(gap_places))
        return outcome._replace(
            detail=f"{outcome.detail}; in the median over replicas, the largest gap is after "
            f"{where(view, usual)}"
        )


def _index_of_largest_ratio(y: Floats) -> int | None:
    """Return the index i with the largest ratio of the values i and i + 1, or None if no ratio is defined.

    A ratio is that of the larger to the smaller absolute value.
    """
    first, second = np.abs(y[:-1]), np.abs(y[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.maximum(first, second) / np.minimum(first, second)
    is_defined = ~np.isnan(ratios)
    return int(np.argmax(np.where(is_defined, ratios, 0.0))) if is_defined.any() else None
